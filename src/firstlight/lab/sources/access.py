"""Who may read and who may write: credentials as they are declared, as they are kept, and as they are offered.

Whoever is known to a server at all is known to it everywhere; what he may do is said for each repository. So wrong
credentials are an error even where none are needed, and those of another repository are not.
"""

import base64
import binascii
import dataclasses
import hashlib
import hmac
import secrets
from collections.abc import Iterable
from typing import Literal

import msgspec

from firstlight import errors
from firstlight.model.secret import MASK

Level = Literal["none", "read", "write"]
_ORDER: dict[Level, int] = {"none": 0, "read": 1, "write": 2}


class Credential(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A user with a token; no user means that any will do, as with tokens of the large hosts."""

    user: str
    token: str
    level: Literal["read", "write"] = "read"

    def __repr__(self) -> str:
        return f"Credential(user={self.user!r}, token={MASK}, level={self.level!r})"


class Access(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may do what with a repository."""

    credentials: tuple[Credential, ...] = ()
    anonymous: Level | None = None
    """What everybody may do: read, unless credentials are declared; then nothing, unless it is said here."""


class Seal(msgspec.Struct, frozen=True):
    """A credential as it is kept: enough to recognise the token, not to know it."""

    user: str
    level: Literal["read", "write"]
    salt: str
    digest: str


class Sealed(msgspec.Struct, frozen=True):
    """Who may do what, as it is kept."""

    seals: tuple[Seal, ...] = ()
    anonymous: Level = "read"


@dataclasses.dataclass(frozen=True)
class Verdict:
    """Whether a request may go on, and who makes it."""

    status: Literal[200, 401, 403]
    user: str = ""


def seal(access: Access) -> Sealed:
    """What is kept of a declaration.

    Raises:
        errors.UsageError: A credential cannot be offered over HTTP.
    """
    for each in access.credentials:
        if not each.token or ":" in each.user or not (each.user + each.token).isprintable():
            raise errors.UsageError(f"the credential of user {each.user!r} needs a token, and a user without ':'")
    anonymous = access.anonymous or ("none" if access.credentials else "read")
    return Sealed(tuple(_seal(each) for each in access.credentials), anonymous)


def judge(header: str, wanted: Level, here: Sealed, everywhere: Iterable[Sealed]) -> Verdict:
    """Decide about a request.

    Args:
        header: Its Authorization header; empty if it has none.
        wanted: What it does.
        here: The repository that it is about.
        everywhere: All repositories of the server.
    """
    if not header:
        return Verdict(200) if _allows(here.anonymous, wanted) else Verdict(401)
    user, token = _offered(header)
    found = [each for each in here.seals if _matches(each, user, token)]
    if not found and not any(_matches(each, user, token) for sealed in everywhere for each in sealed.seals):
        return Verdict(401)
    name = user or next((each.user for each in found), "")
    allowed = any(_allows(each.level, wanted) for each in found) or _allows(here.anonymous, wanted)
    return Verdict(200 if allowed else 403, name)


def _allows(level: Level, wanted: Level) -> bool:
    return _ORDER[level] >= _ORDER[wanted]


def _seal(credential: Credential) -> Seal:
    salt = secrets.token_hex(16)
    return Seal(credential.user, credential.level, salt, _digest(salt, credential.token))


def _digest(salt: str, token: str) -> str:
    # Every request is checked, so it is a fast hash: tokens of a lab are random, or worth nothing.
    return hashlib.sha256(f"{salt}:{token}".encode()).hexdigest()


def _matches(each: Seal, user: str, token: str) -> bool:
    same = hmac.compare_digest(_digest(each.salt, token), each.digest)
    return same and each.user in ("", user or each.user)


def _offered(header: str) -> tuple[str, str]:
    """User and token of a header; a bearer token has no user. What cannot be read is a token that nobody has."""
    scheme, _, value = header.partition(" ")
    if scheme.lower() == "bearer":
        return "", value.strip()
    if scheme.lower() != "basic":
        return "", ""
    try:
        user, _, token = base64.b64decode(value.strip(), validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return user, token
