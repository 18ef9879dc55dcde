"""What is on the disk of a work tree and not in Git's sight: ignored files, without those that tools make."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from firstlight.clients.git import Git, NotARepository

_MANY = 2_000
"""Ignored files that are looked at; what tools leave behind can be more than a repo has."""
_DEPTH = 3
"""Directories below an ignored one that are looked into."""
_TOOLS = (".git", ".firstlight", "node_modules", ".venv", ".terraform", ".task", ".direnv", "__pycache__", ".cache")


async def listed(root: Path, *, git: Path | None) -> list[str]:
    """Files that Git ignores, relative to a directory of its work tree; none where there is no Git.

    Raises:
        errors.ClientError: Git does not answer.
    """
    if git is None:
        return []
    try:
        return list(_walked(root, await Git(git).ignored(root)))
    except NotARepository:
        return []


def _walked(root: Path, ignored: Iterable[str]) -> Iterator[str]:
    """What Git ignores, file by file, without what tools have made."""
    waiting = [(each, 0) for each in sorted(ignored, reverse=True)]
    left = _MANY
    while waiting and left:
        path, depth = waiting.pop()
        if any(each in _TOOLS for each in path.split("/")) or not path.isprintable():
            continue
        left -= 1
        if not path.endswith("/"):
            yield path
        elif depth < _DEPTH:
            try:
                with os.scandir(root / path) as entries:
                    inner = [f"{path}{e.name}{'/' if e.is_dir(follow_symlinks=False) else ''}" for e in entries]
            except OSError:
                continue
            waiting += [(each, depth + 1) for each in sorted(inner, reverse=True)]
