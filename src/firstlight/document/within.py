"""The way into values of strangers' manifests: what has another form than it must is taken for nothing."""

from collections.abc import Mapping, Sequence
from typing import Any


def at(value: Any, *path: str) -> Any:
    """The value at a path of keys; None where there is none."""
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def mapping(value: Any, *path: str) -> Mapping[str, Any]:
    """The mapping at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, Mapping) else {}


def sequence(value: Any, *path: str) -> Sequence[Any]:
    """The list at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, Sequence) and not isinstance(found, str | bytes) else ()


def text(value: Any, *path: str) -> str:
    """The text at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Any, *path: str) -> int:
    """The whole number at a path, or 0."""
    found = at(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0
