"""The kinds of Flux, told by group and kind; versions come and go."""

import difflib
import itertools
import posixpath
from collections.abc import Mapping
from typing import Any

from firstlight.model import flux_names
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree, join

_SOURCES = {
    flux_names.GIT_REPOSITORY,
    flux_names.OCI_REPOSITORY,
    flux_names.HELM_REPOSITORY,
    flux_names.HELM_CHART,
    flux_names.BUCKET,
    flux_names.EXTERNAL_ARTIFACT,
}


def is_kustomization(manifest: Manifest) -> bool:
    """Whether it is a Kustomization of Flux, and not a file of kustomize."""
    return manifest.id.kind == flux_names.KUSTOMIZATION and manifest.id.group == flux_names.KUSTOMIZE_GROUP


def is_helm_release(manifest: Manifest) -> bool:
    """Whether it is a HelmRelease."""
    return manifest.id.kind == flux_names.HELM_RELEASE and manifest.id.group == flux_names.HELM_GROUP


def is_source(manifest: Manifest) -> bool:
    """Whether it says where something is fetched from."""
    return manifest.id.group == flux_names.SOURCE_GROUP and manifest.id.kind in _SOURCES


def is_instance(manifest: Manifest) -> bool:
    """Whether it is a FluxInstance of the flux-operator."""
    return manifest.id.kind == flux_names.FLUX_INSTANCE and manifest.id.group == flux_names.OPERATOR_GROUP


def is_resource_set(manifest: Manifest) -> bool:
    """Whether it is a ResourceSet of the flux-operator, which makes objects of templates."""
    return manifest.id.kind == flux_names.RESOURCE_SET and manifest.id.group == flux_names.OPERATOR_GROUP


def is_input_provider(manifest: Manifest) -> bool:
    """Whether it gives ResourceSets their inputs."""
    return manifest.id.kind == flux_names.INPUT_PROVIDER and manifest.id.group == flux_names.OPERATOR_GROUP


def is_artifact_generator(manifest: Manifest) -> bool:
    """Whether it makes artifacts of the files of sources."""
    return manifest.id.kind == flux_names.ARTIFACT_GENERATOR and manifest.id.group == flux_names.SOURCE_EXTENSIONS_GROUP


def mapping(value: Any) -> Mapping[str, Any]:
    """A value that should be a mapping; an empty one if it is something else."""
    return value if isinstance(value, dict) else {}


def entries(value: Any) -> list[Any]:
    """A value that should be a list; an empty one if it is something else."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """A value that should be a text, or a number that was meant as one."""
    return "" if value is None or isinstance(value, dict | list) else str(value)


def spec(manifest: Manifest) -> Mapping[str, Any]:
    """The spec of an object."""
    return mapping(manifest.value.get("spec"))


def called(manifest: Manifest) -> str:
    """An object as messages name it: ``flux-system/apps``."""
    return "/".join(each for each in (manifest.id.namespace, manifest.id.name) if each)


# Paths as Flux writes them, and what was probably meant by one that leads nowhere.


def normal_path(path: str) -> str | None:
    """A path of a Kustomization from the repo's root; Flux takes a leading slash for the root. None leads out of it."""
    return join(".", path.strip().lstrip("/") or ".")


def path_near(tree: WorkTree, path: str) -> str:
    """A directory that exists and is nearly called like one that does not; empty if there is none."""
    known, rest = "", path.split("/")
    while rest and tree.is_dir(posixpath.join(known, rest[0])):
        known = posixpath.join(known, rest.pop(0))
    if not rest:
        return ""
    beside = [each[:-1] for each in tree.listing(known or ".") if each.endswith("/")]
    for name in difflib.get_close_matches(rest[0], beside, n=3):
        found = posixpath.join(known, name, *rest[1:])
        if tree.is_dir(found):
            return found
    name = path.rpartition("/")[2]
    elsewhere = set()
    for file in tree.files:
        at = f"/{file}".find(f"/{name}/")
        if at >= 0:
            elsewhere.add(file[: at + len(name)])
    if elsewhere:
        return min(elsewhere, key=lambda each: (-_common_end(each, path), len(each), each))
    closest = difflib.get_close_matches(rest[0], beside, n=1)
    return posixpath.join(known, closest[0]) if closest else ""


def _common_end(one: str, other: str) -> int:
    pairs = zip(reversed(one.split("/")), reversed(other.split("/")), strict=False)
    return len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)))
