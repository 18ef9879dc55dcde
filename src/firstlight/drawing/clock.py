"""Times for people: how long, and when."""

import datetime

_DAY = 86400


def span(seconds: float) -> str:
    """How long: ``41s``, ``1m02s``, ``3h05m``, ``2d04h``."""
    if not 0 <= seconds < 1e9:  # also what is no number
        return "0s" if not seconds > 0 else "ages"
    whole = int(seconds)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d{hour:02d}h"
    if hours:
        return f"{hours}h{minute:02d}m"
    return f"{minutes}m{second:02d}s" if minutes else f"{second}s"


def moment(at: float) -> str:
    """When, for programs and logs: ``2026-11-16T06:30:00Z``."""
    found = _time(at)
    return f"{found:%Y-%m-%dT%H:%M:%SZ}" if found else "?"


def day(at: float) -> str:
    """When, for people: ``2026-11-16 06:30 UTC``."""
    found = _time(at)
    return f"{found:%Y-%m-%d %H:%M} UTC" if found else "?"


def ago(at: float, *, now: float) -> str:
    """When, and how long that is ago: ``2026-11-16 06:30 UTC, 2d04h ago``."""
    if at > now + 60:
        return f"{day(at)}, which is still to come by the clock here"
    return f"{day(at)}, {span(now - at)} ago"


def _time(at: float) -> datetime.datetime | None:
    try:
        return datetime.datetime.fromtimestamp(at, datetime.UTC)
    except (OverflowError, OSError, ValueError):
        return None
