"""Values as Kubernetes writes them back: quantities, empties, and the few defaults inside of atomic values."""

import base64
import binascii
import decimal
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+))(?P<suffix>[numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?"
)
_DIGITS = 20
_FINEST = decimal.Decimal("0.001")
"""Below this the server rounds up."""
_SUFFIXES = {
    "n": "1e-9", "u": "1e-6", "m": "1e-3", "": "1", "k": "1e3", "M": "1e6", "G": "1e9", "T": "1e12",
    "P": "1e15", "E": "1e18", "Ki": str(2**10), "Mi": str(2**20), "Gi": str(2**30), "Ti": str(2**40),
    "Pi": str(2**50), "Ei": str(2**60),
}  # fmt: skip
_QUANTITIES: Mapping[str, frozenset[str]] = {
    "": frozenset({"limits", "requests"}),
    "PersistentVolume": frozenset({"capacity"}),
    "ResourceQuota": frozenset({"hard"}),
    "LimitRange": frozenset({"default", "defaultRequest", "max", "min", "maxLimitRequestRatio"}),
}
"""Maps whose values are quantities, by built-in kind, the first for all; custom resources keep them as written."""
_QUANTITY_FIELDS = frozenset({("emptyDir", "sizeLimit"), ("resourceFieldRef", "divisor")})
"""Quantities that stand alone, by what they are in: a label or a key of a ConfigMap may be called the same."""

_DEFAULTS: Mapping[tuple[str, str], Any] = {
    ("fieldRef", "apiVersion"): "v1",
    ("ports", "protocol"): "TCP",
    ("resourceFieldRef", "divisor"): "0",
    ("rules", "scope"): "*",
    ("serviceAccountToken", "expirationSeconds"): 3600,
    ("volumeClaimTemplates", "apiVersion"): "v1",
    ("volumeClaimTemplates", "kind"): "PersistentVolumeClaim",
    ("volumeClaimTemplates", "status"): {"phase": "Pending"},
    ("spec", "volumeMode"): "Filesystem",
}
"""What may be in an atomic value of a built-in kind beside what was wanted, by the field and the one it is in: the
manager owns the whole of it, so that nobody else can have put it there."""

_MAPS = frozenset({"annotations", "data", "labels", "limits", "matchLabels", "nodeSelector", "requests"})
"""What the server leaves out when it is empty; an empty struct may be there, or may have been null before."""

_ZEROES: Mapping[str, Any] = {
    "hostIPC": False, "hostNetwork": False, "hostPID": False, "initialDelaySeconds": 0, "minReadySeconds": 0,
    "paused": False, "publishNotReadyAddresses": False, "readOnly": False, "stdin": False, "stdinOnce": False,
    "subPath": "", "tty": False, "value": "",
}  # fmt: skip
"""What the server leaves out of built-in kinds: Go's zero values of fields that are no pointers."""

_OMITTED: Mapping[str, Any] = {
    "nullable": False, "uniqueItems": False, "exclusiveMinimum": False, "exclusiveMaximum": False, "description": "",
    "x-kubernetes-int-or-string": False, "x-kubernetes-embedded-resource": False, "priority": 0, "deprecated": False,
}  # fmt: skip
"""The same of the versions of a CRD."""


class _Nothing:
    """No default."""


def without_string_data(wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """A Secret whose ``stringData`` is part of its ``data``, as Flux applies it; other objects as they are.

    Applied as it is, ``stringData`` would be owned and the ``data`` that it becomes would not.
    """
    given = wanted.get("stringData")
    if wanted.get("kind") != "Secret" or wanted.get("apiVersion") != "v1" or not isinstance(given, Mapping):
        return wanted
    encoded = {name: base64.b64encode(str(value).encode()).decode() for name, value in given.items()}
    data = wanted.get("data")
    fields = {name: value for name, value in wanted.items() if name != "stringData"}
    return {**fields, "data": {**(data if isinstance(data, Mapping) else {}), **encoded}}


def is_same(wanted: Any, live: Any, path: Sequence[str]) -> bool:
    """Whether a value is what the server makes of the one that is wanted, as far as that is known.

    Args:
        wanted: A scalar, something empty, or a whole that the server does not look into.
        live: What is there.
        path: The kind of the object, empty for a custom resource, then the names of the fields.
    """
    if isinstance(wanted, Mapping):
        if not isinstance(live, Mapping):
            return not wanted and live is None and path[-1] in _MAPS and (bool(path[0]) or path[1] == "metadata")
        return _is_same_map(wanted, live, path)
    if isinstance(wanted, list):
        if not isinstance(live, list):
            return not wanted and live is None and bool(path[0])
        return len(wanted) == len(live) and all(
            is_same(one, other, path) for one, other in zip(wanted, live, strict=True)
        )
    if wanted is None:
        return live is None
    if live is None:
        return _is_omitted(wanted, path)
    if isinstance(wanted, bool) or isinstance(live, bool):
        return wanted is live
    if wanted == live:
        return True
    if _is_quantity(path):
        one, other = quantity(wanted), quantity(live)
        return one is not None and one == other
    return False


def _is_same_map(wanted: Mapping[str, Any], live: Mapping[str, Any], path: Sequence[str]) -> bool:
    if not wanted:
        return not live
    for name, value in wanted.items():
        # The manager owns the whole, which does not tell that a null was there before; in a map of texts it is "".
        if value is None and name not in live and name != "creationTimestamp":
            return False
        if not is_same(value, live.get(name), (*path, str(name))):
            return False
    return all(name in wanted or _is_default(name, value, path) for name, value in live.items())


def _is_omitted(wanted: Any, path: Sequence[str]) -> bool:
    if not path[0]:
        return False
    zero = (_OMITTED if path[0] == "CustomResourceDefinition" else _ZEROES).get(path[-1], _Nothing)
    return wanted == zero and type(wanted) is type(zero)


def _is_default(name: str, value: Any, path: Sequence[str]) -> bool:
    if path[0] in ("", "CustomResourceDefinition"):
        return False  # what is in a custom resource or in a schema is its author's
    return bool(value == _DEFAULTS.get((path[-1], name), _Nothing))


def quantity(value: Any) -> decimal.Decimal | None:
    """The number that a quantity stands for; None if it is none, or is so fine or long that it would be rounded."""
    match = _QUANTITY.fullmatch(str(value))
    if match is None or len(match["number"]) > _DIGITS:
        return None
    suffix = match["suffix"] or ""
    factor = _SUFFIXES.get(suffix) or f"1{suffix}"
    if len(factor) > _DIGITS:
        return None
    number = decimal.Decimal(match["number"]) * decimal.Decimal(factor)
    return number if number == 0 or number >= _FINEST else None


def _is_quantity(path: Sequence[str]) -> bool:
    kind = path[0]
    if not kind or len(path) < 3:
        return False
    if (path[-2], path[-1]) in _QUANTITY_FIELDS:
        return True
    return path[-2] in _QUANTITIES[""] or path[-2] in _QUANTITIES.get(kind, ())


# Secrets that are applied with ``stringData``, as Helm and Argo CD do: the server keeps it as ``data``.
#
# Who applied it owns ``stringData`` then, which no object has, and nobody owns the ``data`` that it became. So a key
# that is left out of the next apply stays in the cluster.


_GIVEN, _KEPT = "f:stringData", "f:data"


def is_given(value: Mapping[str, Any]) -> bool:
    """Whether an object is a Secret with ``stringData``."""
    return _is_secret(value) and isinstance(value.get("stringData"), Mapping)


def with_given(live: Mapping[str, Any], wanted: Mapping[str, Any]) -> Mapping[str, Any]:
    """A live Secret with those of its keys as ``stringData`` that are wanted so; other objects as they are.

    Args:
        live: As it is.
        wanted: As it would be applied.
    """
    if not is_given(wanted):
        return live
    data = mapping(live, "data")
    given = {name: text for name in mapping(wanted, "stringData") if (text := _decoded(data.get(name))) is not None}
    return {**live, "stringData": given}


def owned_as_data(live: Mapping[str, Any]) -> Mapping[str, Any]:
    """A live Secret whose managers own the ``data`` that their ``stringData`` became; other objects as they are."""
    entries = sequence(live, "metadata", "managedFields")
    if not _is_secret(live) or not any(_GIVEN in mapping(each, "fieldsV1") for each in entries):
        return live
    made = [{**each, "fieldsV1": _as_data(mapping(each, "fieldsV1"))} for each in entries]
    return {**live, "metadata": {**mapping(live, "metadata"), "managedFields": made}}


def _as_data(fields: Mapping[str, Any]) -> dict[str, Any]:
    if _GIVEN not in fields:
        return dict(fields)
    left = {name: each for name, each in fields.items() if name != _GIVEN}
    return {**left, _KEPT: {**mapping(fields, _KEPT), **mapping(fields, _GIVEN)}}


def _is_secret(value: Mapping[str, Any]) -> bool:
    return value.get("kind") == "Secret" and value.get("apiVersion") == "v1"


def _decoded(value: Any) -> str | None:
    """The text of a key of ``data``; None if it is none."""
    try:
        return base64.b64decode(str(value), validate=True).decode() if value is not None else None
    except (binascii.Error, UnicodeDecodeError):
        return None
