"""Paths into objects, as people write them: ``status.members[0].state``, ``metadata.labels['example.org/name']``."""

import re
from collections.abc import Mapping
from typing import Any

_STEP = re.compile(
    r"""\.?(?P<key>[A-Za-z0-9_/-]+)|\[(?P<index>[0-9]{1,6})\]|\[(?P<quote>['"])(?P<quoted>.+?)(?P=quote)\]"""
)


def steps(path: str) -> tuple[str | int, ...] | None:
    """The steps of a path; None if it is no path."""
    found: list[str | int] = []
    at = 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None or (at > 0 and step["key"] is not None and path[at] != "."):
            return None
        index = step["index"]
        found.append(int(index) if index is not None else step["key"] or step["quoted"])
        at = step.end()
    return tuple(found) or None


def at(value: Any, path: str) -> Any:
    """The value at a path; None where there is none."""
    for step in steps(path) or ():
        if isinstance(step, int):
            value = value[step] if isinstance(value, list | tuple) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, Mapping) else None
    return value


def is_equal(value: Any, wanted: Any) -> bool:
    """Whether a value is the one that is wanted; true is not 1."""
    if isinstance(value, bool) != isinstance(wanted, bool):
        return False
    return bool(value == wanted)
