"""What a field manager has of an object: taken out, put back as it was, or passed to somebody else."""

import copy
import json
from collections.abc import Iterable, Mapping
from typing import Any

from firstlight.model import secret_words
from firstlight.model.component import ObjectId
from firstlight.model.override import MANAGER, FieldChange
from firstlight.ownership import field_merge, field_set, field_values
from firstlight.ownership.field_set import FieldSet, Path, path_text
from firstlight.ownership.field_values import ABSENT

_OLD = ("manager", "operation", "apiVersion", "subresource")


def of(live: Mapping[str, Any], manager: str) -> FieldSet:
    """The fields that a manager owns, by whatever way it wrote them; subresources are not among them."""
    owned = FieldSet()
    for each in field_set.managed_entries(live):
        if each.get("manager") == manager and not each.get("subresource"):
            owned |= FieldSet.of(each.get("fieldsV1"))
    return owned


def leaves(owned: FieldSet) -> list[Path]:
    """The paths that have values of their own: neither what only leads to others, nor keys of items."""
    above = {path[:length] for path in owned.paths for length in range(1, len(path))}
    return sorted(each for each in owned.paths if each not in above and not _is_key(each))


def taken(live: Mapping[str, Any], owned: FieldSet) -> dict[str, Any]:
    """Only the owned part of an object, with its name: what an apply must have so that nothing is lost by it."""
    made = _taken(live, FieldSet.of(owned.v1()).paths, field_set.FieldShape(live), ())
    metadata = {name: value for name, value in (live.get("metadata") or {}).items() if name in ("name", "namespace")}
    parts = made if isinstance(made, dict) else {}
    return {
        **parts,
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        "metadata": {**parts.get("metadata", {}), **metadata},
    }


def together(live: Mapping[str, Any] | None, value: Mapping[str, Any], manager: str) -> dict[str, Any]:
    """What a manager must apply to have a value beside all that it has already."""
    if live is None:
        return dict(value)
    owned = of(live, manager)
    if not owned:
        return dict(value)
    made = field_merge.merged(taken(live, owned), value, field_set.FieldShape(live))
    assert isinstance(made, dict)
    return made


def restored(live: Mapping[str, Any], before: Mapping[str, Any], owned: FieldSet) -> dict[str, Any]:
    """An object with the owned fields as they were before: those that were not there go, the others go back."""
    gone = [path for path in owned.paths if field_values.at(before, path) is ABSENT]
    made = copy.deepcopy(field_merge.without(live, gone))
    for path in leaves(owned):
        value = field_values.at(before, path)
        if value is not ABSENT:
            _set(made, path, copy.deepcopy(value))
    assert isinstance(made, dict)
    return made


def merge_patch(live: Any, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON merge patch that makes one object of another; lists are replaced as a whole."""
    patch: dict[str, Any] = {}
    for name in {**live, **wanted}:
        if name not in wanted:
            patch[name] = None
        elif name not in live or not isinstance(wanted[name], Mapping) or not isinstance(live[name], Mapping):
            if name not in live or not field_values.is_same(live[name], wanted[name]):
                patch[name] = wanted[name]
        elif inner := merge_patch(live[name], wanted[name]):
            patch[name] = inner
    return patch


def given_back(live: Mapping[str, Any], before: Mapping[str, Any], manager: str) -> list[dict[str, Any]]:
    """The managedFields of an object whose fields are as before: a manager has nothing, the others what they had."""
    owned = of(live, manager)
    entries = _without(live, manager)
    back = {path for path in owned.paths if field_values.at(before, path) is not ABSENT}
    for old in field_set.managed_entries(before):
        if old.get("manager") == manager or old.get("subresource"):
            continue
        lost = frozenset(path for path in FieldSet.of(old.get("fieldsV1")).paths if path in back)
        if lost:
            _add(entries, old, FieldSet(lost))
    return entries


def passed(live: Mapping[str, Any], manager: str, *, to: str) -> list[dict[str, Any]] | None:
    """The managedFields of an object when all that a manager has is another one's; None if it has nothing.

    Args:
        live: The object.
        manager: Who gives.
        to: Who gets it; nobody, if it is empty.
    """
    owned = of(live, manager)
    if not any(each.get("manager") == manager for each in field_set.managed_entries(live)):
        return None
    entries = _without(live, manager)
    if not to:
        return entries
    own = [each for each in entries if each.get("manager") == to and not each.get("subresource")]
    # Where an engine applies, that is the entry by which it takes fields away again; else it updates, as Helm 3 does.
    base = next((each for each in own if each.get("operation") == "Apply"), next(iter(own), None))
    giver = next(each for each in field_set.managed_entries(live) if each.get("manager") == manager)
    _add(entries, base or {**giver, "manager": to, "operation": "Apply"}, owned)
    return entries


def owners_patch(live: Mapping[str, Any], entries: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The JSON patch that only changes who owns what; if somebody wrote the object since, the server answers 409."""
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": list(entries)},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"]},
    ]


def owners_of(live: Mapping[str, Any], path: Path) -> tuple[str, ...]:
    """Who owns what is at a path."""
    return tuple(
        str(each.get("manager"))
        for each in field_set.managed_entries(live)
        if FieldSet.of(each.get("fieldsV1")).has(path)
    )  # fmt: skip


def told(paths: Iterable[Path]) -> tuple[str, ...]:
    """Paths for people."""
    return tuple(path_text(each) for each in paths)


def _without(live: Mapping[str, Any], manager: str) -> list[dict[str, Any]]:
    return [
        dict(copy.deepcopy(each))
        for each in field_set.managed_entries(live)
        if each.get("manager") != manager or each.get("subresource")
    ]


def _add(entries: list[dict[str, Any]], like: Mapping[str, Any], more: FieldSet) -> None:
    """Add fields to the entry that is like another one, or make it."""
    for each in entries:
        if all(each.get(name) == like.get(name) for name in _OLD):
            each["fieldsV1"] = (FieldSet.of(each.get("fieldsV1")) | more).v1()
            return
    entries.append({**copy.deepcopy(dict(like)), "fieldsType": "FieldsV1", "fieldsV1": more.v1()})


def _taken(value: Any, paths: Iterable[Path], shape: field_set.FieldShape, at: Path) -> Any:
    wanted = [path for path in paths if path]
    if isinstance(value, Mapping):
        made: dict[str, Any] = {}
        for name, inner in value.items():
            below = [path[1:] for path in wanted if path[0] == f"f:{name}"]
            if below:
                is_whole = all(not path for path in below)
                made[name] = inner if is_whole else _taken(inner, below, shape, (*at, f"f:{name}"))
        return made
    if isinstance(value, list):
        items = []
        for inner in value:
            key = shape.key(inner, at)
            below = [path[1:] for path in wanted if path[0] == key]
            if below and isinstance(inner, Mapping) and key is not None and key.startswith("k:"):
                part = _taken(inner, below, shape, (*at, key))
                items.append({**{name: inner[name] for name in _key_names(key) if name in inner}, **part})
            elif below:
                items.append(inner)
        return items
    return value


def _key_names(key: str) -> list[str]:
    return list(json.loads(key[2:]))


def _set(value: Any, path: Path, new: Any) -> None:
    for step in path[:-1]:
        value = field_values.child(value, step)
        if value is ABSENT:
            return
    last = path[-1]
    if last.startswith("f:"):
        if isinstance(value, dict):
            value[last[2:]] = new
    elif (number := field_values.index(value, last)) is not None:
        value[number] = new


def _is_key(path: Path) -> bool:
    """Whether a path is an item of a list, or a part of the key of one."""
    if path[-1][:2] in ("k:",):
        return True
    return len(path) > 1 and path[-2].startswith("k:") and path[-1][2:] in _key_names(path[-2])


# What an override has changed of objects, field by field, without the values of Secrets.


HIDDEN = "(hidden)"
NOTHING = "(not there)"
_LONGEST = 200


def field_changes(
    id: ObjectId, live: Mapping[str, Any] | None, before: Mapping[str, Any] | None
) -> tuple[FieldChange, ...]:
    """Before and after of everything that the emergency manager has of an object."""
    if live is None:
        return (FieldChange(object=id, field="", before="there", after=NOTHING),) if before is not None else ()
    found = []
    if before is None and of(live, MANAGER):
        found.append(FieldChange(object=id, field="", before=NOTHING, after="there"))
    for path in leaves(of(live, MANAGER)):
        old = field_values.at(before, path) if before is not None else ABSENT
        new = field_values.at(live, path)
        name = path_text(path)
        if not field_values.is_same(old, new):
            found.append(
                FieldChange(object=id, field=name, before=shown_value(old, id, name), after=shown_value(new, id, name))
            )  # fmt: skip
    return tuple(found)


def other_writers(live: Mapping[str, Any] | None, recorded: tuple[str, ...]) -> tuple[str, ...]:
    """Fields that the override has changed and somebody else has changed since, with their new owners."""
    if live is None:
        return ()
    mine = {path_text(path) for path in of(live, MANAGER).paths}
    lost = [each for each in recorded if each not in mine]
    if not lost:
        return ()
    by_text: dict[str, str] = {}
    for entry in (live.get("metadata") or {}).get("managedFields") or ():
        paths = FieldSet.of(entry.get("fieldsV1")).paths
        by_text |= {path_text(path): str(entry.get("manager") or "") for path in paths}
    return tuple(f"{each} (by {by_text[each]})" if each in by_text else f"{each} (gone)" for each in lost)


def shown_value(value: Any, id: ObjectId, field: str = "") -> str:
    """A value for people; what is secret, or is called so, is hidden."""
    if value is ABSENT:
        return NOTHING
    if id.is_secret or secret_words.is_in_path(field):
        return HIDDEN
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
