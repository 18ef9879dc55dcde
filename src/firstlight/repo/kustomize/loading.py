"""What a kustomization names beside itself, found in the repo."""

import difflib
import posixpath
from typing import Any

from firstlight.repo.kustomize import objects
from firstlight.repo.kustomize.problem import Problem, unknown
from firstlight.repo.work_tree import WorkTree, join


class Loader:
    """Finds paths as the kustomization of a directory writes them, and remembers the files that were read."""

    def __init__(self, tree: WorkTree, directory: str) -> None:
        self.tree = tree
        self.files: set[str] = set()
        self._directory = directory

    def inside(self, entry: str) -> str | None:
        """A path from the repo's root; None where it leads out of the repo."""
        return join(self._directory, entry)

    def path(self, entry: str) -> str:
        """A path from the repo's root.

        Raises:
            Problem: It leads out of the repo.
        """
        found = self.inside(entry)
        if found is None:
            raise Problem(f"{entry[:120]} leads out of the repo, and is not read")
        return found

    def file(self, entry: str) -> str:
        """A file that is to be read.

        Raises:
            Problem: There is none.
        """
        if entry.startswith(("http://", "https://")):
            raise unknown(f"{entry[:120]} is elsewhere, and not fetched")
        path = self.path(entry)
        if not self.tree.is_file(path):
            raise self.missing(entry, path)
        real = self.tree.real(path)
        self.files.add(real)
        return real

    def bytes(self, entry: str) -> bytes:
        """The content of a file.

        Raises:
            Problem: It cannot be had.
        """
        data = self.tree.bytes(self.file(entry))
        if data is None:
            raise Problem(f"{entry[:120]} cannot be read")
        return data

    def values(self, entry: str) -> tuple[Any, ...]:
        """The documents of a file with instructions, which are read as Kubernetes reads.

        Raises:
            Problem: There is no such file.
        """
        return tuple(each.value for each in self.tree.documents(self.file(entry)))

    def patch(self, entry: str) -> tuple[Any, ...]:
        """The documents of a file with a patch: objects as kustomize reads them, operations as Kubernetes does.

        Raises:
            Problem: There is no such file.
        """
        found = self.tree.documents(self.file(entry), dialect=objects.DIALECT)
        if found and isinstance(found[0].value, list):
            return self.values(entry)
        return tuple(each.value for each in found)

    def missing(self, entry: str, path: str) -> Problem:
        """What to say of a path that leads nowhere."""
        parent, name = posixpath.split(path)
        beside = [each.rstrip("/") for each in self.tree.listing(parent or ".")]
        near = difflib.get_close_matches(name, beside, n=1, cutoff=0.75)
        return Problem(f"there is no {entry[:120]}", hint=f"perhaps {near[0]} is meant" if near else "")
