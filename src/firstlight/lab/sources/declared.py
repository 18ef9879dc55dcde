"""What was declared: which repositories there are, who may use them, and whom to tell about pushes.

Kept in one file that is written whole. A directory without a declaration is not served: a crash in the middle of a
deletion cannot make a private repository public.
"""

from typing import Literal

import msgspec

from firstlight import errors
from firstlight.lab import directory
from firstlight.lab.sources.access import Sealed
from firstlight.lab.sources.home import Home
from firstlight.model.secret import MASK


class Webhook(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An address that is told about every push."""

    url: str
    secret: str = ""
    """What deliveries are signed with; not signed without one. Kept as it is, since a signature needs it."""
    shape: Literal["github", "generic"] = "github"

    def __repr__(self) -> str:
        return f"Webhook(url={self.url!r}, secret={MASK if self.secret else ''!r}, shape={self.shape!r})"


class Git(msgspec.Struct, frozen=True):
    """A Git repository."""

    access: Sealed = Sealed()
    branch: str = "main"
    webhooks: tuple[Webhook, ...] = ()


class Content(msgspec.Struct):
    """All declarations."""

    git: dict[str, Git] = {}
    registry: dict[str, Sealed] = {}
    """By the beginning of the repositories' names; the empty one is all of them."""
    charts: dict[str, Sealed] = {}


class Declared:
    """The file."""

    def __init__(self, home: Home) -> None:
        self._path = home.declared
        self._content = Content()
        if self._path.exists():
            try:
                self._content = msgspec.json.decode(self._path.read_bytes(), type=Content)
            except msgspec.MsgspecError as error:
                raise errors.LabError(f"{self._path} cannot be read: {error}") from error

    @property
    def git(self) -> dict[str, Git]:
        """The Git repositories, by name; call ``save`` after a change."""
        return self._content.git

    @property
    def registry(self) -> dict[str, Sealed]:
        """Access to the registry, by the beginning of names; call ``save`` after a change."""
        return self._content.registry

    @property
    def charts(self) -> dict[str, Sealed]:
        """The Helm repositories, by name; call ``save`` after a change."""
        return self._content.charts

    def oci(self, repository: str) -> Sealed:
        """Access to a repository of the registry: the longest declared beginning of its name decides."""
        while repository:
            if repository in self.registry:
                return self.registry[repository]
            repository = repository.rpartition("/")[0]
        return self.registry.get("", Sealed())

    def save(self) -> None:
        """Keep it."""
        directory.write_whole(self._path, msgspec.json.encode(self._content))
