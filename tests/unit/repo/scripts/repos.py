"""Small repos, written by tests."""

from collections.abc import Mapping
from pathlib import Path

from firstlight.repo.work_tree import WorkTree


def write(root: Path, files: Mapping[str, str]) -> WorkTree:
    """A work tree with these files."""
    for path, text in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    return WorkTree(root)
