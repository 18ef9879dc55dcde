"""What Git knows: commits, what changed between them, the files in them, and the branches of a remote."""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

FileStatus = Literal["added", "modified", "deleted", "renamed", "copied", "type-changed", "unmerged", "untracked"]
FileKind = Literal["file", "executable", "symlink", "submodule"]
PushOutcome = Literal["created", "updated", "forced", "unchanged"]


@dataclasses.dataclass(frozen=True)
class GitPerson:
    """Who wrote or made a commit."""

    name: str
    email: str


@dataclasses.dataclass(frozen=True)
class Commit:
    """One commit."""

    id: str
    parents: tuple[str, ...]
    author: GitPerson
    authored: datetime.datetime
    committer: GitPerson
    committed: datetime.datetime
    subject: str
    body: str = ""


@dataclasses.dataclass(frozen=True)
class FileChange:
    """What became of a file. Names that are not UTF-8 have surrogates, as the names that Python lists have."""

    status: FileStatus
    path: str
    old_path: str = ""
    """Where it was, if it was renamed or copied."""
    modes: tuple[str, str] = dataclasses.field(default=("", ""), compare=False)
    """What Git has it for before and after, such as ``100644`` and ``100755``; zeros where it is not there."""


@dataclasses.dataclass(frozen=True)
class Head:
    """Where a work tree, or a bare repository, stands."""

    commit: str
    """Empty if there is none so far."""
    branch: str
    """Empty if the head is detached."""
    is_dirty: bool
    """Whether there is anything that the commit does not have, untracked files included."""
    remote_url: str
    """The URL of ``origin``, without credentials; empty if there is none."""
    work_tree: Path | None
    """None if the repository is bare."""


@dataclasses.dataclass(frozen=True)
class TreeEntry:
    """A file in a commit."""

    path: str
    kind: FileKind
    id: str
    size: int
    """Bytes; 0 for a submodule."""


@dataclasses.dataclass(frozen=True)
class FileContent:
    """A file of a commit, of the index, or of what a patch would make of a commit, with what is in it."""

    path: str
    kind: FileKind
    data: bytes | None = dataclasses.field(repr=False)
    """Of a symbolic link the path to which it leads; None for a submodule, and for what is too large."""


@dataclasses.dataclass(frozen=True)
class Patched:
    """What a patch would make of a commit."""

    changes: tuple[FileChange, ...]
    files: Mapping[str, FileContent]
    """Those that the patch touches, as they would be; what it deletes is not among them."""


@dataclasses.dataclass(frozen=True)
class Exported:
    """The files of a commit in a directory."""

    commit: str
    path: Path
    files: int
    size: int
    submodules: tuple[str, ...] = ()
    """Where submodules belong, which are not fetched: there is nothing."""


@dataclasses.dataclass(frozen=True)
class RemoteRefs:
    """What a remote repository offers."""

    head: str
    """The branch that is checked out by default; empty if it does not say."""
    refs: Mapping[str, str]
    """Commits by the full names of branches and tags."""

    def branch(self, name: str) -> str:
        """The commit of a branch; empty if there is none of this name."""
        return self.refs.get(f"refs/heads/{name}", "")

    def tag(self, name: str) -> str:
        """The commit of a tag, also if it is annotated; empty if there is none of this name."""
        return self.refs.get(f"refs/tags/{name}^{{}}") or self.refs.get(f"refs/tags/{name}", "")


@dataclasses.dataclass(frozen=True)
class PushResult:
    """What a push did."""

    branch: str
    commit: str
    outcome: PushOutcome
