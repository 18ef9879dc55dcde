"""How op is called, and what its sentences mean."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients import secret_errors
from firstlight.clients.onepassword import AT_ONCE, OnePasswordCli
from firstlight.model.secret import Secret
from firstlight.model.secret_reference import OnePasswordReference
from tests.unit.clients.recorder import Recorder

CANARY = "s3cr3t-canary"
REFERENCE = OnePasswordReference("home", "my item", "token")
ENVIRON = {
    "HOME": "/home/ada", "PATH": "/bin", "OP_SERVICE_ACCOUNT_TOKEN": CANARY, "OP_SESSION_abc": "s", "OP_FORMAT": "json",
    "OP_DEBUG": "true", "OP_CONNECT_TOKEN": "c", "OTHER": "x",
}  # fmt: skip


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    return Recorder(tmp_path / "program", "op")


async def test_a_value_is_read_as_it_is(program: Recorder) -> None:
    program.says("line\n\n")

    value = await OnePasswordCli(program.path, environ=ENVIRON).read(REFERENCE)

    assert value == Secret("line\n\n")
    assert program.argv == ["read", "--no-newline", "op://home/my item/token"]
    assert program.env == {
        "HOME": "HOME", "PATH": "/bin", "OP_SERVICE_ACCOUNT_TOKEN": CANARY, "OP_SESSION_abc": "s", "LC_ALL": "C",
    }  # fmt: skip
    assert CANARY not in program.calls[-1]["proc"][0]


async def test_who_is_signed_in(program: Recorder) -> None:
    client = OnePasswordCli(program.path, environ=ENVIRON)
    program.says('{"email": "me@example.org", "user_type": "HUMAN"}')
    person = await client.whoami()
    program.says('{"user_type": "SERVICE_ACCOUNT"}')
    account = await client.whoami()
    program.says(CANARY)
    with pytest.raises(secret_errors.SecretUnreadable) as caught:
        await client.whoami()

    assert (person, account) == ("me@example.org", "SERVICE_ACCOUNT")
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize(
    ("said", "kind", "what"),
    [
        (
            "error initializing client: You are not currently signed in.",
            secret_errors.SecretStoreNotSignedIn,
            "signed in",
        ),
        ("No accounts configured for use with 1Password CLI.", secret_errors.SecretStoreNotSignedIn, "signed in"),
        (
            "failed to DecodeSACredentials",
            secret_errors.SecretStoreNotSignedIn,
            "OP_SERVICE_ACCOUNT_TOKEN is not valid",
        ),
        (
            "Signin credentials are not compatible with",
            secret_errors.SecretStoreNotSignedIn,
            "OP_SERVICE_ACCOUNT_TOKEN",
        ),
        ('could not get item: "home" isn\'t a vault in this account.', secret_errors.SecretNotFound, "vault"),
        ('"my item" isn\'t an item in the "home" vault.', secret_errors.SecretNotFound, "no such item"),
        ("item 'home/my item' does not have a field 'token'", secret_errors.SecretNotFound, "no such field"),
        ('More than one item matches "my item".', secret_errors.SecretNotUnique, "more than one"),
        ("403 Forbidden: you don't have access", secret_errors.SecretForbidden, "refused"),
        ("Too many requests", secret_errors.SecretStoreUnreachable, "too often"),
        ("dial tcp: lookup my.1password.com: no such host", secret_errors.SecretStoreUnreachable, "cannot be reached"),
        ("something new", secret_errors.SecretUnreadable, "exited with 1"),
    ],
)
async def test_failures_have_a_meaning_a_hint_and_no_value(
    program: Recorder, said: str, kind: type[secret_errors.SecretError], what: str
) -> None:
    program.says(CANARY, f"[ERROR] 2026/01/01 00:00:00 {said} {CANARY}", code=1)
    environ = {name: value for name, value in ENVIRON.items() if "TOKEN" not in name}

    with pytest.raises(kind) as caught:
        await OnePasswordCli(program.path, environ=environ).read(REFERENCE)

    assert what in caught.value.message
    assert caught.value.hint
    assert CANARY not in f"{caught.value!r}{caught.value.hint}{caught.value.__cause__!r}"


class Slow(OnePasswordCli):
    """One whose questions are under way until they are let go."""

    def __init__(self) -> None:
        super().__init__(Path("op"), environ={})
        self.under_way: list[asyncio.Event] = []

    async def _run(self, arguments: Sequence[str], about: str) -> bytes:
        self.under_way.append(answer := asyncio.Event())
        await answer.wait()
        return b"x"


async def test_only_the_first_question_is_asked_alone() -> None:
    """An app on the desktop asks its user at the first one; ten at once would make ten windows."""
    client = Slow()
    asked = [asyncio.create_task(client.read(REFERENCE)) for _ in range(10)]

    async def settled() -> int:
        for _ in range(20):
            await asyncio.sleep(0)
        return len(client.under_way)

    assert await settled() == 1
    client.under_way[0].set()
    assert await settled() == 1 + AT_ONCE
    for _ in asked:
        await settled()
        for each in client.under_way:
            each.set()
    assert await asyncio.gather(*asked) == [Secret("x")] * 10


async def test_a_missing_program_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(errors.ToolError) as caught:
        await OnePasswordCli(tmp_path / "none").read(REFERENCE)

    assert "OP_CONNECT_HOST" in caught.value.hint
