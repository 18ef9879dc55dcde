"""Sets of fields, as ``managedFields`` have them, and their algebra.

A set is its owned paths. What the server writes as ``"."`` beside other fields says that the thing itself is owned, and
not only something in it; a leaf is owned itself, so it needs no ``"."``.
"""

import dataclasses
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from firstlight.ownership import apply_comparison

Path = tuple[str, ...]
"""Keys of fieldsV1: ``f:spec``, ``k:{"name":"x"}``, ``v:"a"``, ``i:0``; ``.`` at the end says the thing itself."""

ITSELF = "."


@dataclasses.dataclass(frozen=True, slots=True)
class FieldSet:
    """Some fields of an object."""

    paths: frozenset[Path] = frozenset()
    """What is owned, without ``.``; what only leads there is not in it."""

    @classmethod
    def of(cls, fields_v1: Mapping[str, Any] | None) -> "FieldSet":
        """The set that a ``fieldsV1`` says; empty if it says nothing."""
        found: set[Path] = set()
        if isinstance(fields_v1, Mapping):
            _read(fields_v1, (), found)
        return cls(frozenset(found))

    @classmethod
    def made(cls, paths: Iterable[Path]) -> "FieldSet":
        """The set of some paths, with or without ``.`` at the end."""
        return cls(frozenset(plain(path) for path in paths) - {()})

    def v1(self) -> dict[str, Any]:
        """As ``fieldsV1``."""
        written: dict[str, Any] = {}
        for path in sorted(self.paths):
            # Sorted, what leads to a path comes before it: so whoever finds something there already has a leaf.
            at = written
            for number, key in enumerate(path):
                if not at and number and path[:number] in self.paths:
                    at[ITSELF] = {}
                at = at.setdefault(key, {})
        return written

    def leaves(self) -> tuple[Path, ...]:
        """Everything that is owned, sorted; what has other owned things in it ends with ``.``."""
        above = {path[:length] for path in self.paths for length in range(1, len(path))}
        return tuple(sorted((*path, ITSELF) if path in above else path for path in self.paths))

    def has(self, path: Path) -> bool:
        """Whether a path is owned itself."""
        return plain(path) in self.paths

    def under(self, path: Path) -> "FieldSet":
        """What of it is at a path or below, the path itself included."""
        start = plain(path)
        return FieldSet(frozenset(each for each in self.paths if each[: len(start)] == start))

    def __or__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(self.paths | other.paths)

    def __and__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(self.paths & other.paths)

    def __sub__(self, other: "FieldSet") -> "FieldSet":
        return FieldSet(self.paths - other.paths)

    def __bool__(self) -> bool:
        return bool(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def plain(path: Path) -> Path:
    """A path without ``.`` at its end."""
    return path[:-1] if path and path[-1] == ITSELF else path


def path_text(path: Path) -> str:
    """A path for people: ``spec.template.spec.containers[name=web].image``."""
    text = ""
    for key in plain(path):
        sort, _, rest = key.partition(":")
        if sort == "f":
            # A name with dots, as those of annotations, would read as several fields.
            text += f"[{rest}]" if "." in rest or "/" in rest else f".{rest}" if text else rest
        elif sort == "k":
            text += f"[{_key_text(rest)}]"
        else:
            text += f"[{rest}]"
    return text


def _read(fields: Mapping[str, Any], path: Path, found: set[Path]) -> None:
    for key, value in fields.items():
        if key == ITSELF:
            if path:
                found.add(path)
        elif isinstance(value, Mapping) and value:
            _read(value, (*path, key), found)
        else:
            found.add((*path, key))


def _key_text(key: str) -> str:
    try:
        parts = json.loads(key)
    except ValueError:
        return key
    if not isinstance(parts, dict):
        return key
    return ",".join(f"{name}={value if isinstance(value, str) else json.dumps(value)}" for name, value in parts.items())


# Which fields an object has, as the server would count them; told without a schema.
#
# The schema of a kind says which lists and maps are one value, which are known by keys, and which are sets. The live
# ``managedFields`` say the same of everything that anybody owns, whoever it is. Where nobody owns anything, nothing can
# be lost either: there a list counts as one value, and a map by its names.


_DEFAULTS = {"protocol": "TCP"}
"""The one part of a key that the server fills in, in built-in kinds: that of ports."""


def managed_entries(live: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """The entries of an object's managedFields."""
    metadata = live.get("metadata")
    found = metadata.get("managedFields") if isinstance(metadata, Mapping) else None
    return tuple(each for each in found or () if isinstance(each, Mapping))


class FieldShape:
    """How the server sees the lists and maps of an object, told by all who own something of it."""

    def __init__(self, live: Mapping[str, Any]) -> None:
        self._below: dict[Path, set[str]] = {}
        self._defaults: dict[Path, dict[str, Any]] = {}
        for each in managed_entries(live):
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


def fields_of_object(value: Mapping[str, Any], shape: FieldShape) -> FieldSet:
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
            part = {each: inner for each, inner in part.items() if each not in apply_comparison.SERVERS_OWN}
            if not part:
                continue
        _add(part, (f"f:{name}",), shape, found)
    return FieldSet(frozenset(found))


def _add(value: Any, path: Path, shape: FieldShape, found: set[Path]) -> bool:
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
