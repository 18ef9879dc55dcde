"""Which files on the disk are not, byte by byte, what a commit or the index has.

Git itself cannot be asked. It goes by time stamps, and by ``.gitattributes``, which may say that a file looks different
on the disk than in a commit: in another encoding, with other line ends, or filtered. Engines read the commit.
"""

import hashlib
import os
from collections.abc import Collection, Iterator, Mapping

from firstlight.model.git import TreeEntry
from firstlight.repo import file_listing
from firstlight.repo.work_tree import WorkTree


class DiskFiles:
    """The files of a work tree as they are, each looked at once."""

    def __init__(self, tree: WorkTree) -> None:
        self._tree = tree
        self._files = frozenset(tree.files)
        self._known: dict[tuple[str, int], str] = {}

    def differing(self, entries: Mapping[str, TreeEntry], *, also: Collection[str] = ()) -> Iterator[str]:
        """Files that differ: other bytes, there and not here, or here and not there.

        Args:
            entries: What a commit or the index has, by path from the top of the repo.
            also: Names that count though no listing has them, since nobody can type them.
        """
        for path, entry in entries.items():
            if (is_typed(path) or path in also) and not self._is_same(path, entry):
                yield path
        yield from (path for path in (*self._tree.files, *self._tree.links) if path not in entries)

    def _is_same(self, path: str, entry: TreeEntry) -> bool:
        match entry.kind:
            case "submodule":
                return path not in self._files and path not in self._tree.links
            case "symlink":
                return path in self._tree.links and self._link(path, len(entry.id)) == entry.id
            case _:
                return path in self._files and self._blob(path, len(entry.id)) == entry.id

    def _blob(self, path: str, length: int) -> str:
        key = (path, length)
        if key not in self._known:
            self._known[key] = self._tree.digest(path, _hash(length), head=lambda size: b"blob %d\0" % size)
        return self._known[key]

    def _link(self, path: str, length: int) -> str:
        try:
            target = os.fsencode(os.readlink(self._tree.root / path))
        except OSError:
            return ""  # gone since it was listed
        made = hashlib.new(_hash(length), b"blob %d\0" % len(target) + target, usedforsecurity=False)
        return made.hexdigest()


def is_typed(path: str) -> bool:
    """Whether a listing of files has such a name."""
    return path.isprintable() and path.count("/") <= file_listing.DEPTH


def _hash(length: int) -> str:
    """What Git makes its names with, told by their length."""
    return "sha256" if length > 40 else "sha1"
