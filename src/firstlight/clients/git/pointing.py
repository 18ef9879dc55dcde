"""Whether a work tree and a Git directory elsewhere belong together: only if each says so of the other.

A ``.git`` that is a file, or a link, leads to a directory outside of the tree: so it is with a second work tree of a
repository, and with a submodule. But a tree of files may come from anywhere, as out of an archive, and its ``.git`` may
name any repository on this computer, whose config and commits would be taken for those of the tree.
"""

import os
from pathlib import Path

from firstlight.clients.git import errors as git_errors

_SMALL = 1 << 20


def check(tree: Path, git_dir: Path) -> None:
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


def check_common(git_dir: Path, common: Path) -> None:
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


def _elsewhere(path: Path, to: Path, why: str) -> git_errors.PointsElsewhere:
    return git_errors.PointsElsewhere(
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
            return os.fsdecode(file.read(_SMALL))
    except OSError:
        return ""
