"""The files of a work tree: listed once, read once, never outside of it.

Readers ask for paths relative to the root, with forward slashes. What cannot be read is a remark, not an exception.
"""

import os
import posixpath
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from firstlight.document import reading
from firstlight.document.reading import Document
from firstlight.model.remark import Remark

YAML = (".yaml", ".yml")
_SKIPPED = {".git", "node_modules", ".venv", ".terraform"}


class WorkTree:
    """A directory of files, read lazily."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._contents: dict[str, reading.Contents] = {}
        self._remarks: list[Remark] = []

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """What is wrong with the files that were read so far, each said once."""
        return tuple(self._remarks)

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Every file, sorted; directories of tools and of Git are left out."""
        found = []
        for directory, names, files in os.walk(self.root):
            names[:] = [name for name in names if name not in _SKIPPED]
            base = os.path.relpath(directory, self.root).replace(os.sep, "/")
            found += [posixpath.normpath(posixpath.join(base, name)) for name in files]
        return tuple(sorted(found))

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(self.files)

    @cached_property
    def _directories(self) -> dict[str, list[str]]:
        """Directories with the names of what is directly in them; a directory's name ends with a slash."""
        found: dict[str, list[str]] = {".": []}
        for path in self.files:
            parent, name = posixpath.split(path)
            while True:
                known = (parent or ".") in found
                found.setdefault(parent or ".", []).append(name)
                if known or not parent:
                    break
                parent, name = posixpath.split(parent)
                name += "/"
        return found

    def is_file(self, path: str) -> bool:
        """Whether the tree has such a file."""
        return path in self._names

    def is_dir(self, path: str) -> bool:
        """Whether the tree has files below such a directory."""
        return path in self._directories

    def listing(self, path: str) -> tuple[str, ...]:
        """Names directly in a directory, sorted; those of directories end with a slash."""
        return tuple(sorted(self._directories.get(path, ())))

    def below(self, path: str, *suffixes: str) -> Iterator[str]:
        """Files below a directory, optionally only with some suffixes."""
        prefix = "" if path == "." else f"{path}/"
        return (each for each in self.files if each.startswith(prefix) and (not suffixes or each.endswith(suffixes)))

    def bytes(self, path: str) -> bytes | None:
        """A file's content; None, and a remark, where it cannot be had."""
        return (self.root / path).read_bytes()

    def text(self, path: str) -> str | None:
        """A file's text; None, and a remark, where it is none."""
        data = self.bytes(path)
        return None if data is None else data.decode("utf-8-sig", errors="replace")

    def documents(self, path: str) -> tuple[Document, ...]:
        """The YAML documents of a file, as Kubernetes reads them; broken files have none, and a remark."""
        if path not in self._contents:
            data = self.bytes(path)
            contents = reading.Contents(()) if data is None else reading.read(data, path)
            self._contents[path] = contents
            self._remarks += contents.remarks
        return self._contents[path].documents


def join(base: str, path: str) -> str | None:
    """A path as a file below ``base`` writes it, from the root; None where it leads out of the repo."""
    joined = posixpath.normpath(posixpath.join(base, path))
    return None if joined.startswith(("..", "/")) else joined
