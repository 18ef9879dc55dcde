"""Objects as an engine applies them: Git's render with the engine's own marks."""

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.engines import engine_marks
from firstlight.model import argocd_names, flux_names, helm_names
from firstlight.model.component import ObjectId
from firstlight.model.owner import ObjectOwner, Party
from firstlight.ownership import field_values, ignore_paths, normal_values, stray_fields
from firstlight.ownership.field_values import ABSENT, Path
from firstlight.ownership.ignored_fields import IgnoreRules
from firstlight.ownership.stray_fields import Stray, Writer

RELEASE = (helm_names.RELEASE_NAME_ANNOTATION, helm_names.RELEASE_NAMESPACE_ANNOTATION)
"""The annotations by which Helm knows what is of a release."""
MARKS = frozenset((
    *(f"{group}/{part}" for group in engine_marks.FLUX for part in ("name", "namespace")), *RELEASE,
    argocd_names.TRACKING_ID_ANNOTATION,
))  # fmt: skip
"""All labels and annotations that are an engine's own."""
_HELD = (*RELEASE, "config.k8s.io/owning-inventory")
"""What Helm and Talos put on what they bring."""
_LABELS = {kind: group for group, kind in engine_marks.FLUX.items()}
_OF_DATA = (flux_names.KUSTOMIZATION, flux_names.FLUX_INSTANCE, flux_names.RESOURCE_SET)


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
    if _is_of_data(owner) or not normal_values.is_given(wanted):
        return ()
    return tuple(sorted(mapping(wanted, "stringData")))


def hold(value: dict[str, Any], live: Mapping[str, Any], *, is_helms: bool) -> None:
    """Put on the marks of Helm or Talos, where the live object has them."""
    seen = mapping(live, "metadata", "annotations")
    if held := {name: seen[name] for name in _HELD if name in seen}:
        value["metadata"]["annotations"] = {**mapping(value, "metadata", "annotations"), **held}
    if is_helms and mapping(live, "metadata", "labels").get(helm_names.MANAGED_BY_LABEL) == helm_names.MANAGED_BY_HELM:
        value["metadata"]["labels"] = {
            **mapping(value, "metadata", "labels"),
            helm_names.MANAGED_BY_LABEL: helm_names.MANAGED_BY_HELM,
        }


def _is_of_data(owner: ObjectOwner) -> bool:
    """Whether an owner makes ``data`` of what is ``stringData``: Flux's own applier does, and bootstrap."""
    return owner.party == Party.BOOTSTRAP or owner.name.partition(" ")[0] in _OF_DATA


def _marks(
    value: Mapping[str, Any], owner: ObjectOwner, live: Mapping[str, Any], definition: Mapping[str, Any]
) -> tuple[dict[str, str], dict[str, str]]:
    """The labels and the annotations of an owner."""
    kind, _, called = owner.name.partition(" ")
    namespace, _, name = called.rpartition("/")
    if kind == argocd_names.APPLICATION:
        return _argocd(value, called, live)
    if kind == "release":
        seen = mapping(live, "metadata", "annotations")
        marks = {mark: str(seen.get(mark) or each) for mark, each in zip(RELEASE, (name, namespace), strict=True)}
        return {helm_names.MANAGED_BY_LABEL: helm_names.MANAGED_BY_HELM}, marks
    if kind not in _LABELS:
        return {}, {}
    labels = {f"{_LABELS[kind]}/name": name, f"{_LABELS[kind]}/namespace": namespace}
    if kind != flux_names.HELM_RELEASE:
        return labels, {}
    seen = mapping(live, "metadata", "annotations")
    if value.get("kind") == "CustomResourceDefinition" and RELEASE[0] not in seen:
        return labels, {}  # those of a chart's own directory are no part of its release
    declared = (engine_marks.release_name(definition) or name, text(definition, "spec", "targetNamespace") or namespace)
    annotations = {mark: str(seen.get(mark) or each) for mark, each in zip(RELEASE, declared, strict=True)}
    return {**labels, helm_names.MANAGED_BY_LABEL: helm_names.MANAGED_BY_HELM}, annotations


def _argocd(value: Mapping[str, Any], app: str, live: Mapping[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    labels, annotations = mapping(live, "metadata", "labels"), mapping(live, "metadata", "annotations")
    tracked = str(annotations.get(argocd_names.TRACKING_ID_ANNOTATION) or "")
    found = {name: str(labels[name]) for name in engine_marks.INSTANCES if labels.get(name) == app}
    if tracked.partition(":")[0].rpartition("_")[2] == app.rpartition("/")[2]:
        own = {name: each for name, each in found.items() if name == engine_marks.INSTANCES[0]}
        return own, {argocd_names.TRACKING_ID_ANNOTATION: tracked}
    if found:
        return found, {}
    id = ObjectId.of(value)
    if id.kind == "CustomResourceDefinition":
        return {}, {}  # Argo CD knows them by their names alone
    return {}, {argocd_names.TRACKING_ID_ANNOTATION: f"{app}:{id.group}/{id.kind}:{id.namespace}/{id.name}"}


# An object as it is applied without what a repo declares to be others': such fields stay as and whose they are.


def form_without_others(
    value: Mapping[str, Any], live: Mapping[str, Any], after: Mapping[str, Any], *, ignored: IgnoreRules, manager: str
) -> dict[str, Any]:
    """What is applied: without ignored fields that are not the manager's, and with the live value of those that are.

    To leave out a field that the manager has applied before would remove it.

    Args:
        value: The object as its manager applies it.
        live: As it is.
        after: What a dry run of that apply makes of it: its ``managedFields`` tell what was applied.
        ignored: What is declared.
        manager: Who applies it.
    """
    made: dict[str, Any] = copy.deepcopy(dict(value))
    everybody = stray_fields.writers_of(live)
    own = [each for each in everybody if each.manager == manager and each.operation == "Apply"]
    applied = [each for each in stray_fields.writers_of(after) if each.manager == manager and each.operation == "Apply"]
    leaves = {path for each in applied for path in each.fields.leaves()}
    for leaf in sorted(leaves, key=lambda each: (len(_bare(each)), each)):
        if _is_others(leaf, ignored, (value, live), everybody):
            path = _bare(leaf)
            _put(made, path, field_values.at(live, path) if any(each.has(path) for each in own) else ABSENT)
    # What it applied once and Git has no more would go, too.
    for leaf in sorted({path for each in own for path in each.fields.leaves()} - leaves):
        if leaf[-1] != "." and _is_others(leaf, ignored, (value, live), everybody):
            _add(made, leaf, field_values.at(live, leaf))
    return made


def strays_without_others(
    found: Iterable[Stray], live: Mapping[str, Any], *, value: Mapping[str, Any], ignored: IgnoreRules
) -> tuple[Stray, ...]:
    """Those of fields beside Git's that are nobody else's by declaration, wholly or in part.

    Args:
        found: All of them.
        live: The object as it is.
        value: The object as its manager applies it.
        ignored: What is declared.
    """
    if ignored.is_merged:
        return ()
    everybody = stray_fields.writers_of(live)
    return tuple(each for each in found if not _is_others(each.path, ignored, (value, live), everybody))


def _is_others(
    leaf: Path, ignored: IgnoreRules, values: Iterable[Mapping[str, Any]], everybody: Iterable[Writer]
) -> bool:
    """Whether a field is ignored, or, of one that goes as a whole, something in it."""
    path, is_one = _bare(leaf), leaf[-1] != "."
    if is_one and any(each.manager in ignored.managers and each.has(path) for each in everybody):
        return True
    return any(
        ignore_paths.covers(steps, path, value=each)
        or (is_one and ignore_paths.rest(steps, path, value=each) is not None)
        for steps in ignored.paths
        for each in values
    )


def _bare(path: Path) -> Path:
    return tuple(step for step in path if step != ".")


def _add(made: dict[str, Any], path: Path, value: Any) -> None:
    """A value at a path, with what leads there."""
    holder: Any = made
    for step, following in zip(path, (*path[1:], ""), strict=True):
        found = field_values.child(holder, step)
        if found is ABSENT:
            inner: Any = [] if following[:2] in ("k:", "v:") else {}
            found = inner if following else copy.deepcopy(value)
            if found is ABSENT or not isinstance(holder, list if step[:2] in ("k:", "v:") else dict):
                return
            if isinstance(holder, dict):
                holder[step[2:]] = found
            else:
                found = {**json.loads(step[2:])} if step.startswith("k:") and following else found
                holder.append(found)
        holder = found


def _put(made: dict[str, Any], path: Path, value: Any) -> None:
    """A value at a path that leads somewhere, or nothing there any more."""
    *above, last = path
    holder = field_values.at(made, above)
    if field_values.child(holder, last) is ABSENT:
        return
    key: Any = last[2:] if last.startswith("f:") else field_values.index(holder, last)
    if value is ABSENT:
        del holder[key]
    else:
        holder[key] = copy.deepcopy(value)
