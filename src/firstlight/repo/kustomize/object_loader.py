"""The objects of a file, as kustomize takes them: Lists are taken apart, and what is no object is refused."""

import dataclasses
import difflib
import posixpath
from collections.abc import Iterator
from typing import Any

from firstlight.document.yaml_reader import YamlDialect, YamlDocument
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.repo.kustomize.resources import KustomizationError, KustomizeResource
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree, join

DIALECT = YamlDialect.TALOS
"""kustomize reads objects by the rules of yaml.v3, to which ``yes`` and ``on`` are texts; Talos's are the same."""

_DEEPEST = 5
"""Lists in Lists."""


@dataclasses.dataclass(frozen=True)
class Objects:
    """What a file holds."""

    resources: tuple[KustomizeResource, ...] = dataclasses.field(default=(), repr=False)
    diagnostics: tuple[Diagnostic, ...] = ()


def read_objects(tree: WorkTree, path: str) -> Objects:
    """The objects of a file; what is wrong with it is said."""
    resources: list[KustomizeResource] = []
    diagnostics: list[Diagnostic] = []
    for document in tree.documents(path, dialect=DIALECT):
        for steps, value in _flattened(document.value, (), 0):
            if problem := _problem(value):
                message = f"{problem}, so kustomize refuses the whole file"
                diagnostics.append(Diagnostic.error("kustomize-object-wrong", message, at=document.place(*steps)))
            else:
                resources.append(KustomizeResource(value, _manifest(document, steps, value)))
    return Objects(tuple(resources), tuple(diagnostics))


def objects_of(tree: WorkTree, path: str) -> tuple[Manifest, ...]:
    """The objects of a file by themselves; what is none is passed over."""
    return tuple(each.source for each in read_objects(tree, path).resources)


def _manifest(document: YamlDocument, steps: tuple[str | int, ...], value: dict[str, Any]) -> Manifest:
    place = document.place(*steps) if steps else Place(document.path, document.line)
    return Manifest(value, place, document, steps)


def _flattened(value: Any, steps: tuple[str | int, ...], depth: int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(kind, str) or not kind.endswith("List") or "items" not in value or depth > _DEEPEST:
        yield steps, value
        return
    items = value["items"]
    for number, item in enumerate(items if isinstance(items, list) else ()):
        yield from _flattened(item, (*steps, "items", number), depth + 1)


def _problem(value: Any) -> str:
    if not isinstance(value, dict):
        return "this is no object"
    if not value.get("kind"):
        return "the object has no kind"
    metadata = value.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        return "the object has no metadata.name"
    return ""


# What a kustomization names beside itself, found in the repo.


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
            raise KustomizationError("kustomize-path-outside", f"{entry[:120]} leads out of the repo, and is not read")
        return found

    def file(self, entry: str) -> str:
        """A file that is to be read.

        Raises:
            Problem: There is none.
        """
        if entry.startswith(("http://", "https://")):
            raise KustomizationError.unknown(
                "kustomize-resource-remote", f"{entry[:120]} is elsewhere, and not fetched"
            )
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
            raise KustomizationError("kustomize-file-unreadable", f"{entry[:120]} cannot be read")
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
        found = self.tree.documents(self.file(entry), dialect=DIALECT)
        if found and isinstance(found[0].value, list):
            return self.values(entry)
        return tuple(each.value for each in found)

    def missing(self, entry: str, path: str) -> KustomizationError:
        """What to say of a path that leads nowhere."""
        parent, name = posixpath.split(path)
        beside = [each.rstrip("/") for each in self.tree.listing(parent or ".")]
        near = difflib.get_close_matches(name, beside, n=1, cutoff=0.75)
        hint = f"Perhaps {near[0]} is meant." if near else ""
        return KustomizationError("kustomize-path-missing", entry[:120], fix=hint, missing=entry[:120])
