"""How differences of fields are told: values as short JSON, and whose they are."""

import json
from collections.abc import Sequence
from typing import Any

from firstlight.model.drift import FieldDifference
from firstlight.ownership.field_values import ABSENT

AWAY = "on it keeps the engine away"
"""What is said of a mark by which an object keeps its engine from it."""
LONGEST = 200
"""Characters of a value that are shown."""


def value(found: Any) -> str:
    """A value as short JSON; empty for nothing."""
    if found is ABSENT:
        return ""
    text = json.dumps(found, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def changed(fields: Sequence[FieldDifference], manager: str) -> str:
    """What is said of fields with another value than Git has."""
    others = sorted({each.manager for each in fields if each.manager and each.manager != manager})
    count = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
    if others:
        return f"{count} changed by {', '.join(others)}"
    if all(each.manager == manager for each in fields):
        return f"{count} that {manager} applied with another value than Git has now"
    return f"{count} differ{'' if len(fields) > 1 else 's'}"


def not_owned(fields: Sequence[FieldDifference], manager: str) -> str:
    """What is said of fields with the right value that are not the manager's."""
    owners = sorted({each.manager for each in fields if each.manager})
    count = f"{len(fields)} field{'s' if len(fields) > 1 else ''} of Git"
    verb = "are" if len(fields) > 1 else "is"
    return f"{count} {verb} owned by {', '.join(owners) or 'nobody'}, not by {manager}"
