"""Which lists of the built-in kinds are merged item by item, and by which fields their items are told apart.

The facts are those of Kubernetes's own API description (``x-kubernetes-patch-merge-key``). A list that is not here is
replaced as a whole, and so is every list of a custom resource.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from firstlight.repo.kustomize.resources import Gvk, KustomizationError


@dataclasses.dataclass(frozen=True, slots=True)
class MergeShape:
    """What there is to know of an object: its fields, and for a list of mappings the keys of its items."""

    fields: Mapping[str, "MergeShape"] = dataclasses.field(default_factory=dict)
    keys: tuple[str, ...] | None = None
    """Of a list that is merged; empty where its items are plain texts."""


UNKNOWN_SHAPE = MergeShape()


def _merged(*keys: str, **fields: MergeShape) -> MergeShape:
    return MergeShape(fields, keys)


def _nested(**fields: MergeShape) -> MergeShape:
    return MergeShape(fields)


_CONTAINER = {
    "env": _merged("name"),
    "ports": _merged("containerPort", "protocol"),
    "volumeDevices": _merged("devicePath"),
    "volumeMounts": _merged("mountPath"),
}
_METADATA = _nested(finalizers=_merged(), ownerReferences=_merged("uid"))
_POD = _nested(
    containers=_merged("name", **_CONTAINER),
    initContainers=_merged("name", **_CONTAINER),
    ephemeralContainers=_merged("name", **_CONTAINER),
    hostAliases=_merged("ip"),
    imagePullSecrets=_merged("name"),
    topologySpreadConstraints=_merged("topologyKey", "whenUnsatisfiable"),
    volumes=_merged("name"),
)
_TEMPLATE = _nested(metadata=_METADATA, spec=_POD)
_WORKLOAD = _nested(metadata=_METADATA, spec=_nested(template=_TEMPLATE))
_PLAIN = _nested(metadata=_METADATA)
_WEBHOOKS = _nested(metadata=_METADATA, webhooks=_merged("name"))

_KINDS: Mapping[tuple[str, str], MergeShape] = {
    ("", "Pod"): _nested(metadata=_METADATA, spec=_POD),
    ("", "PodTemplate"): _nested(metadata=_METADATA, template=_TEMPLATE),
    ("", "ReplicationController"): _WORKLOAD,
    ("", "Service"): _nested(metadata=_METADATA, spec=_nested(ports=_merged("port", "protocol"))),
    ("", "ServiceAccount"): _nested(metadata=_METADATA, secrets=_merged("name")),
    ("", "Node"): _nested(metadata=_METADATA, spec=_nested(podCIDRs=_merged())),
    ("apps", "DaemonSet"): _WORKLOAD,
    ("apps", "Deployment"): _WORKLOAD,
    ("apps", "ReplicaSet"): _WORKLOAD,
    ("apps", "StatefulSet"): _WORKLOAD,
    ("batch", "Job"): _WORKLOAD,
    ("batch", "CronJob"): _nested(metadata=_METADATA, spec=_nested(jobTemplate=_WORKLOAD)),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): _WEBHOOKS,
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): _WEBHOOKS,
    ("storage.k8s.io", "CSINode"): _nested(metadata=_METADATA, spec=_nested(drivers=_merged("name"))),
}

_GROUPS = {
    "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling", "batch",
    "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
    "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
}  # fmt: skip


def shape_of(gvk: Gvk) -> MergeShape:
    """What is known of a kind."""
    known = _KINDS.get((gvk.group, gvk.kind))
    if known is not None:
        return known
    return _PLAIN if gvk.group in _GROUPS or (not gvk.group and gvk.version == "v1") else UNKNOWN_SHAPE


# Lists whose items are told apart by several fields, such as ports: merged as kustomize does it, step by step.
#
# It is not simple, and where only one side names the protocol of a port, what the patch says gets lost. What comes
# out is what a cluster gets, so the steps are those of kustomize's own ``walk`` package, in plain lists.


MergeKeys = Sequence[str]


def merged_by_keys(
    target: Sequence[Any], patch: Sequence[Any], keys: MergeKeys, *, merge: Callable[[Any, Any], Any], removed: object
) -> list[Any]:
    """A list with a patch merged into it.

    Args:
        target: The list, which is not changed.
        patch: What is merged.
        keys: The fields that tell items apart.
        merge: Merges an item of the patch into one of the list, or into nothing.
        removed: What that gives where the patch removes the item.
    """
    old = [dict(each) if isinstance(each, dict) else each for each in target]
    known = list(dict.fromkeys(_values(each, keys) for each in (*patch, *old) if isinstance(each, dict)))
    _align(known)
    used = [key for number, key in enumerate(keys) if any(each[number] for each in known)] or list(keys)
    items: list[Any] = []
    for each in known:
        wanted = [text for key, text in zip(keys, each, strict=True) if key in used]
        named = [(key, text) for key, text in zip(used, wanted, strict=True) if text] or list(
            zip(used, wanted, strict=True)
        )
        before, after = _first(old, named), _first(patch, named)
        new = before if after is None else merge(before, after)
        if new is removed or not new:
            _put(old, None, used, wanted)
            continue
        if before is not None and new is not before:
            before.clear()
            before.update(new)
            new = before
        for key, text in zip(used, wanted, strict=True):
            if key not in new and text:
                new[key] = int(text) if text.isdecimal() else text
        _put(items, new, used, wanted)
    for item in old:
        _append(items, item, used)
    return items


def _values(item: dict[str, Any], keys: MergeKeys) -> tuple[str, ...]:
    return tuple("" if item.get(key) is None else str(item[key]) for key in keys)


def _align(known: list[tuple[str, ...]]) -> None:
    """Items that differ only in what one of them leaves out are taken for the same."""
    for first in range(len(known)):
        for second in range(len(known)):
            pairs = list(zip(known[first], known[second], strict=True))
            if any(a == b for a, b in pairs) and all(a == b or not a or not b for a, b in pairs):
                known[first] = known[second] = tuple(a or b for a, b in pairs)


def _first(items: Sequence[Any], named: Sequence[tuple[str, str]]) -> Any:
    for item in items:
        if isinstance(item, dict) and all(key in item and str(item[key]) == text for key, text in named):
            return item
    return None


def _append(items: list[Any], item: Any, keys: MergeKeys) -> None:
    texts = []
    for key in keys:
        if isinstance(item, dict) and item.get(key) is not None:
            texts.append(str(item[key]))
        else:
            items.append(item)
    if len(keys) > 1:
        _put(items, None, keys, texts)
    _put(items, item, keys, texts)


def _put(items: list[Any], new: Any, keys: MergeKeys, texts: MergeKeys) -> None:
    """Replace the items with these keys, or remove them; what is new to the list goes to its end."""
    kept: list[Any] = []
    is_found = False
    for item in items:
        if item is None or item == {}:
            continue
        if not isinstance(item, dict):
            kept.append(item)
        elif not _matches(item, keys, texts):
            kept += [item] if texts else []
        else:
            is_found = True
            kept += [] if new is None else [new]
    items[:] = kept
    if new is not None and not is_found:
        items.append(new)


def _matches(item: dict[str, Any], keys: MergeKeys, texts: MergeKeys) -> bool:
    """Whether an item has the keys; fields for which no text is left are not looked at, which is kustomize's doing."""
    if not texts:
        return False
    pairs = list(zip(keys, texts, strict=False))
    return all(item.get(key) is not None and (not text or str(item[key]) == text) for key, text in pairs)


# Strategic merge patches, as kustomize applies them.
#
# Mappings are merged, null removes, lists are replaced unless their kind says how their items are told apart; items of
# the patch come first then. ``$patch: delete`` and ``$patch: replace`` are obeyed.


REMOVED: Final = object()
"""What a merge gives where the patch takes everything away."""

_DIRECTIVE = "$patch"


def merge(target: Mapping[str, Any], patch: Mapping[str, Any], *, shape: MergeShape) -> Any:
    """An object with a patch merged into it; neither is changed.

    Raises:
        Problem: The patch has a mapping where the object has a list, or the like.
    """
    return _mapping(target, patch, shape)


def _value(target: Any, patch: Any, shape: MergeShape, path: str) -> Any:
    if target is None:
        return _added(patch, shape)
    kinds = {type(each) if isinstance(each, dict | list) else str for each in (target, patch)}
    if len(kinds) > 1:
        raise KustomizationError("kustomize-patch-wrong", f"the patch has something of another kind at {path}")
    if isinstance(patch, dict):
        return _mapping(target, patch, shape)
    if isinstance(patch, list) and shape.keys is not None:
        return _items(target, patch, shape)
    return patch


def _mapping(target: Mapping[str, Any], patch: Mapping[str, Any], shape: MergeShape) -> Any:
    match patch.get(_DIRECTIVE):
        case "delete":
            return REMOVED
        case "replace":
            return _added({name: value for name, value in patch.items() if name != _DIRECTIVE}, shape)
        case None | "merge":
            pass
        case other:
            raise KustomizationError(
                "kustomize-patch-wrong",
                f"there is no patch strategy {str(other)[:40]!r}",
                fix="write delete, replace or merge",
            )
    merged = dict(target)
    for name, value in patch.items():
        if name == _DIRECTIVE:
            continue
        new = REMOVED
        if value is not None:
            new = _value(target.get(name), value, shape.fields.get(name, UNKNOWN_SHAPE), name)
        if new is REMOVED:
            merged.pop(name, None)
        else:
            merged[name] = new
    return merged


def _added(patch: Any, shape: MergeShape) -> Any:
    """What a patch brings where nothing was: itself, without what it would have removed."""
    if isinstance(patch, dict):
        return _mapping({}, patch, shape)
    if isinstance(patch, list) and shape.keys:
        return _items([], patch, shape)
    return patch


def _items(target: list[Any], patch: list[Any], shape: MergeShape) -> Any:
    directives = [each for each in patch if isinstance(each, dict) and list(each) == [_DIRECTIVE]]
    wanted = [each for each in patch if each not in directives]
    for each in directives:
        if each[_DIRECTIVE] == "delete":
            return REMOVED
        if each[_DIRECTIVE] == "replace":
            return wanted
    if not shape.keys:
        return [*wanted, *(each for each in target if each not in wanted)]
    inner = MergeShape(shape.fields)
    if len(shape.keys) > 1:
        return merged_by_keys(
            target, wanted, shape.keys, merge=lambda old, new: _value(old, new, inner, ""), removed=REMOVED
        )
    rest = list(target)
    first = []
    for item in wanted:
        found = next((old for old in rest if _is_same(old, item, shape.keys[0])), None)
        if found is not None:
            rest.remove(found)
        new = _value(found, item, inner, "") if isinstance(item, dict) else item
        if new is not REMOVED:
            first.append(new)
    return [*first, *rest]


def _is_same(one: Any, other: Any, key: str) -> bool:
    if not isinstance(one, dict) or not isinstance(other, dict) or key not in one:
        return False
    return str(one[key]) == str(other.get(key, ""))
