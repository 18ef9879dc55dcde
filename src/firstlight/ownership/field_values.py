"""The values of an object at the paths by which ``managedFields`` tells fields, and where two objects differ there."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

Path = tuple[str, ...]
"""Keys of fieldsV1: ``f:spec``, ``k:{"name":"web"}``, ``v:"a"``."""


class Absent:
    """What is not there; null is something else."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


@dataclasses.dataclass(frozen=True, slots=True)
class Leaf:
    """One place where two objects differ: a value, or a whole that is only in one of them."""

    path: Path
    before: Any = dataclasses.field(repr=False)
    after: Any = dataclasses.field(repr=False)


def at(value: Any, path: Iterable[str]) -> Any:
    """The value at a path; ABSENT where there is none."""
    for step in path:
        value = child(value, step)
        if value is ABSENT:
            return ABSENT
    return value


def child(value: Any, step: str) -> Any:
    """The value that one key leads to; ABSENT where there is none."""
    if step == ".":
        return value
    if step.startswith("f:"):
        return value.get(step[2:], ABSENT) if isinstance(value, Mapping) else ABSENT
    number = index(value, step)
    return ABSENT if number is None else value[number]


def index(items: Any, step: str) -> int | None:
    """The position of an item of a list, by its key or its value; None where it is not in it."""
    if not isinstance(items, list):
        return None
    wanted = json.loads(step[2:]) if step[:2] in ("k:", "v:") else None
    for number, item in enumerate(items):
        if step.startswith("v:") and item == wanted:
            return number
        if isinstance(item, Mapping) and isinstance(wanted, Mapping) and _is_keyed(item, wanted):
            return number
    return None


def pointer(path: Iterable[str], value: Any) -> str:
    """A path as a JSON pointer into a value; empty where it does not lead anywhere."""
    made = ""
    for step in path:
        if step == ".":
            continue
        if child(value, step) is ABSENT:
            return ""
        name = step[2:].replace("~", "~0").replace("/", "~1") if step.startswith("f:") else str(index(value, step))
        made += f"/{name}"
        value = child(value, step)
    return made


def differences(before: Any, after: Any, owned: Iterable[Mapping[str, Any]], path: Path = ()) -> Iterator[Leaf]:
    """Where two objects differ.

    Args:
        before: The one.
        after: The other.
        owned: Field sets in the form of fieldsV1 that tell how the server sees their lists.
        path: Where they are.
    """
    if is_same(before, after):
        return
    trees = [each for each in owned if each]
    if path[-1:] in _BY_NAME:
        before, after = ({} if each is ABSENT else each for each in (before, after))
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys([*before, *after]):
            step = f"f:{name}"
            below = [each[step] for each in trees if step in each]
            yield from differences(before.get(name, ABSENT), after.get(name, ABSENT), below, (*path, step))
        return
    keys = dict.fromkeys(key for each in trees for key in each if key[:2] in ("k:", "v:"))
    if keys and isinstance(before, list) and isinstance(after, list):
        found = list(_items(before, after, trees, tuple(keys), path))
        yield from found or [Leaf(path, before, after)]
        return
    yield Leaf(path, before, after)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same; to Python alone, 1 and true are."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one is other or (one == other and isinstance(one, bool) == isinstance(other, bool))


def _items(
    before: list[Any], after: list[Any], trees: Sequence[Mapping[str, Any]], keys: tuple[str, ...], path: Path
) -> Iterator[Leaf]:
    """What differs in lists whose items have keys; nothing where only their order does, or items that nobody owns."""
    for key in keys:
        below = [each[key] for each in trees if key in each]
        yield from differences(child(before, key), child(after, key), below, (*path, key))


def _is_keyed(item: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether an item has a key; of what was not written by the server, parts may be left to it."""
    return any(name in item for name in wanted) and all(
        item[name] == value if name in item else _DEFAULTS.get(name) == value for name, value in wanted.items()
    )


_BY_NAME = (("f:annotations",), ("f:data",), ("f:labels",))
"""Maps whose entries are told one by one, also where the map is only in one of two objects."""
_DEFAULTS = {"protocol": "TCP"}
"""Parts of keys that the server adds."""
