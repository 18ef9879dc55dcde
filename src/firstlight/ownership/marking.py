"""Objects as an engine applies them: Git's render with the engine's own marks."""

import copy
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner, Party
from firstlight.ownership import engine_marks, normal_values, string_data

RELEASE = ("meta.helm.sh/release-name", "meta.helm.sh/release-namespace")
"""The annotations by which Helm knows what is of a release."""
MARKS = frozenset((
    *(f"{group}/{part}" for group in engine_marks.FLUX for part in ("name", "namespace")), *RELEASE,
    engine_marks.TRACKING,
))  # fmt: skip
"""All labels and annotations that are an engine's own."""
_HELD = (*RELEASE, "config.k8s.io/owning-inventory")
"""What Helm and Talos put on what they bring."""
_LABELS = {kind: group for group, kind in engine_marks.FLUX.items()}
_OF_DATA = ("Kustomization", "FluxInstance", "ResourceSet")
_MANAGED_BY = "app.kubernetes.io/managed-by"


def marked(
    wanted: Mapping[str, Any],
    owner: ObjectOwner,
    *,
    live: Mapping[str, Any] | None = None,
    definition: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """An object as its owner applies it.

    Args:
        wanted: As Git has it.
        owner: Who of the engine has it.
        live: The object in the cluster, whose marks are taken where it has them: how a release is called and how
            Argo CD tracks are settings of those.
        definition: The owner as Git declares it: what its release is called, where no live object tells.
    """
    form = normal_values.without_string_data(wanted) if _is_of_data(owner) else wanted
    value = {name: copy.deepcopy(part) for name, part in form.items() if name != "status"}
    labels, annotations = _marks(value, owner, live or {}, definition or {})
    metadata = value["metadata"] = dict(mapping(value, "metadata"))
    for name, marks in (("labels", labels), ("annotations", annotations)):
        if marks:
            metadata[name] = {**mapping(metadata, name), **marks}
    return value


def lingering(wanted: Mapping[str, Any], owner: ObjectOwner) -> tuple[str, ...]:
    """Keys of a Secret that stay in the cluster when Git has them no more, since nobody can own them.

    Helm and Argo CD apply ``stringData`` as it is written: what it becomes is nobody's. Written as ``data`` it is
    theirs.
    """
    if _is_of_data(owner) or not string_data.is_given(wanted):
        return ()
    return tuple(sorted(mapping(wanted, "stringData")))


def hold(value: dict[str, Any], live: Mapping[str, Any], *, is_helms: bool) -> None:
    """Put on the marks of Helm or Talos, where the live object has them."""
    seen = mapping(live, "metadata", "annotations")
    if held := {name: seen[name] for name in _HELD if name in seen}:
        value["metadata"]["annotations"] = {**mapping(value, "metadata", "annotations"), **held}
    if is_helms and mapping(live, "metadata", "labels").get(_MANAGED_BY) == "Helm":
        value["metadata"]["labels"] = {**mapping(value, "metadata", "labels"), _MANAGED_BY: "Helm"}


def _is_of_data(owner: ObjectOwner) -> bool:
    """Whether an owner makes ``data`` of what is ``stringData``: Flux's own applier does, and bootstrap."""
    return owner.party == Party.BOOTSTRAP or owner.name.partition(" ")[0] in _OF_DATA


def _marks(
    value: Mapping[str, Any], owner: ObjectOwner, live: Mapping[str, Any], definition: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and the annotations of an owner."""
    kind, _, called = owner.name.partition(" ")
    namespace, _, name = called.rpartition("/")
    if kind == "Application":
        return _argocd(value, called, live)
    if kind == "release":
        seen = mapping(live, "metadata", "annotations")
        marks = {mark: str(seen.get(mark) or each) for mark, each in zip(RELEASE, (name, namespace), strict=True)}
        return {_MANAGED_BY: "Helm"}, marks
    if kind not in _LABELS:
        return {}, {}
    labels = {f"{_LABELS[kind]}/name": name, f"{_LABELS[kind]}/namespace": namespace}
    if kind != "HelmRelease":
        return labels, {}
    seen = mapping(live, "metadata", "annotations")
    if value.get("kind") == "CustomResourceDefinition" and RELEASE[0] not in seen:
        return labels, {}  # those of a chart's own directory are no part of its release
    declared = (engine_marks.release_name(definition) or name, text(definition, "spec", "targetNamespace") or namespace)
    annotations = {mark: str(seen.get(mark) or each) for mark, each in zip(RELEASE, declared, strict=True)}
    return {**labels, _MANAGED_BY: "Helm"}, annotations


def _argocd(value: Mapping[str, Any], app: str, live: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    tracked = str(annotations.get(engine_marks.TRACKING) or "")
    found = {name: str(labels[name]) for name in engine_marks.INSTANCES if labels.get(name) == app}
    if tracked.partition(":")[0].rpartition("_")[2] == app.rpartition("/")[2]:
        own = {name: each for name, each in found.items() if name == engine_marks.INSTANCES[0]}
        return own, {engine_marks.TRACKING: tracked}
    if found:
        return found, {}
    id = ObjectId.of(value)
    if id.kind == "CustomResourceDefinition":
        return {}, {}  # Argo CD knows them by their names alone
    return {}, {engine_marks.TRACKING: f"{app}:{id.group}/{id.kind}:{id.namespace}/{id.name}"}
