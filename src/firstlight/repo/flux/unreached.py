"""Kustomizations and HelmReleases that are in the repo, and that no cluster's tree leads to."""

import dataclasses
import posixpath
from collections.abc import Collection, Iterator

from firstlight.model.component import Origin
from firstlight.model.place import Place
from firstlight.repo import kustomize
from firstlight.repo.flux import examples, helm_releases, kinds, kustomizations, paths
from firstlight.repo.flux.kinds import mapping, spec, text
from firstlight.repo.flux.scanning import Scan
from firstlight.repo.flux.sources import Sources
from firstlight.repo.flux.variables import Holders
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

_UP = 4
"""Directories above a file that are asked whether they name it."""


def origins(tree: WorkTree, scan: Scan, *, places: Collection[Place], files: Collection[str]) -> Iterator[Origin]:
    """What was not reached, each with the reason.

    Args:
        tree: The repo.
        scan: Everything of Flux that is in it.
        places: Where the objects that were reached are written.
        files: The files that had a part in what was reached.
    """
    sources = Sources(scan.sources)
    for manifest in (*scan.kustomizations, *scan.helm_releases):
        if manifest.place in places:
            continue
        if manifest.place.path in files and not _is_complete(manifest):
            continue  # a patch, which was applied
        doubt = _reason(tree, manifest, files)
        if kinds.is_kustomization(manifest):
            written = text(spec(manifest).get("path"))
            path = paths.normal(written) or written
            yield kustomizations.origin(manifest, cluster="", parent="", path=path, remote=None, doubt=doubt)
        else:
            found, _ = helm_releases.origin(
                manifest, cluster="", parent="", sources=sources, holders=Holders(), is_own=lambda _: False
            )
            yield dataclasses.replace(found, doubt=doubt)


def _is_complete(manifest: Manifest) -> bool:
    """Whether an object could stand by itself; a patch says only what it changes."""
    if kinds.is_kustomization(manifest):
        return bool(mapping(spec(manifest).get("sourceRef")))
    return bool(spec(manifest).get("chart") or spec(manifest).get("chartRef"))


def _reason(tree: WorkTree, manifest: Manifest, files: Collection[str]) -> str:
    path = manifest.place.path
    if examples.is_example_path(path):
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
