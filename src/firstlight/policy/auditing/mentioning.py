"""Whether something is said anywhere inside of a value, whatever its form is."""

import re
from collections.abc import Mapping
from typing import Any

_DEEPEST = 30
_MAPPINGS = (dict, Mapping)
"""A dict is one too: to ask for that first is many times as fast."""
_INNER = (dict, list, Mapping)


def mentions(value: Any, expression: re.Pattern[str]) -> bool:
    """Whether an expression fits a key with its value, as ``key: value``, or an item of a list."""
    lines: list[str] = []
    _collect(value, lines)
    return any(map(expression.search, lines))


def _collect(value: Any, lines: list[str], deep: int = 0) -> None:
    """The lines of a value; into a list, since generators in each other take twice as long."""
    if deep > _DEEPEST:
        return
    if isinstance(value, _MAPPINGS):
        for key, each in value.items():
            if isinstance(each, _INNER):
                lines.append(f"{key}:")
                _collect(each, lines, deep + 1)
            else:
                lines.append(f"{key}: {_plain(each)}")
    elif isinstance(value, list):
        for each in value:
            _collect(each, lines, deep + 1)
    else:
        lines.append(_plain(value))


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
