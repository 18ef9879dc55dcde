"""What all controllers write alike: conditions, generations, times. Whatever stands there, nothing here raises."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import at, mapping, number, sequence, text
from firstlight.model.component import ObjectId
from firstlight.model.handover import MARK
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

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


def condition_since(value: Any, kind: str) -> float | None:
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
    return Waiting(f"{what}{when}{why}", has_cause=bool(usually))


# Objects that speak by conditions, judged as kstatus does, with one difference: silence is not readiness.
#
# To kstatus an object without conditions is current, so that one whose controller never ran looks ready.


EXPECTED = ("Ready", "Available", "Healthy", "Accepted")
"""Conditions that controllers write when they are content; the first that is there counts."""


def absent(identity: ObjectId, *, is_served: bool, usually: str = "") -> Waiting:
    """The verdict of an object that is not there, with what usually causes it."""
    name = str(identity)
    if not is_served:
        return Waiting(f"{name}: the server does not know the kind {identity.kind} yet; usually its CRD is missing")
    return Waiting(f"{name} is not there yet" + (f"; usually {usually}" if usually else ""))


def judged_ready(value: Mapping[str, Any], name: str, *, now: float, expected: Sequence[str] = EXPECTED) -> Verdict:
    """The verdict of an object that is there."""
    if (unsettled := settled(value, name, now=now)) is not None:
        return unsettled
    for kind in expected:
        found = condition(value, kind)
        if not found:
            continue
        observed, generation = at(found, "observedGeneration"), at(value, "metadata", "generation")
        if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
            return _unseen(name, now)
        if text(found, "status") == "True":
            return Passed(name)
        return waiting(told_condition(name, found), now=now, since=condition_since(value, kind))
    usually = "its controller does not run, or has not come to it"
    if not at(value, "status", "conditions"):
        return waiting(f"{name} has no conditions yet", now=now, since=created(value), usually=usually)
    wanted = " or ".join(expected)
    return waiting(f"{name} has no condition {wanted}", now=now, since=created(value), usually=usually)


def settled(value: Mapping[str, Any], name: str, *, now: float) -> Verdict | None:
    """What holds for all kinds before their conditions count: going, not yet seen, stalled, at work; else None."""
    if is_going(value):
        since = moment(text(value, "metadata", "deletionTimestamp"))
        usually = "a finalizer whose controller does not run"
        return waiting(f"{name} is being deleted", now=now, since=since, usually=usually)
    if not is_seen(value):
        return _unseen(name, now)
    if is_true(value, "Stalled"):
        return Failed(f"{name} is stalled: {_stalled(value)}")
    if is_true(value, "Reconciling"):
        at_work = condition(value, "Reconciling")
        ready = condition(value, "Ready")
        # While it tries again, the last failure is in Ready; what it is doing tells less.
        tells = ready if text(ready, "status") == "False" else at_work
        return waiting(told_condition(name, tells), now=now, since=condition_since(value, "Ready"))
    return None


def told_condition(name: str, condition: Mapping[str, Any]) -> str:
    """A condition in words: its message, or its reason."""
    message = said(text(condition, "message")) or text(condition, "reason") or "no reason given"
    is_false = text(condition, "status") == "False"
    return f"{name} is not {text(condition, 'type')}: {message}" if is_false else f"{name}: {message}"


def _stalled(value: Mapping[str, Any]) -> str:
    """Why it gave up, and what failed last."""
    words = [said(text(condition(value, each), "message")) for each in ("Stalled", "Ready")]
    return ": ".join(dict.fromkeys(each for each in words if each)) or "no reason given"


def _unseen(name: str, now: float) -> Waiting:
    usually = "its controller does not run"
    return waiting(f"{name}: its controller has not seen the last change", now=now, usually=usually)


# What an engine's object that rests for a handover says of it: the handover was not finished, and how it is.


def unfinished_handover(value: Mapping[str, Any], name: str) -> Verdict | None:
    """The verdict on something that firstlight has suspended; None if it has not.

    Args:
        value: As it is now.
        name: What it is called.
    """
    if not (run := text(value, "metadata", "annotations", MARK)):
        return None
    return Waiting(
        f"{name} is suspended for a handover that was not finished ({MARK}: {run}): "
        "run firstlight handover or firstlight up again, and it is resumed"
    )
