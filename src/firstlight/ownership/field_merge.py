"""Objects as the server makes them: one applied over another, and one without some of its fields."""

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.ownership import field_values
from firstlight.ownership.field_set import FieldSet, FieldShape, Path, plain


def merged(value: Any, wanted: Any, shape: FieldShape, *, path: Path = ()) -> Any:
    """A value with another applied over it: maps by their names, lists by what their items are, the rest replaced."""
    if shape.is_one(wanted, path):
        return wanted
    if isinstance(value, Mapping) and isinstance(wanted, Mapping):
        both = {
            name: merged(value[name], inner, shape, path=(*path, f"f:{name}")) if name in value else inner
            for name, inner in wanted.items()
        }
        return {**value, **both}
    if isinstance(value, list) and isinstance(wanted, list):
        return _merged_list(value, wanted, shape, path)
    return wanted


def without(value: Any, paths: Iterable[Path]) -> Any:
    """A value without what is at some paths; what that empties goes as well, as with the server."""
    gone = {path for path in paths if path}
    if not gone:
        return value
    if isinstance(value, Mapping):
        left = {}
        for name, inner in value.items():
            step = f"f:{name}"
            if (step,) not in gone:
                part = without(inner, (path[1:] for path in gone if path[0] == step))
                if part or not inner or not isinstance(part, Mapping | list):
                    left[name] = part
        return left
    if isinstance(value, list):
        steps = {field_values.index(value, step): step for step in {path[0] for path in gone}}
        return [
            without(inner, (path[1:] for path in gone if path[0] == steps.get(number)))
            for number, inner in enumerate(value)
            if (steps.get(number),) not in gone
        ]
    return value


def _merged_list(value: Sequence[Any], wanted: Sequence[Any], shape: FieldShape, path: Path) -> list[Any]:
    """The items of both: those of the wanted one in its order, the others about where they were."""
    old = {shape.key(item, path): item for item in value}
    new = {shape.key(item, path): item for item in wanted}
    left, right = list(old), list(new)
    shared = [key for key in right if key in old]
    done: set[str | None] = set()
    result: list[Any] = []
    # As structured-merge-diff does it; pods start their containers in this order.
    while left or right:
        if left and left[0] not in new:
            result.append(old[left.pop(0)])
        elif left and (left[0] in done or (shared and right and left[0] not in (right[0], shared[0]))):
            left.pop(0)  # it is, or comes, where the wanted one has it
        else:
            key = right.pop(0)
            done.add(key)
            shared = shared[1:] if shared and shared[0] == key else shared
            is_both = key is not None and key in old
            result.append(merged(old[key], new[key], shape, path=(*path, str(key))) if is_both else new[key])
    return result


# Objects without one of their fields: the fields that an object can do without, and the object without one.


_METADATA = ("f:annotations", "f:labels")
_DATA = ("f:data", "f:binaryData")


def omission_candidates(fields: FieldSet, *, git: Mapping[str, Any]) -> tuple[Path, ...]:
    """Fields to leave out, the most harmless first: annotations and labels, data, marks of the engine, the rest.

    What the server would put back by itself, as defaults, is among the rest.

    Args:
        fields: What the engine applies.
        git: The object as Git has it, without the marks of the engine.
    """
    found = [path for path in fields.leaves() if path[-1].startswith("f:")]
    return tuple(sorted(found, key=lambda path: (_rank(path, git), len(path), path)))


def has_field(value: Mapping[str, Any], path: Path) -> bool:
    """Whether an object has a field; a key of ``stringData`` is there as one of ``data``."""
    if path[:1] == ("f:stringData",) and has_field(value, ("f:data", *path[1:])):
        return True
    return field_values.at(value, path) is not field_values.ABSENT


def without_field(value: Mapping[str, Any], path: Path) -> dict[str, Any] | None:
    """An object without a field; None if it does not have it. A map that had nothing else goes with it."""
    at = plain(path)
    if field_values.at(value, at) is field_values.ABSENT:
        return None
    left: dict[str, Any] = without(value, [at])
    while len(at) > 1 and at[-2].startswith("f:") and not field_values.at(left, at[:-1]):
        at = at[:-1]
        left = without(left, [at])
    return left


def _rank(path: Path, git: Mapping[str, Any]) -> int:
    if path[0] == "f:metadata" and len(path) == 3 and path[1] in _METADATA:
        return 0 if has_field(git, path) else 2
    if path[0] in _DATA and len(path) == 2:
        return 1
    return 3


# Objects with what an engine adds to them by itself: defaults that it knows, and structs that it leaves empty.
#
# Flux reads what Git has into the types of Kubernetes and writes it out again. So it owns the protocol of a port that
# names none, and a strategy that is empty, although Git has neither.


def with_engine_extras(
    value: Mapping[str, Any], live: Mapping[str, Any], extra: FieldSet, *, are_structs_empty: bool
) -> dict[str, Any] | None:
    """An object with more fields, valued as they are live; None where one has no place in it.

    Args:
        value: As Git has it, with the marks of the engine.
        live: As it is.
        extra: What the engine owns besides.
        are_structs_empty: Whether a struct that is owned as a whole was empty when it was applied; the server may have
            put defaults into it. A map that is one value was not.
    """
    whole: dict[str, Any] = copy.deepcopy(dict(value))
    for path in extra.leaves():
        found = field_values.at(live, path)
        if path[-1] == "." and path[-2].startswith("f:"):
            found = {}  # what is in it comes with paths of its own
        elif isinstance(found, Mapping) and are_structs_empty:
            found = {}
        elif found is field_values.ABSENT:
            found = None
        if not _set(whole, plain(path), found):
            return None
    return whole


def _set(whole: dict[str, Any], path: Path, value: Any) -> bool:
    at: Any = whole
    for step in path[:-1]:
        if step.startswith("f:") and isinstance(at, dict):
            at = at.setdefault(step[2:], {})
        else:
            number = field_values.index(at, step)
            if number is None:
                return False
            at = at[number]
    last = path[-1]
    if not last.startswith("f:"):
        return field_values.index(at, last) is not None
    if not isinstance(at, dict):
        return False
    at.setdefault(last[2:], copy.deepcopy(value))
    return True
