"""Objects without one of their fields: the fields that an object can do without, and the object without one."""

from collections.abc import Mapping
from typing import Any

from firstlight.ownership import field_merging, field_values
from firstlight.ownership.field_set import FieldSet, Path, plain

_METADATA = ("f:annotations", "f:labels")
_DATA = ("f:data", "f:binaryData")


def candidates(fields: FieldSet, *, git: Mapping[str, Any]) -> tuple[Path, ...]:
    """Fields to leave out, the most harmless first: annotations and labels, data, marks of the engine, the rest.

    What the server would put back by itself, as defaults, is among the rest.

    Args:
        fields: What the engine applies.
        git: The object as Git has it, without the marks of the engine.
    """
    found = [path for path in fields.leaves() if path[-1].startswith("f:")]
    return tuple(sorted(found, key=lambda path: (_rank(path, git), len(path), path)))


def has(value: Mapping[str, Any], path: Path) -> bool:
    """Whether an object has a field; a key of ``stringData`` is there as one of ``data``."""
    if path[:1] == ("f:stringData",) and has(value, ("f:data", *path[1:])):
        return True
    return field_values.at(value, path) is not field_values.ABSENT


def without(value: Mapping[str, Any], path: Path) -> dict[str, Any] | None:
    """An object without a field; None if it does not have it. A map that had nothing else goes with it."""
    at = plain(path)
    if field_values.at(value, at) is field_values.ABSENT:
        return None
    left: dict[str, Any] = field_merging.without(value, [at])
    while len(at) > 1 and at[-2].startswith("f:") and not field_values.at(left, at[:-1]):
        at = at[:-1]
        left = field_merging.without(left, [at])
    return left


def _rank(path: Path, git: Mapping[str, Any]) -> int:
    if path[0] == "f:metadata" and len(path) == 3 and path[1] in _METADATA:
        return 0 if has(git, path) else 2
    if path[0] in _DATA and len(path) == 2:
        return 1
    return 3
