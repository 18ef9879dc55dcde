"""Charts and files that are asked for, and those that are there."""

import dataclasses
import enum
import re

from firstlight.model import remote_url
from firstlight.model.rendition import Pin

_EXACT = re.compile(r"v?[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class Kind(enum.StrEnum):
    """What something is fetched from."""

    OCI = "oci"
    """A chart in a registry."""
    REPOSITORY = "repository"
    """A chart in a repository with an index."""
    GIT = "git"
    """All files of a commit."""
    FILE = "file"
    """One file of the web."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Something elsewhere, as a repo asks for it."""

    kind: Kind
    url: str
    """Of the chart itself in a registry; else of the repository, or of the file."""
    name: str = ""
    """Of a chart in a repository."""
    version: str = ""
    """A version or range; in Git a branch, tag or commit; empty for the latest."""
    digest: str = ""
    insecure: bool = False
    """Whether the registry is spoken to without TLS, since whoever asks says so."""

    @property
    def source(self) -> str:
        """As people write it."""
        parts = (self.url, self.name, self.digest or self.version)
        return remote_url.without_credentials(" ".join(each for each in parts if each))

    @property
    def is_exact(self) -> bool:
        """Whether it names one content, as far as its publisher keeps to the rules."""
        if self.kind == Kind.GIT:
            return _COMMIT.fullmatch(self.version) is not None
        return bool(self.digest) or _EXACT.fullmatch(self.version) is not None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What is there."""

    wanted: Wanted
    name: str
    """The chart's own name."""
    version: str
    """The chart's own version; in Git the commit."""
    digest: str
    """Of the chart's manifest in a registry; the commit in Git; else of the files."""
    sum: str
    """The SHA-256 of the content here."""

    @property
    def pin(self) -> Pin:
        """What the reference was when it was resolved."""
        return Pin(source=self.wanted.source, version=self.version, digest=self.digest)
