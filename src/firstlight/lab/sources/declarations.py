"""What was declared: which repositories there are, who may use them, and whom to tell about pushes.

Kept in one file that is written whole. A directory without a declaration is not served: a crash in the middle of a
deletion cannot make a private repository public.
"""

import base64
import binascii
import dataclasses
import fcntl
import hashlib
import hmac
import os
import secrets
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from firstlight import errors
from firstlight.lab import lab_directory
from firstlight.model.secret import MASK

# Who may read and who may write: credentials as they are declared, as they are kept, and as they are offered.
#
# Whoever is known to a server at all is known to it everywhere; what he may do is said for each repository. So wrong
# credentials are an error even where none are needed, and those of another repository are not.


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


class SealedCredential(msgspec.Struct, frozen=True):
    """A credential as it is kept: enough to recognise the token, not to know it."""

    user: str
    level: Literal["read", "write"]
    salt: str
    digest: str


class SealedAccess(msgspec.Struct, frozen=True):
    """Who may do what, as it is kept."""

    seals: tuple[SealedCredential, ...] = ()
    anonymous: Level = "read"


@dataclasses.dataclass(frozen=True)
class AccessVerdict:
    """Whether a request may go on, and who makes it."""

    status: Literal[200, 401, 403]
    user: str = ""


def seal(access: Access) -> SealedAccess:
    """What is kept of a declaration.

    Raises:
        errors.UsageError: A credential cannot be offered over HTTP.
    """
    for each in access.credentials:
        if not each.token or ":" in each.user or not (each.user + each.token).isprintable():
            raise errors.UsageError(f"the credential of user {each.user!r} needs a token, and a user without ':'")
    anonymous = access.anonymous or ("none" if access.credentials else "read")
    return SealedAccess(tuple(_seal(each) for each in access.credentials), anonymous)


def judge(header: str, wanted: Level, here: SealedAccess, everywhere: Iterable[SealedAccess]) -> AccessVerdict:
    """Decide about a request.

    Args:
        header: Its Authorization header; empty if it has none.
        wanted: What it does.
        here: The repository that it is about.
        everywhere: All repositories of the server.
    """
    if not header:
        return AccessVerdict(200) if _allows(here.anonymous, wanted) else AccessVerdict(401)
    user, token = _offered(header)
    found = [each for each in here.seals if _matches(each, user, token)]
    if not found and not any(_matches(each, user, token) for sealed in everywhere for each in sealed.seals):
        return AccessVerdict(401)
    name = user or next((each.user for each in found), "")
    allowed = any(_allows(each.level, wanted) for each in found) or _allows(here.anonymous, wanted)
    return AccessVerdict(200 if allowed else 403, name)


def _allows(level: Level, wanted: Level) -> bool:
    return _ORDER[level] >= _ORDER[wanted]


def _seal(credential: Credential) -> SealedCredential:
    salt = secrets.token_hex(16)
    return SealedCredential(credential.user, credential.level, salt, _digest(salt, credential.token))


def _digest(salt: str, token: str) -> str:
    # Every request is checked, so it is a fast hash: tokens of a lab are random, or worth nothing.
    return hashlib.sha256(f"{salt}:{token}".encode()).hexdigest()


def _matches(each: SealedCredential, user: str, token: str) -> bool:
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


# The one directory of the sources: everything they keep.


@dataclasses.dataclass(frozen=True)
class SourcesHome:
    """Its paths."""

    path: Path

    @property
    def git(self) -> Path:
        """Bare repositories, as ``<owner>/<repository>.git``."""
        return self.path / "git"

    @property
    def hooks(self) -> Path:
        """What git executes in every repository: never what a repository has itself."""
        return self.path / "hooks"

    @property
    def registry(self) -> Path:
        """Blobs by digest, and the repositories that refer to them."""
        return self.path / "registry"

    @property
    def charts(self) -> Path:
        """A folder of archives for each Helm repository."""
        return self.path / "charts"

    @property
    def declared(self) -> Path:
        """Which repositories there are, and who may do what with them."""
        return self.path / "declared.json"

    @property
    def scratch(self) -> Path:
        """What is not whole yet; emptied at every start. On the same filesystem, so that a rename completes it."""
        return self.path / "scratch"

    def make(self) -> None:
        """Create what is missing, for its owner alone, and throw away what an earlier process left unfinished."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)
        for path in (self.git, self.hooks, self.registry, self.charts, self.scratch):
            path.mkdir(mode=0o700, exist_ok=True)

    def hold(self) -> int:
        """Take the directory for this process; the handle must stay open.

        Raises:
            errors.LabError: Another process serves it.
        """
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise errors.LabError(f"{self.path} is served by another process") from error
        return handle


class DeclaredWebhook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An address that is told about every push."""

    url: str
    secret: str = ""
    """What deliveries are signed with; not signed without one. Kept as it is, since a signature needs it."""
    shape: Literal["github", "generic"] = "github"

    def __repr__(self) -> str:
        return f"Webhook(url={self.url!r}, secret={MASK if self.secret else ''!r}, shape={self.shape!r})"


class DeclaredGitRepository(msgspec.Struct, frozen=True):
    """A Git repository."""

    access: SealedAccess = SealedAccess()
    branch: str = "main"
    webhooks: tuple[DeclaredWebhook, ...] = ()


class SourceDeclarations(msgspec.Struct):
    """All declarations."""

    git: dict[str, DeclaredGitRepository] = {}
    registry: dict[str, SealedAccess] = {}
    """By the beginning of the repositories' names; the empty one is all of them."""
    charts: dict[str, SealedAccess] = {}


class DeclaredSources:
    """The file."""

    def __init__(self, home: SourcesHome) -> None:
        self._path = home.declared
        self._content = SourceDeclarations()
        if self._path.exists():
            try:
                self._content = msgspec.json.decode(self._path.read_bytes(), type=SourceDeclarations)
            except msgspec.MsgspecError as error:
                raise errors.LabError(f"{self._path} cannot be read: {error}") from error

    @property
    def git(self) -> dict[str, DeclaredGitRepository]:
        """The Git repositories, by name; call ``save`` after a change."""
        return self._content.git

    @property
    def registry(self) -> dict[str, SealedAccess]:
        """Access to the registry, by the beginning of names; call ``save`` after a change."""
        return self._content.registry

    @property
    def charts(self) -> dict[str, SealedAccess]:
        """The Helm repositories, by name; call ``save`` after a change."""
        return self._content.charts

    def oci(self, repository: str) -> SealedAccess:
        """Access to a repository of the registry: the longest declared beginning of its name decides."""
        while repository:
            if repository in self.registry:
                return self.registry[repository]
            repository = repository.rpartition("/")[0]
        return self.registry.get("", SealedAccess())

    def save(self) -> None:
        """Keep it."""
        lab_directory.write_whole(self._path, msgspec.json.encode(self._content))
