import base64

import msgspec
import pytest

from firstlight import errors
from firstlight.lab.sources import declarations
from firstlight.lab.sources.declarations import Access, Credential, Level, SealedAccess

HERE = declarations.seal(Access((Credential("reader", "r"), Credential("writer", "w", "write"), Credential("", "any"))))
ELSEWHERE = declarations.seal(Access((Credential("third", "t", "write"),)))
PUBLIC = declarations.seal(Access())
GUARDED = declarations.seal(Access((Credential("writer", "w", "write"),), anonymous="read"))


def basic(user: str, token: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{token}".encode()).decode()


@pytest.mark.parametrize(
    ("here", "header", "read", "write"),
    [
        (HERE, "", 401, 401),
        (HERE, basic("reader", "r"), 200, 403),
        (HERE, basic("writer", "w"), 200, 200),
        (HERE, basic("reader", "w"), 401, 401),
        (HERE, basic("reader", ""), 401, 401),
        (HERE, basic("whoever", "any"), 200, 403),
        (HERE, "bearer w", 200, 200),
        (HERE, "Bearer", 401, 401),
        (HERE, "Basic %%%", 401, 401),
        (HERE, "Basic " + base64.b64encode(b"\xff:\xff").decode(), 401, 401),
        (HERE, "Digest username=writer", 401, 401),
        (HERE, basic("third", "t"), 403, 403),
        (PUBLIC, "", 200, 401),
        (PUBLIC, basic("third", "t"), 200, 403),
        (PUBLIC, basic("third", "x"), 401, 401),
        (GUARDED, "", 200, 401),
        (GUARDED, basic("writer", "w"), 200, 200),
        (declarations.seal(Access(anonymous="write")), "", 200, 200),
        (declarations.seal(Access(anonymous="none")), "", 401, 401),
    ],
)
def test_verdicts(here: SealedAccess, header: str, read: int, write: int) -> None:
    wanted: tuple[Level, ...] = ("read", "write")
    assert tuple(declarations.judge(header, each, here, [HERE, ELSEWHERE]).status for each in wanted) == (read, write)


def test_the_verdict_knows_who_asks() -> None:
    assert declarations.judge(basic("writer", "w"), "read", HERE, [HERE]).user == "writer"
    assert declarations.judge("Bearer w", "read", HERE, [HERE]).user == "writer"


def test_a_token_is_neither_kept_nor_shown() -> None:
    credential = Credential("me", "very-secret")
    kept = msgspec.json.encode(declarations.seal(Access((credential,))))

    assert b"very-secret" not in kept
    assert "very-secret" not in repr(credential) + repr(Access((credential,)))
    same = [declarations.seal(Access((credential,))).seals[0].digest for _ in range(2)]
    assert same[0] != same[1], "every seal has a salt of its own"


@pytest.mark.parametrize("credential", [Credential("a", ""), Credential("a:b", "t"), Credential("a", "t\n")])
def test_what_cannot_be_offered_is_refused(credential: Credential) -> None:
    with pytest.raises(errors.UsageError):
        declarations.seal(Access((credential,)))
