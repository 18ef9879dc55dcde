"""Two manifests compared as Kubernetes would take them: lists by their keys, quantities by their numbers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

Path = tuple[str, ...]
ABSENT = object()
"""What is not there; null is the same to Kubernetes."""

_KEYS: dict[str, tuple[tuple[str, ...], ...]] = {
    "ports": (("containerPort", "protocol"), ("port", "protocol"), ("name",)),
    "volumeMounts": (("mountPath",),),
    "volumeDevices": (("devicePath",),),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"),),
    "subjects": (("kind", "namespace", "name"),),
    "hostAliases": (("ip",),),
    "ownerReferences": (("uid",),),
    "conditions": (("type",),),
}
"""By which fields items of a list are known; where none is given it is ``name``."""
_DEFAULTS = {"protocol": "TCP"}
_SETS = {
    "resources", "resourceNames", "verbs", "apiGroups", "apiVersions", "operations", "nonResourceURLs", "add", "drop",
    "finalizers", "hostnames", "shortNames", "categories", "policyTypes", "accessModes", "rules", "tolerations",
    "imagePullSecrets", "ingress", "egress", "subjects",
}  # fmt: skip
"""Lists whose order means nothing."""
_LONGEST = 500
"""Items of a list without keys that are looked for in the other; more are compared one by one, in their order."""
_EMPTY = {
    "annotations", "labels", "resources", "limits", "requests", "securityContext", "nodeSelector", "tolerations",
    "affinity", "imagePullSecrets", "env", "envFrom", "args", "command", "volumes", "volumeMounts", "initContainers",
    "rules", "subjects", "finalizers", "data", "binaryData",
}  # fmt: skip
"""Fields that mean the same empty and absent; elsewhere an empty mapping says something, as in ``emptyDir: {}``."""
_IGNORED = {("status",), ("metadata", "creationTimestamp"), ("metadata", "managedFields")}
_DEEPEST = 100
"""Levels that are compared one by one; what is deeper is compared as a whole."""


def compare(left: Any, right: Any, path: Path = ()) -> Iterator[tuple[Path, Any, Any]]:
    """Where two values differ, with both; ABSENT where there is nothing."""
    if path in _IGNORED or _is_same(left, right, path):
        return
    if len(path) < _DEEPEST and isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in dict.fromkeys([*left, *right]):
            yield from compare(_of(left, key), _of(right, key), (*path, str(key)))
    elif len(path) < _DEEPEST and _is_list(left) and _is_list(right):
        yield from _compare_lists(left, right, path)
    else:
        yield path, left, right


def _of(mapping: Mapping[str, Any], key: str) -> Any:
    found = mapping.get(key)
    return ABSENT if found is None else found


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_same(left: Any, right: Any, path: Path) -> bool:
    if left is right:
        return True
    name = path[-1] if path else ""
    if name in _EMPTY and _is_nothing(left) and _is_nothing(right):
        return True
    if left is ABSENT or right is ABSENT:
        other = right if left is ABSENT else left
        return name in _DEFAULTS and other == _DEFAULTS[name]
    if isinstance(left, bool) or isinstance(right, bool):
        return isinstance(left, bool) and isinstance(right, bool) and left == right
    if len(path) > 1 and path[-2] in ("limits", "requests", "capacity"):
        number = quantity_value(left)
        return left == right or (number is not None and number == quantity_value(right))
    if isinstance(left, Mapping) or _is_list(left):
        return False  # told apart further down
    return type(left) is type(right) and bool(left == right)


def _is_nothing(value: Any) -> bool:
    return value is ABSENT or ((isinstance(value, Mapping) or _is_list(value)) and not value)


def _compare_lists(left: Sequence[Any], right: Sequence[Any], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    for fields in _KEYS.get(path[-1] if path else "", (("name",),)):
        ours, theirs = _keyed(left, fields), _keyed(right, fields)
        if ours is not None and theirs is not None:
            for key in dict.fromkeys([*ours, *theirs]):
                yield from compare(ours.get(key, ABSENT), theirs.get(key, ABSENT), (*path, key))
            return
    if _are_words(left) and _are_words(right):
        yield from _compare_words(left, right, path)
    else:
        yield from _compare_rest(left, right, path)


def _are_words(items: Sequence[Any]) -> bool:
    return all(isinstance(each, str) for each in items) and len({*items}) == len(items)


def _compare_words(left: Sequence[str], right: Sequence[str], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Texts that are each there once: what one side has and the other has not, else their order."""
    ours, theirs = {*left}, {*right}
    for each in dict.fromkeys([*left, *right]):
        if each not in ours or each not in theirs:
            yield (*path, f"[{each}]"), each if each in ours else ABSENT, each if each in theirs else ABSENT
    if ours == theirs and list(left) != list(right) and path[-1] not in _SETS:
        yield path, list(left), list(right)


def _compare_rest(left: Sequence[Any], right: Sequence[Any], path: Path) -> Iterator[tuple[Path, Any, Any]]:
    """Items without keys: those that are the same on both sides are taken out, the rest is compared in its order."""
    open_, found = list(range(len(right))), list[int]()
    rest = list(range(_LONGEST, len(left)))
    for index, item in enumerate(left[:_LONGEST]):
        same = next((other for other in open_ if not any(compare(item, right[other], (*path, "")))), None)
        if same is None:
            rest.append(index)
        else:
            open_.remove(same)
            found.append(same)
    rest.sort()
    if not rest and not open_:
        if found != sorted(found) and path[-1] not in _SETS:
            yield path, list(left), list(right)
        return
    for number in range(max(len(rest), len(open_))):
        one = left[rest[number]] if number < len(rest) else ABSENT
        other = right[open_[number]] if number < len(open_) else ABSENT
        index = rest[number] if number < len(rest) else open_[number]
        yield from compare(one, other, (*path, f"[{index}]"))


def _keyed(items: Sequence[Any], fields: tuple[str, ...]) -> dict[str, Any] | None:
    """Items by their keys; None where one has none, or two have the same."""
    found: dict[str, Any] = {}
    for item in items:
        if not isinstance(item, Mapping):
            return None
        values = [item.get(field, _DEFAULTS.get(field)) for field in fields]
        if values[0] is None or any(isinstance(each, Mapping | list) for each in values):
            return None
        shown = [f"{field}={each}" for field, each in zip(fields, values, strict=True) if each is not None]
        key = f"[{','.join(each for each in shown if each != 'protocol=TCP')}]"
        if key in found:
            return None
        found[key] = item
    return found


def shown(value: Any, *, limit: int = 200) -> str | None:
    """A value as short JSON; None for nothing."""
    if value is ABSENT:
        return None
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


# Quantities of Kubernetes: ``0.1`` and ``100m`` are the same.


_QUANTITY = re.compile(r"([+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20}))(?:([numkKMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,2}))?")
_POWERS = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}


def quantity_value(text: object) -> Decimal | None:
    """The number that a quantity means; None for what is none."""
    if isinstance(text, bool) or not isinstance(text, str | int | float):
        return None
    match = _QUANTITY.fullmatch(str(text))
    if match is None:
        return None
    number, suffix, exponent = Decimal(match[1]), match[2] or "", match[3]
    if exponent:
        return number.scaleb(int(exponent))
    if suffix in _BINARY:
        return number * Decimal(1024) ** _BINARY[suffix]
    return None if suffix and suffix not in _POWERS else number.scaleb(_POWERS.get(suffix, 0))
