"""Every document of Flux in a repo, whether anything leads there or not."""

import dataclasses
import posixpath
from collections.abc import Iterator
from typing import Any

from firstlight.document.reading import Document
from firstlight.model.place import Place
from firstlight.repo import kustomize
from firstlight.repo.flux import kinds
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import YAML, WorkTree

_MARKS = (b"toolkit.fluxcd.io", b"fluxcd.controlplane.io")
_DEEPEST = 5
"""Lists in Lists."""


@dataclasses.dataclass(frozen=True)
class Scan:
    """What was found, in the order of files."""

    kustomizations: tuple[Manifest, ...] = ()
    helm_releases: tuple[Manifest, ...] = ()
    sources: tuple[Manifest, ...] = ()
    instances: tuple[Manifest, ...] = ()
    instance_values: tuple[tuple[Document, dict[str, Any]], ...] = dataclasses.field(default=(), repr=False)
    """Values files for the chart of a FluxInstance: documents without a kind, with ``instance.sync``."""


def scan(tree: WorkTree) -> Scan:
    """Look through the files that mention Flux; others are not even parsed."""
    charts = {posixpath.dirname(path) for path in tree.files if path.endswith("/Chart.yaml") or path == "Chart.yaml"}
    found: dict[str, list[Any]] = {field.name: [] for field in dataclasses.fields(Scan)}
    for path in tree.files:
        if path.endswith(YAML) and not _is_template(path, charts):
            data = tree.bytes(path) or b""
            has_values = b"instance:" in data and b"sync:" in data
            if has_values or any(mark in data for mark in _MARKS):
                for document in tree.documents(path, dialect=kustomize.DIALECT):
                    _sort(document, found)
    return Scan(**{name: tuple(each) for name, each in found.items()})


def _is_template(path: str, charts: set[str]) -> bool:
    """Whether a file is a template of a chart, which is no YAML before Helm has filled it in."""
    before, inside, _ = path.rpartition("/templates/")
    while inside:
        if before in charts:
            return True
        before, inside, _ = before.rpartition("/templates/")
    return path.startswith("templates/") and "" in charts


def _sort(document: Document, found: dict[str, list[Any]]) -> None:
    for manifest in _flattened(document, document.value, (), 0):
        if kinds.is_kustomization(manifest):
            found["kustomizations"].append(manifest)
        elif kinds.is_helm_release(manifest):
            found["helm_releases"].append(manifest)
        elif kinds.is_source(manifest):
            found["sources"].append(manifest)
        elif kinds.is_instance(manifest):
            found["instances"].append(manifest)
        elif not manifest.id.kind:
            instance = kinds.mapping(manifest.value.get("instance"))
            if kinds.mapping(instance.get("sync")).get("path"):
                found["instance_values"].append((document, instance))


def _flattened(document: Document, value: Any, steps: tuple[str | int, ...], depth: int) -> Iterator[Manifest]:
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if str(value.get("kind") or "").endswith("List") and isinstance(items, list) and depth < _DEEPEST:
        for number, item in enumerate(items):
            yield from _flattened(document, item, (*steps, "items", number), depth + 1)
        return
    place = document.place(*steps) if steps else Place(document.path, document.line)
    yield Manifest(value, place, document, steps)
