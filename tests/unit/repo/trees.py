"""Trees of files, made for one test."""

from collections.abc import Mapping
from pathlib import Path

from firstlight.repo.work_tree import WorkTree


def make(root: Path, files: Mapping[str, str | bytes]) -> WorkTree:
    """A tree with files."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return WorkTree(root)
