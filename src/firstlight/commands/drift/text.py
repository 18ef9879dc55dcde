"""Drift as text: what differs by component, who wrote it and when, and what to do next."""

import re
import shlex
from collections.abc import Iterator, Sequence

from firstlight.commands.drift.output_form import DriftData, DriftedData
from firstlight.drawing import safe, table
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.drift import Drift, Drifted, DriftKind, FieldDifference

SHOWN = 8
"""Fields of an object that are shown; JSON has all of them."""
_MARKS = {
    DriftKind.CHANGED: "~ changed",
    DriftKind.MISSING: "- missing",
    DriftKind.EXTRA: "+ extra",
    DriftKind.WRONG_OWNER: "! wrong owner",
}

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]*")
"""Names that are no more than that to a shell and to kubectl: those of some kinds may be anything."""
_HOLDING = ("CustomResourceDefinition", "Namespace", "PersistentVolume", "PersistentVolumeClaim")
"""Kinds whose deletion takes much else with it: nobody is told to do so."""
UNCOMMITTED = "uncommitted"
"""The rule of a work tree that is not as its commit."""
_ELSEWHERE = ("branch-behind", "branch-diverged", "commit-not-pushed")
"""The rules of a commit that is not the one of the branch that the engine follows; their way out leads there."""


def text(
    drift: Drift, *, columns: int = 0, kept: frozenset[str] = frozenset(), problems: Sequence[Diagnostic] = ()
) -> str:
    """The whole page.

    Args:
        drift: What was found.
        columns: How wide the terminal is; 0 for no limit.
        kept: Components that bootstrap keeps.
        problems: What is wrong with the commit that was rendered, or with the work tree.
    """
    is_certain = not drift.applied and is_committed(problems)
    parts = [[f"{drift.cluster}   {summary(drift, is_certain=is_certain)}"], _commits(drift), _notes(drift)]
    parts += [_component(name, drift, columns) for name in dict.fromkeys(each.component for each in drift.drifted)]
    parts += [[f"  {safe.name(line)}" for line in _unread(drift)], _next(drift, kept, problems)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def is_committed(problems: Sequence[Diagnostic]) -> bool:
    """Whether what was rendered is what the commit has."""
    return not any(each.code == UNCOMMITTED for each in problems)


def summary(drift: Drift, *, is_certain: bool = True) -> str:
    """One line: how much differs, of how much.

    Args:
        drift: What was found.
        is_certain: Whether what was rendered is what the engine has: only then nothing that differs is no drift.
    """
    what = f"{drift.compared} object{'' if drift.compared == 1 else 's'}"
    asked = f", {drift.dry_runs} asked of the server" if drift.dry_runs else ""
    ignored = f", {drift.ignored} ignored as declared" if drift.ignored else ""
    if not drift.drifted:
        found = "no drift" if is_certain else "nothing differs from what is here"
        found = f"{found} in what could be compared" if drift.unread else found
        return f"{found} ({what} compared{asked}{ignored})"
    counts = [
        f"{count} {each.value}" for each in DriftKind if (count := sum(one.difference == each for one in drift.drifted))
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
    render = f"  Git's render is of {drift.revision[:12]}, and the engine has applied "
    meaning = (
        "what differs may be no more than that, so that it is not drift yet."
        if drift.drifted
        else "whether anything differs from that was not looked at."
    )
    return [f"{render}{safe.name('; '.join(drift.applied))}:", f"  {meaning}"]


def _notes(drift: Drift) -> list[str]:
    return [f"  note     {safe.name(each)}" for each in drift.notes]


def _unread(drift: Drift) -> list[str]:
    return [f"unread   {each}" for each in drift.unread]


def to_the_same_commit(problems: Sequence[Diagnostic]) -> str:
    """How what is here and what the engine has become one commit.

    Args:
        problems: What is wrong with the commit that was rendered.
    """
    for each in problems:
        if each.code == "branch-behind":
            return each.fix
        if each.code in _ELSEWHERE:
            how = f"{each.fix[:1].lower()}{each.fix[1:].rstrip('.')}"
            return f"{how}, and let the engine apply it; or check out the one that it has"
    return "push the commit and let the engine apply it, or check out the one that it has"


def correction(cluster: str) -> str:
    """The command that puts Git's form back."""
    return f"firstlight drift {cluster} --correct asks the engine to put Git's form back"


def taking_back(cluster: str) -> str:
    """The command that gives the engine fields that are as Git has them and that somebody else holds."""
    return f"firstlight drift {cluster} --correct --as-owner makes the engine the owner of what it has in Git"


def kubectl(verb: str, id: ObjectId) -> str:
    """A command for an object; empty where its name is none that can be typed."""
    space = f" -n {id.namespace}" if id.namespace else ""
    if _PLAIN.fullmatch(id.name):
        return f"kubectl {verb} {id.kind.lower()} {id.name}{space}"
    return "" if safe.name(id.name) != id.name else f"kubectl {verb} {id.kind.lower()}{space} -- {shlex.quote(id.name)}"


def _next(drift: Drift, kept: frozenset[str], problems: Sequence[Diagnostic]) -> list[str]:
    """What to do, for what was found."""
    if drift.applied:
        return [f"  next     {safe.name(to_the_same_commit(problems))}; then again"]
    dirty = next((each for each in problems if each.code == UNCOMMITTED), None)
    if dirty is not None:
        return [f"  next     {safe.name(dirty.fix)} Then again"]
    found: list[str] = []
    by_engine = [each for each in drift.drifted if each.component not in kept]
    changed = [each for each in by_engine if each.difference in (DriftKind.CHANGED, DriftKind.MISSING)]
    if drift.ways is not None:
        found += drift.ways
    elif changed:
        found.append(correction(drift.cluster))
    if changed:
        found.append("or, if the cluster is right: write it into Git")
    if drift.ways is None and any(each.is_held for each in by_engine):
        found.append(taking_back(drift.cluster))
    if any(each.difference == DriftKind.WRONG_OWNER and not each.is_held for each in by_engine):
        found.append(f"firstlight owners {drift.cluster} shows who owns what; firstlight handover makes it Git's")
    found += _extra([each for each in by_engine if each.difference == DriftKind.EXTRA])
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
    if command := kubectl("delete", found):
        return [f"{said}; for {found}: {command}"]
    return [f"{said}; look at {found}: its name is none that can be typed"]


# Drift as data, for JSON: keys are added, never renamed or removed.


def data(drift: Drift) -> DriftData:
    """Everything that was found."""
    return {
        "cluster": drift.cluster,
        "revision": drift.revision,
        "applied": list(drift.applied),
        "drifted": [drifted_data(each) for each in drift.drifted],
        "compared": drift.compared,
        "dryRuns": drift.dry_runs,
        "ignored": drift.ignored,
        "unread": list(drift.unread),
        "notes": list(drift.notes),
    }


def drifted_data(drifted: Drifted) -> DriftedData:
    """One object that differs."""
    return {
        "object": {
            "group": drifted.id.group,
            "kind": drifted.id.kind,
            "namespace": drifted.id.namespace,
            "name": drifted.id.name,
        },
        "component": drifted.component,
        "owner": drifted.owner,
        "difference": drifted.difference.value,
        "says": drifted.says,
        "fields": [
            {
                "path": each.path,
                "wanted": each.wanted,
                "live": each.live,
                "manager": each.manager,
                "since": each.since,
            }
            for each in drifted.fields
        ],
    }
