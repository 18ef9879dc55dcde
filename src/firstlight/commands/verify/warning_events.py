"""Warning events since a moment, alike ones together, the worst first. They fail nothing: a start is never silent."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.document import conditions
from firstlight.document.within import number, text
from firstlight.model.verdict import Passed, VerificationCheck

_SHOWN = 8
_LONGEST = 160


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class WarningGroup:
    """Warnings of one reason about one kind of object in one namespace."""

    reason: str
    kind: str
    namespace: str
    objects: int
    count: int
    last: float
    message: str
    """The newest."""


async def check(client: kube.Client, *, since: float, now: float) -> VerificationCheck:
    """What was warned of."""
    listing = await client.list("v1", "Event", fields="type=Warning")
    groups = grouped(listing.items, since=since)
    if not groups:
        return VerificationCheck(name="warnings", verdict=Passed(f"none in {_ago(now - since)}"))
    lines = [_line(each, now) for each in groups[:_SHOWN]]
    if len(groups) > _SHOWN:
        lines.append(f"and {len(groups) - _SHOWN} more; kubectl get events -A --field-selector type=Warning")
    return VerificationCheck(name="warnings", verdict=Passed(summed(groups, since=since, now=now)), detail=tuple(lines))


def summed(groups: Sequence[WarningGroup], *, since: float, now: float) -> str:
    """How many there were, and of how many kinds some came lately."""
    total = sum(each.count for each in groups)
    still = sum(now - each.last < 60 for each in groups)
    lately = f"{still or 'none'} of {len(groups)} kinds" if len(groups) > 1 else "also" if still else "none"
    return f"{total} in {_ago(now - since)}, {lately} in the last minute"


def grouped(events: Iterable[Mapping[str, Any]], *, since: float) -> tuple[WarningGroup, ...]:
    """Alike ones together; first what touches the most, then what was said most often, then the newest."""
    found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for event in events:
        if text(event, "type") == "Warning" and _last(event) >= since:
            of = event.get("involvedObject")
            key = (text(event, "reason"), text(of, "kind"), text(of, "namespace"))
            found.setdefault(key, []).append(event)
    groups = [
        WarningGroup(
            reason=reason,
            kind=kind,
            namespace=namespace,
            objects=len({text(each, "involvedObject", "name") for each in each_of}),
            count=sum(_count(each) for each in each_of),
            last=max(map(_last, each_of)),
            message=text(max(each_of, key=_last), "message"),
        )
        for (reason, kind, namespace), each_of in found.items()
    ]
    return tuple(sorted(groups, key=lambda each: (-each.objects, -each.count, -each.last, each.reason)))


def _count(event: Mapping[str, Any]) -> int:
    return max(number(event, "count"), number(event, "series", "count"), 1)


def _last(event: Mapping[str, Any]) -> float:
    """When it was seen last; old and new events write it in different places."""
    times = (
        text(event, "lastTimestamp"),
        text(event, "series", "lastObservedTime"),
        text(event, "eventTime"),
        text(event, "metadata", "creationTimestamp"),
    )
    return max((conditions.moment(each) or 0.0 for each in times), default=0.0)


def _line(group: WarningGroup, now: float) -> str:
    where = f" in {group.namespace}" if group.namespace else ""
    about = f"{group.objects} {group.kind}{'s' if group.objects > 1 else ''}{where}"
    message = " ".join(group.message.split())
    shown = message if len(message) <= _LONGEST else f"{message[: _LONGEST - 1]}…"
    return f"{group.count}× {group.reason}, {about}, {_ago(now - group.last)} ago: {shown}"


def _ago(seconds: float) -> str:
    if seconds < 100:
        return f"{max(0, seconds):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
