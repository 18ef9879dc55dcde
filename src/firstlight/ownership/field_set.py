"""Sets of fields, as ``managedFields`` have them, and their algebra.

A set is its owned paths. What the server writes as ``"."`` beside other fields says that the thing itself is owned, and
not only something in it; a leaf is owned itself, so it needs no ``"."``.
"""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

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
