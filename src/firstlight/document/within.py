"""The way into values of strangers' manifests: what has another form than it must is taken for nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

_MAPPINGS = (dict, Mapping)
"""A dict is one too: to ask for that first is many times as fast."""


def at(value: Any, *path: str | int) -> Any:
    """The value at a path of keys, and of places in lists; None where there is none."""
    for step in path:
        if isinstance(value, _MAPPINGS):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and -len(value) <= step < len(value):
            value = value[step]
        else:
            return None
    return value


def mapping(value: Any, *path: str | int) -> Mapping[str, Any]:
    """The mapping at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, _MAPPINGS) else {}


def sequence(value: Any, *path: str | int) -> Sequence[Any]:
    """The list at a path, or an empty one."""
    found = at(value, *path)
    is_list = isinstance(found, list) or (isinstance(found, Sequence) and not isinstance(found, str | bytes))
    return found if is_list else ()


def text(value: Any, *path: str | int) -> str:
    """The text at a path, or an empty one."""
    found = at(value, *path)
    return found if isinstance(found, str) else ""


def number(value: Any, *path: str | int) -> int:
    """The whole number at a path, or 0."""
    found = at(value, *path)
    return found if isinstance(found, int) and not isinstance(found, bool) else 0
