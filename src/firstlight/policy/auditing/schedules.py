"""Whether a cron expression ever fires."""

import calendar
import re

_SHORTHANDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_DAYS = {name.lower(): number for number, name in enumerate(("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"))}
_PART = re.compile(r"(?P<from>\*|\?|[a-z0-9]+)(?:-(?P<to>[a-z0-9]+))?(?:/(?P<step>\d+))?", re.IGNORECASE)
_LIMITS = {"second": (0, 59), "minute": (0, 59), "hour": (0, 23), "day": (1, 31), "month": (1, 12), "weekday": (0, 7)}
_LONGEST = {2: 29, 4: 30, 6: 30, 9: 30, 11: 30}


def problem(expression: str, has_seconds: bool = False) -> str:
    """Why an expression never fires; empty if it does.

    Args:
        expression: As it is written.
        has_seconds: Whether the first of six fields is seconds, as CloudNativePG has it.
    """
    text = re.sub(r"^(?:CRON_)?TZ=\S+\s+", "", expression.strip())
    if text.startswith("@"):
        is_known = text in _SHORTHANDS or re.fullmatch(r"@every \S+", text)
        return "" if is_known else f"{text} is no shorthand of cron"
    fields = text.split()
    names = [*(["second"] if has_seconds else []), "minute", "hour", "day", "month", "weekday"]
    if has_seconds and len(fields) == len(names) - 1:
        fields.append("*")  # the day of the week may be left out there
    if len(fields) != len(names):
        return f"its schedule has {len(fields)} fields instead of {len(names)}"
    found: dict[str, set[int]] = {}
    for name, field in zip(names, fields, strict=True):
        values = _values(name, field)
        if not values:
            return f"{field} is no {name}"
        found[name] = values
    is_any_weekday = fields[-1] in ("*", "?")
    fits = any(min(found["day"]) <= _LONGEST.get(month, 31) for month in found["month"])
    # Where both are given, either of them is enough.
    return "" if fits or not is_any_weekday else "no month has such a day"


def _values(name: str, field: str) -> set[int]:
    """The numbers that a field means; none where it cannot be read."""
    low, high = _LIMITS[name]
    found: set[int] = set()
    for part in field.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            return set()
        step = int(match["step"] or 1)
        if match["from"] in ("*", "?"):
            first, last = low, high
        else:
            first = _number(name, match["from"])
            last = _number(name, match["to"]) if match["to"] else high if match["step"] else first
        if step < 1 or not low <= first <= last <= high:
            return set()
        found.update(range(first, last + 1, step))
    return found


def _number(name: str, text: str) -> int:
    if text.isdecimal():
        return int(text)
    return {"month": _MONTHS, "weekday": _DAYS}.get(name, {}).get(text.lower()[:3], -1)
