"""Drift as text: what differs by component, who wrote it and when, and what to do next."""

import re
import shlex
from collections.abc import Iterator, Sequence

from firstlight.model.drift import Difference, Drift, Drifted, FieldDifference
from firstlight.report import safe, table

SHOWN = 8
"""Fields of an object that are shown; JSON has all of them."""
_MARKS = {
    Difference.CHANGED: "~ changed",
    Difference.MISSING: "- missing",
    Difference.EXTRA: "+ extra",
    Difference.WRONG_OWNER: "! wrong owner",
}

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]*")
"""Names that are no more than that to a shell and to kubectl: those of some kinds may be anything."""
_HOLDING = ("CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim")
"""Kinds whose deletion takes much else with it: nobody is told to do so."""


def text(drift: Drift, *, columns: int = 0, kept: frozenset[str] = frozenset()) -> str:
    """The whole page.

    Args:
        drift: What was found.
        columns: How wide the terminal is; 0 for no limit.
        kept: Components that bootstrap keeps.
    """
    parts = [[f"{drift.cluster}   {summary(drift)}"], _commits(drift), _notes(drift)]
    parts += [_component(name, drift, columns) for name in dict.fromkeys(each.component for each in drift.drifted)]
    parts += [[f"  {safe.name(line)}" for line in _unread(drift)], _next(drift, kept)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def summary(drift: Drift) -> str:
    """One line: how much differs, of how much."""
    what = f"{drift.compared} object{'' if drift.compared == 1 else 's'}"
    asked = f", {drift.dry_runs} asked of the server" if drift.dry_runs else ""
    ignored = f", {drift.ignored} ignored as declared" if drift.ignored else ""
    if not drift.drifted:
        found = "no drift" if not drift.unread else "no drift in what could be compared"
        return f"{found} ({what} compared{asked}{ignored})"
    counts = [
        f"{count} {each.value}"
        for each in Difference
        if (count := sum(one.difference == each for one in drift.drifted))
    ]
    return f"{', '.join(counts)} ({what} compared{asked}{ignored})"


def lines(drifted: Drifted) -> Iterator[str]:
    """One object, and its fields below it."""
    yield f"  {_MARKS[drifted.difference]}   {safe.name(str(drifted.id))}   {safe.name(drifted.says)}"
    yield from table.render([_row(each) for each in drifted.fields[:SHOWN]], indent="      ")
    if len(drifted.fields) > SHOWN:
        yield f"      and {len(drifted.fields) - SHOWN} more: --output json has all"


def news(before: Drift | None, after: Drift) -> list[str]:
    """What came and what went between two looks."""
    known = {(each.id, each.difference): each for each in before.drifted} if before is not None else {}
    now = {(each.id, each.difference): each for each in after.drifted}
    made: list[str] = []
    for key, each in now.items():
        if known.get(key) != each:
            made += [f"{each.component}:", *lines(each)]
    made += [
        f"{each.component}:\n  ✔ as Git has it   {safe.name(str(each.id))}"
        for key, each in known.items()
        if key not in now
    ]
    return made


def _component(name: str, drift: Drift, columns: int) -> list[str]:
    mine = [each for each in drift.drifted if each.component == name]
    owners = ", ".join(dict.fromkeys(each.owner for each in mine if each.owner))
    found = [f"{safe.name(name)}   {safe.name(owners)}".rstrip()]
    for each in mine:
        first, *rest = lines(each)
        found += [first, *(table.cut(line, columns) if columns else line for line in rest)]
    return found


def _row(field: FieldDifference) -> list[str]:
    wanted, live = safe.name(field.wanted), safe.name(field.live)
    change = f"{wanted or '—'} → {live or '—'}" if wanted != live else live
    by = ", ".join(each for each in (safe.name(field.manager), field.since) if each)
    return [safe.name(field.path), f"{change} ({by})".strip() if by else change]


def _commits(drift: Drift) -> list[str]:
    if not drift.applied:
        return [f"  commit   {drift.revision[:12]}"] if drift.revision else []
    return [
        f"  Git's render is of {drift.revision[:12]}, and the engine has applied "
        f"{safe.name('; '.join(drift.applied))}:",
        "  what differs may be no more than that, so that it is not drift yet.",
    ]


def _notes(drift: Drift) -> list[str]:
    return [f"  note     {safe.name(each)}" for each in drift.notes]


def _unread(drift: Drift) -> list[str]:
    return [f"unread   {each}" for each in drift.unread]


def _next(drift: Drift, kept: frozenset[str]) -> list[str]:
    """What to do, for what was found."""
    if drift.applied:
        return ["  next     push the commit and let the engine apply it, or check out the one that it has; then again"]
    found: list[str] = []
    by_engine = [each for each in drift.drifted if each.component not in kept]
    changed = [each for each in by_engine if each.difference in (Difference.CHANGED, Difference.MISSING)]
    if changed:
        found.append(f"firstlight drift {drift.cluster} --correct asks the engine to put Git's form back")
        found.append("or, if the cluster is right: write it into Git")
    if any(each.difference == Difference.WRONG_OWNER for each in by_engine):
        found.append(f"firstlight owners {drift.cluster} shows who owns what; firstlight handover makes it Git's")
    found += _extra([each for each in by_engine if each.difference == Difference.EXTRA])
    if names := sorted({each.component for each in drift.drifted if each.component in kept}):
        only = " ".join(f"--only {each}" for each in names)
        found.append(f"firstlight up {drift.cluster} {only}: what bootstrap keeps, no engine corrects")
    return [f"  next     {safe.name(each)}" for each in found]


def _extra(extra: Sequence[Drifted]) -> list[str]:
    if not extra:
        return []
    said = "what is extra is not deleted here"
    found = next((each.id for each in extra if each.id.kind not in _HOLDING), None)
    if found is None:
        return [f"{said}: a {extra[0].id.kind} takes with it what is in it, so look first; or write it into Git"]
    space = f" -n {found.namespace}" if found.namespace else ""
    if _PLAIN.fullmatch(found.name):
        return [f"{said}; for {found}: kubectl delete {found.kind.lower()} {found.name}{space}"]
    if safe.name(found.name) != found.name:
        return [f"{said}; look at {found}: its name is none that can be typed"]
    return [f"{said}; for {found}: kubectl delete {found.kind.lower()}{space} -- {shlex.quote(found.name)}"]
