"""Which fields an object has, as the server would count them; told without a schema.

The schema of a kind says which lists and maps are one value, which are known by keys, and which are sets. The live
``managedFields`` say the same of everything that anybody owns, whoever it is. Where nobody owns anything, nothing can
be lost either: there a list counts as one value, and a map by its names.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from firstlight.ownership import comparing
from firstlight.ownership.field_set import FieldSet, Path

_DEFAULTS = {"protocol": "TCP"}
"""The one part of a key that the server fills in, in built-in kinds: that of ports."""


def entries(live: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The entries of an object's managedFields."""
    metadata = live.get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    return tuple(each for each in found or () if isinstance(each, Mapping))


class Shape:
    """How the server sees the lists and maps of an object, told by all who own something of it."""

    def __init__(self, live: Mapping[str, Any]) -> None:
        self._below: dict[Path, set[str]] = {}
        self._defaults: dict[Path, dict[str, Any]] = {}
        for each in entries(live):
            paths = FieldSet.of(each.get("fieldsV1")).paths
            for path in paths:
                for length in range(len(path)):
                    self._below.setdefault(path[:length], set()).add(path[length])
            if each.get("operation") == "Apply":
                self._learn(paths)

    def inside(self, value: Any, path: Path) -> Iterator[tuple[str, Any]]:
        """The parts of a value that count by themselves, with their keys; none if it is one value.

        An item of a list whose key is not sure is not among them.
        """
        if not self.is_one(value, path):
            if isinstance(value, Mapping):
                yield from ((f"f:{name}", inner) for name, inner in value.items())
            else:
                for inner in value:
                    key = self.key(inner, path)
                    if key is not None:
                        yield key, inner

    def is_one(self, value: Any, path: Path) -> bool:
        """Whether a value counts as a whole."""
        if isinstance(value, Mapping):
            # Where nobody tells, structures are the rule.
            return bool(path) and self.is_known(path)
        return not (isinstance(value, list) and self._keys(path))

    def is_known(self, path: Path) -> bool:
        """Whether somebody owns what is at a path as a whole."""
        return not self._keys(path) and path[-1] in self._keys(path[:-1])

    def key(self, item: Any, path: Path) -> str | None:
        """The key of an item of the list at a path; None if it has none that is sure."""
        parts = next((_parts(key) for key in self._keys(path) if key.startswith("k:")), None)
        if parts is None:
            return f"v:{_written(item)}"
        defaults = {**_DEFAULTS, **self._defaults.get(path, {})}
        if not isinstance(item, Mapping) or not all(name in item or name in defaults for name in parts):
            return None
        return "k:" + _written({name: item.get(name, defaults.get(name)) for name in parts})

    def _keys(self, path: Path) -> Collection[str]:
        return self._below.get(path, ())

    def _learn(self, paths: Iterable[Path]) -> None:
        # Who applied an item without a part of its key owns the item and not that part: so the server filled it in.
        known = set(paths)
        for path in known:
            if path[-1].startswith("k:"):
                for name, value in _parts(path[-1]).items():
                    if (*path, f"f:{name}") not in known:
                        self._defaults.setdefault(path[:-1], {})[name] = value


def of(value: Mapping[str, Any], shape: Shape) -> FieldSet:
    """The fields of an object, and all that leads to them: names of structures, items of lists.

    Args:
        value: The live object, or another form of it.
        shape: That of the live one.
    """
    found: set[Path] = set()
    for name, part in value.items():
        if name in ("apiVersion", "kind"):
            continue
        if name == "metadata" and isinstance(part, Mapping):
            part = {each: inner for each, inner in part.items() if each not in comparing.SERVERS_OWN}
            if not part:
                continue
        _add(part, (f"f:{name}",), shape, found)
    return FieldSet(frozenset(found))


def _add(value: Any, path: Path, shape: Shape, found: set[Path]) -> bool:
    """Add a value and what is in it; False if it counts as nothing."""
    if shape.is_one(value, path) or not value:
        if _is_hollow(value) and not (isinstance(value, list) and shape.is_known(path)):
            return False
        found.add(path)
        return True
    # All of them, not only up to the first.
    has_parts = any([_add(inner, (*path, key), shape, found) for key, inner in shape.inside(value, path)])
    if has_parts or path[-1].startswith("k:"):
        found.add(path)
    return has_parts


def _is_hollow(value: Any) -> bool:
    """Whether there is nothing in a value but empty lists, which nobody can own where items count."""
    if isinstance(value, Mapping):
        return bool(value) and all(_is_hollow(each) for each in value.values())
    return isinstance(value, list) and not value


def _written(value: Any) -> str:
    """A value as the server writes it into a key."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, sort_keys=True)


def _parts(key: str) -> dict[str, Any]:
    try:
        parts = json.loads(key.partition(":")[2])
    except ValueError:
        return {}
    return parts if isinstance(parts, dict) else {}
