"""What all controllers write alike: conditions, generations, times. Whatever stands there, nothing here raises."""

import datetime
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.model.verdict import Waiting

_LONGEST = 240
"""Characters of a controller's message that are told."""


def condition(value: Any, kind: str) -> Mapping[str, Any]:
    """A condition of an object by its type; empty if it has none."""
    for each in sequence(value, "status", "conditions"):
        if text(each, "type") == kind:
            return mapping(each)
    return {}


def is_true(value: Any, kind: str) -> bool:
    """Whether an object has a condition, and it is True."""
    return text(condition(value, kind), "status") == "True"


def is_false(value: Any, kind: str) -> bool:
    """Whether an object has a condition, and it is False."""
    return text(condition(value, kind), "status") == "False"


def since(value: Any, kind: str) -> float | None:
    """Since when a condition is what it is."""
    return moment(text(condition(value, kind), "lastTransitionTime"))


def created(value: Any) -> float | None:
    """Since when an object exists."""
    return moment(text(value, "metadata", "creationTimestamp"))


def is_seen(value: Any) -> bool:
    """Whether its controller has seen the last change; one that does not say so is believed."""
    generation, observed = at(value, "metadata", "generation"), at(value, "status", "observedGeneration")
    return observed is None or generation is None or number(value, "status", "observedGeneration") >= _int(generation)


def _int(value: Any) -> int:
    return value if isinstance(value, int) else 0


def is_going(value: Any) -> bool:
    """Whether an object is being deleted."""
    return bool(at(value, "metadata", "deletionTimestamp"))


def moment(written: str) -> float | None:
    """A time as Kubernetes writes it, as seconds since the epoch."""
    try:
        found = datetime.datetime.fromisoformat(written)
        return found.replace(tzinfo=found.tzinfo or datetime.UTC).timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def clock(then: float, now: float) -> str:
    """A time for people; the day only where it is another one.

    It is no age: the same verdict must read the same a second later.
    """
    try:
        when = datetime.datetime.fromtimestamp(then, datetime.UTC)
        today = datetime.datetime.fromtimestamp(now, datetime.UTC).date()
    except (ValueError, OverflowError, OSError):
        return "an unknown time"
    return when.strftime("%H:%M:%SZ" if when.date() == today else "%Y-%m-%d %H:%M:%SZ")


def said(message: str) -> str:
    """A stranger's message on one short line."""
    words = " ".join("".join(each if each.isprintable() else " " for each in message).split()).rstrip(".")
    return words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"


def waiting(what: str, *, now: float, since: float | None = None, usually: str = "") -> Waiting:
    """A verdict that waits: on what, since when, and what usually causes it."""
    when = f", since {clock(since, now)}" if since is not None else ""
    why = f"; usually {usually}" if usually else ""
    return Waiting(f"{what}{when}{why}")
