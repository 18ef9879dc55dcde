"""Objects as the server makes them: one applied over another, and one without some of its fields."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.ownership import field_values
from firstlight.ownership.field_paths import Shape
from firstlight.ownership.field_set import Path


def merged(value: Any, wanted: Any, shape: Shape, *, path: Path = ()) -> Any:
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


def _merged_list(value: Sequence[Any], wanted: Sequence[Any], shape: Shape, path: Path) -> list[Any]:
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
