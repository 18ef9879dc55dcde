"""Days as people write them in annotations, comments and records."""

import datetime
import re
from typing import Any

_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ].*)?")


def day(written: Any) -> datetime.date | None:
    """The day of a text such as 2026-01-31 or 2026-01-31T08:00:00Z; None where it is none."""
    match = _DAY.fullmatch(str(written))
    try:
        return datetime.date.fromisoformat(match[1]) if match else None
    except ValueError:
        return None
