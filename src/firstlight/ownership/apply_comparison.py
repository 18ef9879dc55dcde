"""Whether a server-side apply would change anything, told from the live object alone.

What a manager applied last stands in ``managedFields``: so the fields of an object and those of its manager's entry are
walked together, with the live values beside them. The entry also tells how the server sees lists and maps: as one
value, or by their items. "Equal" is said only where everything agrees. Whatever is written in another way than it comes
back (defaults inside of atomic values, unusual quantities, nulls) is a doubt, which a dry run clears up.

A webhook that would change an object anew although nobody wants it changed is not foreseen.
"""

import dataclasses
import enum
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.ownership import field_values, normal_values

SERVERS_OWN = frozenset(
    {"name", "namespace", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation",
     "managedFields", "resourceVersion", "selfLink", "uid"}
)  # fmt: skip
"""Metadata that the server keeps out of everybody's fields."""

BUILT_IN = frozenset(
    {"", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps", "autoscaling",
     "batch", "certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "flowcontrol.apiserver.k8s.io",
     "networking.k8s.io", "node.k8s.io", "policy", "rbac.authorization.k8s.io", "scheduling.k8s.io", "storage.k8s.io"}
)  # fmt: skip
"""Groups whose kinds are Go types of the server, with the defaults and the spelling of those."""


class Likeness(enum.StrEnum):
    """What an apply would do to a live object."""

    EQUAL = "equal"
    """Nothing."""
    DOUBT = "doubt"
    """Perhaps something: only the server knows."""
    DIFFERENT = "different"
    """Something for sure: the manager does not own anything of it yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class ApplyComparison:
    """What an apply would do, and the first field that says so."""

    likeness: Likeness
    where: str = ""


_EQUAL = ApplyComparison(Likeness.EQUAL)


def compare(
    wanted: Mapping[str, Any], live: Mapping[str, Any], *, manager: str, has_status: bool = True
) -> ApplyComparison:
    """What an apply of an object by a manager would do to the live one.

    Args:
        wanted: What would be applied.
        live: The object, read in the same version.
        manager: Who would apply it.
        has_status: Whether the status is a subresource, so that an apply of the object leaves it alone.
    """
    owned = _entry(live, manager, str(wanted.get("apiVersion") or ""))
    fields = _fields(wanted, has_status=has_status)
    if owned is None:
        # Who wants no more than a name owns nothing, and the server keeps no entry of that.
        return ApplyComparison(Likeness.DIFFERENT, f"{manager} owns nothing of it yet") if fields else _EQUAL
    group, _, _ = str(wanted.get("apiVersion") or "").rpartition("/")
    kind = str(wanted.get("kind") or "") if group in BUILT_IN else ""
    where = _map(fields, normal_values.with_given(live, wanted), owned, (kind,))
    return _EQUAL if where is None else ApplyComparison(Likeness.DOUBT, ".".join(where[1:]))


def is_same(before: Mapping[str, Any], after: Mapping[str, Any], *, has_status: bool = True) -> bool:
    """Whether a dry run left an object as it was, owners included; only times do not count."""
    one, other = _essence(before, has_status), _essence(after, has_status)
    return field_values.is_same(one[0], other[0]) and one[1] == other[1]


def changes(before: Mapping[str, Any], after: Mapping[str, Any], *, has_status: bool = True) -> tuple[str, ...]:
    """The names of fields that a dry run would change, without their values; empty if only owners change."""
    found: list[str] = []
    _collect(_body(before, has_status), _body(after, has_status), "", found)
    return tuple(found)


def _entry(live: Mapping[str, Any], manager: str, api_version: str) -> Mapping[str, Any] | None:
    for each in (live.get("metadata") or {}).get("managedFields") or ():
        if (
            each.get("manager") == manager
            and each.get("operation") == "Apply"
            and not each.get("subresource")
            and each.get("apiVersion") == api_version
        ):
            fields = each.get("fieldsV1")
            return fields if isinstance(fields, Mapping) else {}
    return None


def _fields(wanted: Mapping[str, Any], *, has_status: bool) -> dict[str, Any]:
    """Those parts of an object that can be somebody's."""
    left = {"apiVersion", "kind", *(("status",) if has_status else ())}
    fields = {name: value for name, value in wanted.items() if name not in left}
    metadata = fields.pop("metadata", None)
    if isinstance(metadata, Mapping):
        own = {name: value for name, value in metadata.items() if name not in SERVERS_OWN}
        if own:
            fields["metadata"] = own
    return fields


_Path = tuple[str, ...]


def _value(wanted: Any, live: Any, owned: Mapping[str, Any], path: _Path) -> _Path | None:
    """Where a value is in doubt; None if nowhere."""
    if not owned:
        # One value as a whole: a scalar, something empty, or a list or map that the server treats as one.
        return None if normal_values.is_same(wanted, live, path) else path
    if isinstance(wanted, Mapping) and isinstance(live, Mapping):
        return _map(wanted, live, owned, path)
    if isinstance(wanted, list) and isinstance(live, list):
        return _list(wanted, live, owned, path)
    return path


def _map(
    wanted: Mapping[str, Any], live: Mapping[str, Any], owned: Mapping[str, Any], path: _Path, *, is_item: bool = False
) -> _Path | None:
    names = {f"f:{name}" for name in wanted} | ({"."} if is_item else set())
    if names != set(owned):
        odd = min(names ^ set(owned))
        return (*path, odd.removeprefix("f:"))
    for name, value in wanted.items():
        where = _value(value, live.get(name), owned[f"f:{name}"], (*path, str(name)))
        if where is not None:
            return where
    return None


def _list(wanted: Sequence[Any], live: Sequence[Any], owned: Mapping[str, Any], path: _Path) -> _Path | None:
    keys = [each for each in owned if each != "."]
    if len(keys) != len(wanted) or "." in owned:
        return path
    if all(key.startswith("v:") for key in keys):
        values = [json.loads(key[2:]) for key in keys]
        is_fine = all(any(field_values.is_same(each, one) for one in values) for each in wanted)
        is_fine = is_fine and _in_order(wanted, live)
        return None if is_fine else path
    if not all(key.startswith("k:") for key in keys):
        return path
    places = []
    left = {key: json.loads(key[2:]) for key in keys}
    for item in wanted:
        key = _key_of(item, left)
        if key is None:
            return path
        parts = left.pop(key)
        at = [number for number, each in enumerate(live) if _has(each, parts)]
        if len(at) != 1:
            return path
        places.append(at[0])
        where = _map(item, live[at[0]], owned[key], (*path, "/".join(map(str, parts.values()))), is_item=True)
        if where is not None:
            return where
    return None if places == sorted(places) else path


def _key_of(item: Any, keys: Mapping[str, Mapping[str, Any]]) -> str | None:
    """The key of an item; parts of it that the item does not have are defaults of the server."""
    if not isinstance(item, Mapping):
        return None
    fitting = [
        key
        for key, parts in keys.items()
        if any(name in item for name in parts)
        and all(name not in item or item[name] == value for name, value in parts.items())
    ]
    return fitting[0] if len(fitting) == 1 else None


def _has(item: Any, parts: Mapping[str, Any]) -> bool:
    return isinstance(item, Mapping) and all(item.get(name) == value for name, value in parts.items())


def _in_order(wanted: Sequence[Any], live: Iterable[Any]) -> bool:
    rest = iter(live)
    return all(any(field_values.is_same(each, other) for other in rest) for each in wanted)


def _body(value: Mapping[str, Any], has_status: bool) -> dict[str, Any]:
    metadata = {
        name: each
        for name, each in (value.get("metadata") or {}).items()
        if name not in ("managedFields", "resourceVersion", "generation")
    }
    return {**value, "metadata": metadata, **({"status": None} if has_status else {})}


def _essence(value: Mapping[str, Any], has_status: bool) -> tuple[dict[str, Any], list[str]]:
    owners = [
        json.dumps({name: each for name, each in entry.items() if name != "time"}, sort_keys=True)
        for entry in (value.get("metadata") or {}).get("managedFields") or ()
        if not entry.get("subresource")
    ]
    return _body(value, has_status), sorted(owners)


def _collect(before: Any, after: Any, path: str, found: list[str]) -> None:
    if field_values.is_same(before, after) or len(found) >= 20:
        return
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted({*before, *after}):
            _collect(before.get(name), after.get(name), f"{path}.{name}" if path else name, found)
    else:
        found.append(path)
