"""A work tree watched while somebody edits it: what was parsed stays in memory, and a changed file costs itself.

Nobody is asked to tell of changes: the files that are known, and the directories that they are in, are looked at twice
a second, which takes some milliseconds for thousands of them. Git is only asked again where a name is new, or where
its own files have changed.
"""

import asyncio
import contextlib
import dataclasses
import os
import posixpath
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import repository
from firstlight.commands.audit import audit, gather
from firstlight.commands.audit.audit import AuditMeans, AuditResult
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import SIZE, WorkTree

PAUSE = 0.5
"""Seconds between two looks."""
_MANY = 200
"""Changed files after which everything is read again, so that nothing old is kept for ever."""

Stamp = tuple[int, ...]
Look = AuditResult | errors.FirstlightError


@dataclasses.dataclass(frozen=True)
class _Sight:
    """What tells whether something has changed."""

    files: Mapping[str, Stamp]
    names: Mapping[str, frozenset[str]]
    """What is in each directory, files that Git ignores included."""
    git: tuple[Stamp, ...]


async def watch(
    tree: WorkTree,
    wishes: AuditRequest,
    means: AuditMeans,
    *,
    pause: Callable[[], Awaitable[None]] | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> AsyncGenerator[Look, None]:
    """What an audit says, now and after every change; or why it cannot be made, until that is put right.

    Args:
        tree: The repo.
        wishes: What to look for.
        means: How to look.
        pause: Waits between two looks.
        say: Told what is being done the first time.
    """
    wait = pause or (lambda: asyncio.sleep(PAUSE))
    changed: dict[str, bytes | None] = {}
    seen = _sight(tree, ())
    found = await _judged(tree, wishes, means, say)
    yield found
    while True:
        await wait()
        now = _sight(tree, changed)
        if now == seen:
            continue
        is_listed_anew = now.names != seen.names or now.git != seen.git
        fresh = WorkTree(tree.root) if is_listed_anew else None
        if isinstance(found, AuditResult) and not is_listed_anew:
            means = dataclasses.replace(means, known=gather.facts_of(found.scene))
        else:
            means = dataclasses.replace(means, known=None)
        touched = _different(seen, now) | (set(fresh.files) ^ set(tree.files) if fresh is not None else set())
        # Looked at before anything is read: what is written in between is there at the next look.
        seen = _sight(tree, {*changed, *touched})
        news = _contents(tree, touched, fresh)
        if fresh is not None and (fresh.links != tree.links or len(changed) + len(news) > _MANY):
            tree, changed = fresh, {}
            seen = _sight(tree, ())
        else:
            changed = {**changed, **news}
        found = await _judged(OverlaidTree(tree, changed) if changed else tree, wishes, means, lambda text: None)
        yield found


def _sight(tree: WorkTree, also: Iterable[str]) -> _Sight:
    root = os.fspath(tree.root)
    files: dict[str, Stamp] = {}
    directories: set[str] = {""}
    for path in {*tree.files, *tree.links, *also}:
        if stamp := _stamp(f"{root}/{path}"):
            files[path] = stamp
        parent = posixpath.dirname(path)
        while parent not in directories:
            directories.add(parent)
            parent = posixpath.dirname(parent)
    return _Sight(files, {each: _names(f"{root}/{each}") for each in directories}, _git(tree.root))


def _stamp(path: str) -> Stamp:
    try:
        status = os.lstat(path)
    except OSError:
        return ()
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


def _names(directory: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(directory))
    except OSError:
        return frozenset()


def _git(root: Path) -> tuple[Stamp, ...]:
    """The stamps of what Git writes when something is added or committed."""
    try:
        found = repository.locate(root)
    except errors.FirstlightError:
        return ()
    return tuple(_stamp(f"{found.git_dir}/{name}") for name in ("index", "HEAD", "logs/HEAD"))


def _different(seen: _Sight, now: _Sight) -> set[str]:
    return {path for path in seen.files.keys() | now.files.keys() if seen.files.get(path) != now.files.get(path)}


def _contents(tree: WorkTree, names: set[str], fresh: WorkTree | None) -> dict[str, bytes | None]:
    """The files that have changed, come or gone, with what is in them now."""
    known = set(fresh.files) if fresh is not None else names
    return {path: _read(f"{tree.root}/{path}") if path in known else None for path in sorted(names)}


def _read(path: str) -> bytes | None:
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            return file.read(SIZE + 1)
    return None


async def _judged(tree: WorkTree, wishes: AuditRequest, means: AuditMeans, say: Callable[[str], None]) -> Look:
    try:
        return await audit.audit(tree, wishes, means, say=say)
    except errors.FirstlightError as error:
        return error
