"""Patches of a kustomization: found, understood, and applied to the objects that they are for."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.diagnostic import Severity
from firstlight.model.place import Place
from firstlight.repo.kustomize import json_patch, object_loader, selectors, strategic_merge
from firstlight.repo.kustomize.resources import KustomizationError, KustomizeResource
from firstlight.repo.manifest import Manifest

_NOWHERE = Place("")


@dataclasses.dataclass(frozen=True, slots=True)
class KustomizePatch:
    """One entry of ``patches``: what changes, and where."""

    documents: tuple[Any, ...] = dataclasses.field(repr=False)
    """What the patch says, document by document."""
    target: Mapping[str, Any] | None = None
    allow_name_change: bool = False
    allow_kind_change: bool = False

    @property
    def operations(self) -> Sequence[Any] | None:
        """Those of a JSON patch; None for a strategic merge."""
        return self.documents[0] if self.documents and isinstance(self.documents[0], list) else None


def apply(resources: Sequence[KustomizeResource], patch: KustomizePatch) -> list[KustomizeResource]:
    """Objects with a patch applied to those that it is for.

    Raises:
        Problem: It is for none, or cannot be applied.
    """
    if patch.operations is not None:
        return _json(resources, patch, patch.operations)
    merges = [_checked(each) for each in patch.documents]
    if not merges:
        raise KustomizationError("kustomize-patch-wrong", "the patch is empty")
    if patch.target is not None:
        if len(merges) > 1:
            raise KustomizationError("kustomize-patch-wrong", "a patch with a target may hold one document only")
        chosen = {id(each) for each in selectors.select(resources, patch.target)}
        patched = [_merged(each, merges[0], patch) if id(each) in chosen else each for each in resources]
        return [each for each in patched if each is not None]
    found = list(resources)
    for each in merges:
        found = _by_name(found, each, patch)
    return found


def _json(
    resources: Sequence[KustomizeResource], patch: KustomizePatch, operations: Sequence[Any]
) -> list[KustomizeResource]:
    if not patch.target:
        raise KustomizationError("kustomize-patch-wrong", "a JSON patch needs a target")
    chosen = {id(each) for each in selectors.select(resources, patch.target)}
    found = []
    for resource in resources:
        if id(resource) in chosen:
            value = json_patch.apply(resource.value, operations)
            if not isinstance(value, dict):
                raise KustomizationError("kustomize-patch-wrong", "the patch makes something else of an object")
            found.append(resource.remembering().changed(value))
        else:
            found.append(resource)
    return found


def _checked(document: Any) -> Mapping[str, Any]:
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not document.get("kind"):
        raise KustomizationError(
            "kustomize-patch-wrong", "a strategic merge patch needs apiVersion, kind and metadata.name"
        )
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise KustomizationError(
            "kustomize-patch-wrong",
            "a strategic merge patch needs metadata.name, even where a target says what it is for",
        )
    return document


def _by_name(
    resources: Sequence[KustomizeResource], patch: Mapping[str, Any], entry: KustomizePatch
) -> list[KustomizeResource]:
    wanted = KustomizeResource(patch, Manifest(patch, _NOWHERE)).id
    found = [each for each in resources if each.is_called(wanted)]
    if len(found) != 1:
        name = f"{wanted.gvk.kind} {wanted.namespace}/{wanted.name}".replace("_non_namespaceable_/", "")
        if found:
            raise KustomizationError(
                "kustomize-patch-target-ambiguous", f"several objects are called {name} for the patch"
            )
        raise KustomizationError(
            "kustomize-patch-target-missing",
            f"no object is called {name} for the patch",
            fix=_near(wanted.name, resources),
        )
    patched = [_merged(each, patch, entry) if each is found[0] else each for each in resources]
    return [each for each in patched if each is not None]


def _near(name: str, resources: Sequence[KustomizeResource]) -> str:
    same = sorted(
        {f"{e.gvk.kind} {f'{e.namespace}/' if e.namespace else ''}{e.name}" for e in resources if e.name == name}
    )
    return f"there is {', '.join(same[:3])}" if same else ""


def _merged(resource: KustomizeResource, patch: Mapping[str, Any], entry: KustomizePatch) -> KustomizeResource | None:
    """An object with a merge applied; None where it removes the object."""
    if entry.allow_name_change or entry.allow_kind_change:
        resource = resource.remembering()
    value = strategic_merge.merge(resource.value, patch, shape=strategic_merge.shape_of(resource.gvk))
    if value is strategic_merge.REMOVED:
        return None
    metadata = dict(value.get("metadata") or {})
    if not entry.allow_name_change:
        metadata["name"] = resource.metadata.get("name")
    metadata.pop("namespace", None)
    if "namespace" in resource.metadata:
        metadata["namespace"] = resource.metadata["namespace"]
    kind = value.get("kind") if entry.allow_kind_change else resource.value.get("kind")
    kept = {"kind": kind, "metadata": metadata}
    if "apiVersion" in resource.value:
        kept["apiVersion"] = resource.value["apiVersion"]
    return resource.changed({**value, **kept})


@functools.lru_cache(maxsize=512)
def parsed(text: str) -> tuple[Any, ...]:
    """The documents of an inline patch; some repos have the same one in every second file.

    Raises:
        Problem: It is no YAML.
    """
    contents = yaml_reader.read(text.encode(), "patch", dialect=object_loader.DIALECT)
    broken = next((each for each in contents.diagnostics if each.severity == Severity.ERROR), None)
    if broken is not None and not contents.documents:
        raise KustomizationError(
            "kustomize-patch-wrong", f"the patch cannot be read: line {broken.place.line} of it: {broken.message}"
        )
    if contents.documents and isinstance(contents.documents[0].value, list):
        contents = yaml_reader.read(text.encode(), "patch")  # JSON patches are read as Kubernetes reads
    return tuple(each.value for each in contents.documents)
