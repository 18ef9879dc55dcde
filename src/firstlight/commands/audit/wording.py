"""Several names in one sentence."""

import datetime
import re
from collections.abc import Iterable, Mapping
from typing import Any


def listed_names(names: Iterable[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    several = list(names)
    more = f" and {len(several) - most} more" if len(several) > most else ""
    return ", ".join(several[:most]) + more


def first_name(names: Iterable[str]) -> str:
    """The first name, and how many more there are."""
    return listed_names(names, 1)


# Whether something is said anywhere inside of a value, whatever its form is.


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


# Days as people write them in annotations, comments and records.


_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?")


def parse_day(written: Any) -> datetime.date | None:
    """The day of a text such as 2026-01-31 or 2026-01-31T08:00:00Z; None where it is none."""
    match = _DAY.fullmatch(str(written))
    try:
        return datetime.date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
