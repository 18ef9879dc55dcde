"""A repository as it lies on the disk, and a stand-in through which Git looks at it.

Git obeys the config of the repository that it works in, and there are dozens of settings that make it run a program:
file watchers, filters, drivers, helpers, signers, hooks, and more with every release. So a stranger's config is never
given to it. It works in a directory of ours, whose config says nothing but how the repository is stored, and whose
objects, branches and index are those of the repository. What is not there cannot be obeyed.
"""

import contextlib
import dataclasses
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from firstlight.clients.git import git_errors

_POINTER = re.compile(r"gitdir: (?P<path>.+?)\r?\n?", re.DOTALL)
_HEAD = re.compile(r"ref: refs/[^\x00-\x20\x7f]+\n?|[0-9a-f]{40}(?:[0-9a-f]{24})?\n?")
_SMALL = 4096
_CARRIED = {
    "core.repositoryformatversion": r"[01]",
    "core.filemode": r"true|false",
    "core.symlinks": r"true|false",
    "core.ignorecase": r"true|false",
    "core.precomposeunicode": r"true|false",
    "core.autocrlf": r"true|false|input",
    "core.eol": r"lf|crlf|native",
    "core.trustctime": r"true|false",
    "core.checkstat": r"default|minimal",
    "core.sparsecheckout": r"true|false",
    "core.sparsecheckoutcone": r"true|false",
    "extensions.objectformat": r"sha1|sha256",
    "extensions.refstorage": r"files|reftable",
    "extensions.compatobjectformat": r"sha1|sha256",
}
"""Settings that say how files are stored, each with what it may be; none of them names a program or a place."""

_UNFINISHED = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG")


@dataclasses.dataclass(frozen=True)
class LocalRepository:
    """Where the parts of a repository are."""

    git_dir: Path
    """What belongs to this work tree: its head and its index."""
    common_dir: Path
    """What all work trees share: objects, branches and config."""
    work_tree: Path | None

    @property
    def place(self) -> str:
        """What messages call it."""
        return str(self.work_tree or self.git_dir)

    @property
    def unfinished(self) -> str:
        """A merge or rebase that somebody began and did not end, by the file that tells; empty if there is none."""
        return next((name for name in _UNFINISHED if (self.git_dir / name).exists()), "")


def locate(path: Path) -> LocalRepository:
    """The repository of a work tree, of a directory in one, or a bare one.

    Raises:
        git_errors.PointsElsewhere: It leads to another one, which knows nothing of it.
        git_errors.NotARepository: There is none.
    """
    path = path.absolute()
    if _is_git_dir(path):
        return _checked(LocalRepository(path, _common_dir(path), path.parent if path.name == ".git" else None))
    for directory in (path, *path.parents):
        mark = directory / ".git"
        if mark.is_file():
            match = _POINTER.fullmatch(_small_text(mark))
            git_dir = Path(os.path.normpath(directory / match["path"])) if match else mark
            if match and _is_git_dir(git_dir):
                return _checked(LocalRepository(git_dir, _common_dir(git_dir), directory))
        elif _is_git_dir(mark):
            return _checked(LocalRepository(mark, _common_dir(mark), directory))
    raise git_errors.NotARepository("status", detail="it is no work tree and no repository", target=str(path))


def _checked(found: LocalRepository) -> LocalRepository:
    """The repository, if its parts belong together."""
    check_common_dir(found.git_dir, found.common_dir)
    if found.work_tree is not None:
        check_pointers(found.work_tree, found.git_dir)
    return found


@contextlib.contextmanager
def stand_in(
    repository: LocalRepository, home: Path, settings: Mapping[str, str], *, writes: bool
) -> Iterator[Mapping[str, str]]:
    """The environment in which Git sees the repository without obeying it.

    Args:
        repository: Where its parts are.
        home: An empty directory of ours.
        settings: What its config says, by name in small letters.
        writes: Whether objects go to the repository; if not, they go to our directory and vanish with it.
    """
    git_dir = home / "git"
    git_dir.mkdir()
    (git_dir / "config").write_text(_config(settings, is_bare=repository.work_tree is None))
    head = _small_text(repository.git_dir / "HEAD")
    if not _HEAD.fullmatch(head):
        raise git_errors.NotARepository("status", detail="its HEAD is damaged", target=repository.place)
    (git_dir / "HEAD").write_text(head)
    common = repository.common_dir.absolute()
    for name in ("refs", "packed-refs"):
        (git_dir / name).symlink_to(common / name)
    if (common / "reftable").is_dir():
        (git_dir / "reftable").symlink_to(common / "reftable")
    (git_dir / "info").mkdir()
    for name, owner in (("exclude", common), ("attributes", common), ("sparse-checkout", repository.git_dir)):
        (git_dir / "info" / name).symlink_to(owner.absolute() / "info" / name)
    for shared in repository.git_dir.glob("sharedindex.*"):
        (git_dir / shared.name).symlink_to(shared.absolute())
    if writes:
        (git_dir / "shallow").symlink_to(common / "shallow")
        (git_dir / "objects").symlink_to(common / "objects")
        _link_logs(git_dir, repository)
    else:
        if (common / "shallow").is_file():
            shutil.copyfile(common / "shallow", git_dir / "shallow")
        (git_dir / "objects" / "info").mkdir(parents=True)
        (git_dir / "objects" / "info" / "alternates").write_bytes(_quoted(common / "objects") + b"\n")
    environment = {"GIT_DIR": str(git_dir), "GIT_INDEX_FILE": str(repository.git_dir.absolute() / "index")}
    if repository.work_tree is not None:
        environment["GIT_WORK_TREE"] = str(repository.work_tree)
    yield environment


def _is_git_dir(path: Path) -> bool:
    # The HEAD of a stranger may be a link to anything; what is not small text is found out later.
    if not (path / "HEAD").is_file():
        return False
    common = _common_dir(path)
    return (common / "objects").is_dir() and (common / "refs").is_dir()


def _common_dir(git_dir: Path) -> Path:
    pointer = git_dir / "commondir"
    if not pointer.is_file():
        return git_dir
    return Path(os.path.normpath(git_dir / _small_text(pointer).strip("\r\n")))


def _small_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_SMALL))
    except OSError:
        return ""


def _config(settings: Mapping[str, str], *, is_bare: bool) -> str:
    lines = [f"[core]\n\tbare = {'true' if is_bare else 'false'}"]
    for name, allowed in _CARRIED.items():
        value = settings.get(name, "")
        if re.fullmatch(allowed, value):
            section, key = name.split(".")
            lines.append(f"[{section}]\n\t{key} = {value}")
    return "\n".join([*lines, ""])


def _link_logs(git_dir: Path, repository: LocalRepository) -> None:
    """Let what is written also be remembered where the user looks for it."""
    if repository.work_tree is None:
        return
    (repository.common_dir / "logs" / "refs").mkdir(parents=True, exist_ok=True)
    (repository.git_dir / "logs").mkdir(exist_ok=True)
    (git_dir / "logs").mkdir()
    (git_dir / "logs" / "refs").symlink_to(repository.common_dir.absolute() / "logs" / "refs")
    (git_dir / "logs" / "HEAD").symlink_to(repository.git_dir.absolute() / "logs" / "HEAD")


def _quoted(path: Path) -> bytes:
    """A path as Git reads it in a file of lines, whatever letters it has."""
    escaped = b"".join(b"\\%03o" % byte if byte < 0x20 or byte in b'"\\' else bytes([byte]) for byte in bytes(path))
    return b'"' + escaped + b'"'


# Whether a work tree and a Git directory elsewhere belong together: only if each says so of the other.
#
# A ``.git`` that is a file, or a link, leads to a directory outside of the tree: so it is with a second work tree of
# a repository, and with a submodule. But a tree of files may come from anywhere, as out of an archive, and its
# ``.git`` may name any repository on this computer, whose config and commits would be taken for those of the tree.


_POINTING_SMALL = 1 << 20


def check_pointers(tree: Path, git_dir: Path) -> None:
    """See that a Git directory names the work tree that names it, and is ours.

    Args:
        tree: The directory that ``.git`` is in.
        git_dir: Where it leads.

    Raises:
        git_errors.PointsElsewhere: It does not.
    """
    real, top = _real(git_dir), _real(tree)
    if real.is_relative_to(top):
        return
    try:
        owner = real.stat().st_uid
    except OSError:
        owner = -1
    if owner not in _owners():
        raise _elsewhere(tree, git_dir, "which belongs to another user")
    if top not in _named(real):
        raise _elsewhere(tree, git_dir, "which does not name this directory as its work tree")


def check_common_dir(git_dir: Path, common: Path) -> None:
    """See that a Git directory that shares another one's objects and config is kept in it, as Git does.

    Raises:
        git_errors.PointsElsewhere: It is not.
    """
    if common != git_dir and _real(git_dir).parent != _real(common) / "worktrees":
        raise _elsewhere(git_dir, common, "which does not keep it among its worktrees")


def _named(git_dir: Path) -> set[Path]:
    """The work trees that a Git directory names: in ``gitdir`` as one of several, in its config as a submodule."""
    found = set()
    if text := _text(git_dir / "gitdir").strip("\r\n"):
        found.add(_real(git_dir / text).parent)
    for name in ("config", "config.worktree"):
        if text := _work_tree(_text(git_dir / name)):
            found.add(_real(git_dir / text))
    return found


def _work_tree(config: str) -> str:
    """What ``core.worktree`` says in a config; empty if nothing."""
    section, found = "", ""
    for line in (each.strip() for each in config.splitlines()):
        if line.startswith("["):
            section = line.partition("]")[0].removeprefix("[").strip().lower()
            continue
        name, equals, value = line.partition("=")
        if section == "core" and equals and name.strip().lower() == "worktree":
            text = value.strip()
            found = text[1:-1].replace('\\"', '"').replace("\\\\", "\\") if text[:1] == '"' == text[-1:] else text
    return found


def _elsewhere(path: Path, to: Path, why: str) -> git_errors.GitPointsElsewhere:
    return git_errors.GitPointsElsewhere(
        "status",
        detail=f"its .git leads to {to}, {why}; what is there is not read",
        target=str(path),
        hint="If they belong together: git worktree repair; for a submodule git submodule update; and for a separate "
        f"Git directory git --git-dir={to} config core.worktree {path}",
    )


def _owners() -> set[int]:
    user, caller = os.geteuid(), os.environ.get("SUDO_UID", "")
    return {user, int(caller)} if user == 0 and caller.isdecimal() else {user}


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.read(_POINTING_SMALL))
    except OSError:
        return ""
