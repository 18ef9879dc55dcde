"""Overrides as text: who rests, until when, what was changed, and what comes next."""

import datetime
from collections.abc import Sequence

from firstlight.drawing import safe, table
from firstlight.model.override import (
    AppliedChange,
    EmergencyPath,
    EmergencyRoute,
    Override,
    OverrideStanding,
    OverrideStatus,
)

RED, RESET = "\x1b[31m", "\x1b[0m"
_NEXT = {
    EmergencyPath.RECOVERY: "bring the cluster back first: firstlight recover tells what is broken, and the ways back",
    EmergencyPath.OVERRIDE: "an override: the engine is held still, and the fix is applied past it",
    EmergencyPath.EXPEDITED: "an expedited change of Git: firstlight change start --expedited; --anyway "
    "begins an override",
}
_MOST = 8


def route(found: EmergencyRoute) -> list[str]:
    """The flowchart as it was walked."""
    lines = [
        f"  {question}? {'yes' if is_yes else 'no'}: {safe.name(seen)}" for question, is_yes, seen in found.answers
    ]
    return [*lines, f"  so: {_NEXT[found.path]}"]


def status(
    seen: Sequence[OverrideStatus], *, cluster: str, now: float, is_coloured: bool = False, columns: int = 0
) -> str:
    """Every override that is open, or that there was."""
    if not seen:
        return f"no override is open in {safe.name(cluster)}"
    blocks = [_block(each, now=now, is_coloured=is_coloured) for each in seen]
    lines = [line for number, block in enumerate(blocks) for line in ([""] if number else []) + block]
    return "\n".join(table.cut(each, columns) if columns else each for each in lines)


def expiry(override: Override, now: float) -> str:
    """When it expires, for people."""
    if override.is_over:
        return f"{override.standing} {clock(override.ended)}"
    left = override.until - now
    if left <= 0:
        return f"EXPIRED since {_span(-left)}: anybody may end or abort it"
    return f"{override.standing}, expires in {_span(left)} ({clock(override.until)})"


def line(override: Override, now: float) -> str:
    """One override on one line."""
    return (
        f"override {override.id} of {safe.name(override.who)}: {safe.name(override.reason)} ({expiry(override, now)})"
    )


def clock(at: float) -> str:
    """A time for people."""
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")


def next_step(seen: OverrideStatus, now: float) -> str:
    """What comes next."""
    override = seen.override
    if seen.is_copy:
        return "the API does not answer; this is what was known here: firstlight doctor"
    if override.is_over:
        return ""
    if override.is_cut_off:
        return f"it was cut off: firstlight override end --id {override.id} finishes it, and so does whatever writes"
    if not override.changes and override.is_expired(now):
        return "firstlight override abort: nothing was changed"
    if not override.changes:
        return "firstlight override apply -f FILE"
    if seen.is_compared and not seen.differences:
        return "firstlight override end: Git has it"
    return "firstlight override align brings it into Git, then end; or abort"


def _block(seen: OverrideStatus, *, now: float, is_coloured: bool) -> list[str]:
    override = seen.override
    when = expiry(override, now)
    red = is_coloured and override.is_expired(now)
    rests = [f"{each}{' (it does not rest any more)' if str(each) in seen.awake else ''}" for each in override.held]
    rows = [
        ["standing", f"{RED}{when}{RESET}" if red else when],
        ["emergency", f"{override.emergency}: {override.reason}"],
        ["by", f"{override.who}, {clock(override.begun)}"],
        ["scope", ", ".join(override.scope)],
        *([label, each] for label, each in _labels("rests" if not override.is_over else "rested", rests or ["nobody"])),
        *([label, each] for label, each in _labels("changed", _changes(override) or ["nothing"])),
        *([label, each] for label, each in _labels("not in Git", list(seen.differences[:_MOST]))),
        *([label, each] for label, each in _labels("note", list(override.notes))),
    ]
    if coming := next_step(seen, now):
        rows.append(["next", coming])
    head = f"override {override.id} of {safe.name(override.cluster)}"
    return [head, *table.render([[name, _safe(text)] for name, text in rows], indent="  ")]


def _safe(text: str) -> str:
    """Made safe, but for the colour that this module gives."""
    if text.startswith(RED) and text.endswith(RESET):
        return f"{RED}{safe.name(text[len(RED) : -len(RESET)])}{RESET}"
    return safe.name(text)


def _labels(label: str, lines: Sequence[str]) -> list[tuple[str, str]]:
    return [(label if not number else "", each) for number, each in enumerate(lines)]


def _changes(override: Override) -> list[str]:
    found = []
    for each in override.changes:
        what = "deleted" if each.is_deleted else "created" if each.is_new else ", ".join(each.fields) or "as it was"
        found.append(f"{each.object}: {what}")
    return [*dict.fromkeys(found)]


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{int(seconds)} s"


def changes(found: Sequence[AppliedChange]) -> list[str]:
    """What was just changed past Git."""
    lines = []
    for each in found:
        what = (
            "deleted" if each.is_deleted else "created" if each.is_new else ", ".join(each.fields) or "was so already"
        )
        lines.append(f"  {safe.name(str(each.object))}   {safe.name(what)}")
    return lines


def ended(override: Override, *, incident: str) -> str:
    """What came of an end or an abort."""
    word = "ended" if override.standing is OverrideStanding.ENDED else "aborted"
    how = ", Git's form is back" if override.is_discarded else ""
    lines = [f"override {override.id} {word}{how}"]
    lines += [f"  note     {safe.name(each)}" for each in override.notes]
    lines.append(f"  record   {safe.name(incident)}")
    review = f"firstlight override review {override.cluster} --id {override.id} fills in the cause and the follow-ups"
    return "\n".join([*lines, f"  next     {safe.name(review)}"])
