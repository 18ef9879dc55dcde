"""The files that are rehearsed: a copy of the work tree, in which what the lab cannot have is replaced."""

import dataclasses
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from firstlight import errors
from firstlight.clients.git import Git
from firstlight.commands.rehearse import dummy_secrets
from firstlight.repo import file_listing


@dataclasses.dataclass(frozen=True, kw_only=True)
class WorkTreeCopy:
    """A copy of a work tree."""

    root: Path
    revision: str = ""
    """The commit of the user's repo; empty where it is none."""
    changes: int = 0
    """Files that are not as they were committed."""
    decrypted: tuple[str, ...] = ()
    """Files that are encrypted in the repo, and hold dummies here."""


async def copy(root: Path, into: Path, *, git: Path | None) -> WorkTreeCopy:
    """Copy a work tree; what Git ignores is left out.

    Args:
        root: The user's repo.
        into: A directory that does not exist yet.
        git: The program, where it is there.
    """
    listed = file_listing.listed(root.resolve())
    decrypted = []
    into.mkdir(parents=True)
    for path in listed.files:
        source, target = root / path, into / path
        target.parent.mkdir(parents=True, exist_ok=True)
        content = (
            dummy_secrets.with_dummies(path, source.read_bytes())
            if source.stat().st_size < dummy_secrets.LARGEST
            else None
        )
        if content is None:
            shutil.copy(source, target)
        else:
            target.write_bytes(content)
            decrypted.append(path)
    for link, leads in listed.links.items():
        target = into / link
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(os.path.relpath(into / leads, target.parent))
    revision, changes = await _state(root, git)
    return WorkTreeCopy(root=into, revision=revision, changes=changes, decrypted=tuple(decrypted))


def replace(root: Path, words: Mapping[str, str]) -> tuple[str, ...]:
    """Write one word for another in all files of a copy; the files that had one."""
    found = []
    pairs = [(old.encode(), new.encode()) for old, new in words.items()]
    for path in sorted(each for each in root.rglob("*") if each.is_file() and not each.is_symlink()) if pairs else ():
        before = path.read_bytes()
        after = before
        for old, new in pairs:
            after = after.replace(old, new)
        if after != before:
            path.write_bytes(after)
            found.append(path.relative_to(root).as_posix())
    return tuple(found)


async def _state(root: Path, git: Path | None) -> tuple[str, int]:
    if git is None:
        return "", 0
    client = Git(git)
    try:
        head = await client.head(root)
        changes = await client.status(root) if head.is_dirty else ()
    except errors.ClientError:  # no repository, or one that git does not read
        return "", 0
    top = head.work_tree or root
    inside = [each for each in changes if (top / each.path).is_relative_to(root.resolve())]
    return head.commit, len(inside)
