"""Every document of Flux in a repo, whether anything leads there or not."""

import dataclasses
import posixpath
from collections.abc import Collection, Iterator
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.component import Origin
from firstlight.model.place import Place
from firstlight.repo import kustomize
from firstlight.repo.flux import flux_kustomizations, flux_objects, helm_releases
from firstlight.repo.flux.flux_objects import mapping, spec, text
from firstlight.repo.flux.flux_sources import FluxSources
from firstlight.repo.flux.post_build import VariableHolders
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import YAML, WorkTree

_MARKS = (b"toolkit.fluxcd.io", b"fluxcd.controlplane.io")
_DEEPEST = 5
"""Lists in Lists."""


@dataclasses.dataclass(frozen=True)
class FluxScan:
    """What was found, in the order of files."""

    kustomizations: tuple[Manifest, ...] = ()
    helm_releases: tuple[Manifest, ...] = ()
    sources: tuple[Manifest, ...] = ()
    instances: tuple[Manifest, ...] = ()
    instance_values: tuple[tuple[YamlDocument, dict[str, Any]], ...] = dataclasses.field(default=(), repr=False)
    """Values files for the chart of a FluxInstance: documents without a kind, with ``instance.sync``."""


def scan(tree: WorkTree) -> FluxScan:
    """Look through the files that mention Flux; others are not even parsed."""
    charts = {posixpath.dirname(path) for path in tree.files if path.endswith("/Chart.yaml") or path == "Chart.yaml"}
    found: dict[str, list[Any]] = {field.name: [] for field in dataclasses.fields(FluxScan)}
    for path in tree.files:
        if path.endswith(YAML) and not _is_template(path, charts):
            data = tree.bytes(path) or b""
            has_values = b"instance:" in data and b"sync:" in data
            if has_values or any(mark in data for mark in _MARKS):
                for document in tree.documents(path, dialect=kustomize.DIALECT):
                    _sort(document, found)
    return FluxScan(**{name: tuple(each) for name, each in found.items()})


def _is_template(path: str, charts: set[str]) -> bool:
    """Whether a file is a template of a chart, which is no YAML before Helm has filled it in."""
    before, inside, _ = path.rpartition("/templates/")
    while inside:
        if before in charts:
            return True
        before, inside, _ = before.rpartition("/templates/")
    return path.startswith("templates/") and "" in charts


def _sort(document: YamlDocument, found: dict[str, list[Any]]) -> None:
    for manifest in _flattened(document, document.value, (), 0):
        if flux_objects.is_kustomization(manifest):
            found["kustomizations"].append(manifest)
        elif flux_objects.is_helm_release(manifest):
            found["helm_releases"].append(manifest)
        elif flux_objects.is_source(manifest):
            found["sources"].append(manifest)
        elif flux_objects.is_instance(manifest):
            found["instances"].append(manifest)
        elif not manifest.id.kind:
            instance = flux_objects.mapping(manifest.value.get("instance"))
            if flux_objects.mapping(instance.get("sync")).get("path"):
                found["instance_values"].append((document, instance))


def _flattened(document: YamlDocument, value: Any, steps: tuple[str | int, ...], depth: int) -> Iterator[Manifest]:
    if not isinstance(value, dict):
        return
    items = value.get("items")
    if str(value.get("kind") or "").endswith("List") and isinstance(items, list) and depth < _DEEPEST:
        for number, item in enumerate(items):
            yield from _flattened(document, item, (*steps, "items", number), depth + 1)
        return
    place = document.place(*steps) if steps else Place(document.path, document.line)
    yield Manifest(value, place, document, steps)


# Files that show how something could be written, and deploy nothing.


_NAMES = {"template", "templates", "example", "examples", "sample", "samples", "archive", "archived", "testdata"}


def is_example_path(path: str) -> bool:
    """Whether a file is in a directory of templates, examples or things that were put away."""
    return any(part.strip("._").lower() in _NAMES for part in path.split("/")[:-1])


def is_example(manifest: Manifest) -> bool:
    """Whether an object is written in such a file."""
    return is_example_path(manifest.place.path)


# Kustomizations and HelmReleases that are in the repo, and that no cluster's tree leads to.


_UP = 4
"""Directories above a file that are asked whether they name it."""


def unreached_origins(
    tree: WorkTree, scan: FluxScan, *, places: Collection[Place], files: Collection[str]
) -> Iterator[Origin]:
    """What was not reached, each with the reason.

    Args:
        tree: The repo.
        scan: Everything of Flux that is in it.
        places: Where the objects that were reached are written.
        files: The files that had a part in what was reached.
    """
    sources = FluxSources(scan.sources)
    for manifest in (*scan.kustomizations, *scan.helm_releases):
        if manifest.place in places:
            continue
        if manifest.place.path in files and not _is_complete(manifest):
            continue  # a patch, which was applied
        doubt = _reason(tree, manifest, files)
        if flux_objects.is_kustomization(manifest):
            written = text(spec(manifest).get("path"))
            path = flux_objects.normal_path(written) or written
            yield flux_kustomizations.origin(manifest, cluster="", parent="", path=path, remote=None, doubt=doubt)
        else:
            found, _ = helm_releases.origin(
                manifest, cluster="", parent="", sources=sources, holders=VariableHolders(), is_own=lambda _: False
            )
            yield dataclasses.replace(found, doubt=doubt)


def _is_complete(manifest: Manifest) -> bool:
    """Whether an object could stand by itself; a patch says only what it changes."""
    if flux_objects.is_kustomization(manifest):
        return bool(mapping(spec(manifest).get("sourceRef")))
    return bool(spec(manifest).get("chart") or spec(manifest).get("chartRef"))


def _reason(tree: WorkTree, manifest: Manifest, files: Collection[str]) -> str:
    path = manifest.place.path
    if is_example_path(path):
        return "it is in a directory of templates or examples"
    if path in files:
        return "its file is read, but a patch removes it, or another object has its name"
    if not _is_complete(manifest):
        return "it looks like a patch, and no kustomization that was reached applies it"
    directory = posixpath.dirname(path) or "."
    for _ in range(_UP):
        if kustomize.file_of(tree, directory) and path in kustomize.build(tree, directory).files:
            return f"no cluster's tree leads to {directory}"
        if directory == ".":
            break
        directory = posixpath.dirname(directory) or "."
    return "no kustomization names its file, and no cluster's tree leads there"
