"""Objects that speak by conditions, judged as kstatus does, with one difference: silence is not readiness.

To kstatus an object without conditions is current, so that one whose controller never ran looks ready.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import at, text
from firstlight.gates import status
from firstlight.model.component import ObjectId
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

EXPECTED = ("Ready", "Available", "Healthy", "Accepted")
"""Conditions that controllers write when they are content; the first that is there counts."""


def absent(identity: ObjectId, *, is_served: bool, usually: str = "") -> Waiting:
    """The verdict of an object that is not there, with what usually causes it."""
    name = str(identity)
    if not is_served:
        return Waiting(f"{name}: the server does not know the kind {identity.kind} yet; usually its CRD is missing")
    return Waiting(f"{name} is not there yet" + (f"; usually {usually}" if usually else ""))


def judged(value: Mapping[str, Any], name: str, *, now: float, expected: Sequence[str] = EXPECTED) -> Verdict:
    """The verdict of an object that is there."""
    if (unsettled := settled(value, name, now=now)) is not None:
        return unsettled
    for kind in expected:
        found = status.condition(value, kind)
        if not found:
            continue
        observed, generation = at(found, "observedGeneration"), at(value, "metadata", "generation")
        if isinstance(observed, int) and isinstance(generation, int) and observed < generation:
            return _unseen(name, now)
        if text(found, "status") == "True":
            return Passed(name)
        return status.waiting(told(name, found), now=now, since=status.since(value, kind))
    usually = "its controller does not run, or has not come to it"
    if not at(value, "status", "conditions"):
        return status.waiting(f"{name} has no conditions yet", now=now, since=status.created(value), usually=usually)
    wanted = " or ".join(expected)
    return status.waiting(f"{name} has no condition {wanted}", now=now, since=status.created(value), usually=usually)


def settled(value: Mapping[str, Any], name: str, *, now: float) -> Verdict | None:
    """What holds for all kinds before their conditions count: going, not yet seen, stalled, at work; else None."""
    if status.is_going(value):
        since = status.moment(text(value, "metadata", "deletionTimestamp"))
        usually = "a finalizer whose controller does not run"
        return status.waiting(f"{name} is being deleted", now=now, since=since, usually=usually)
    if not status.is_seen(value):
        return _unseen(name, now)
    if status.is_true(value, "Stalled"):
        return Failed(f"{name} is stalled: {_stalled(value)}")
    if status.is_true(value, "Reconciling"):
        at_work = status.condition(value, "Reconciling")
        ready = status.condition(value, "Ready")
        # While it tries again, the last failure is in Ready; what it is doing tells less.
        tells = ready if text(ready, "status") == "False" else at_work
        return status.waiting(told(name, tells), now=now, since=status.since(value, "Ready"))
    return None


def told(name: str, condition: Mapping[str, Any]) -> str:
    """A condition in words: its message, or its reason."""
    message = status.said(text(condition, "message")) or text(condition, "reason") or "no reason given"
    is_false = text(condition, "status") == "False"
    return f"{name} is not {text(condition, 'type')}: {message}" if is_false else f"{name}: {message}"


def _stalled(value: Mapping[str, Any]) -> str:
    """Why it gave up, and what failed last."""
    words = [status.said(text(status.condition(value, each), "message")) for each in ("Stalled", "Ready")]
    return ": ".join(dict.fromkeys(each for each in words if each)) or "no reason given"


def _unseen(name: str, now: float) -> Waiting:
    usually = "its controller does not run"
    return status.waiting(f"{name}: its controller has not seen the last change", now=now, usually=usually)
