"""A rehearsal as text for people, and as Markdown for a pull request. Pure."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from firstlight.cli import diagnostic_data
from firstlight.commands.rehearse.output_form import RehearsalData, RehearsedStepData
from firstlight.commands.rehearse.rehearsal import Rehearsal, RehearsedStep
from firstlight.commands.verify import text as verify_text
from firstlight.drawing import safe, table
from firstlight.model.verdict import Verification, lets_on

MARKS = {"passed": "✔", "skipped": "·", "failed": "✘", "waiting": "✘", "blocked": "·"}
LONGEST = 120
"""Characters of what is declared, where nothing says how wide the paper is."""
FEW = 12
"""Rows of one kind that are shown unless everything is asked for."""


def text(told: Rehearsal, verified: Verification | None = None, *, columns: int = 0, everything: bool = False) -> str:
    """The whole report; what was verified follows it."""
    parts = [
        [headline(told, verified)],
        _causes(told),
        _section("stands for what", _mapped(told, columns=columns, everything=everything), columns),
        _section("pretended by the lab", [[f"  {name}", how] for name, how in told.simulated], columns),
        _section("could not be tried", _untried(told, columns=columns, everything=everything), columns),
        _section("did not pass, perhaps because of that", _rows(told.unjudged), columns),
        _section("the lab says", [[f"  {safe.text(each)}"] for each in told.notes], columns),
        _section("steps", _rows(told.steps), columns),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def verdict_of(told: Rehearsal, verified: Verification | None) -> str:
    """``passed``, ``failed`` or ``refused``: what does not hold afterwards has failed, too."""
    return "failed" if verified is not None and not verified.is_fine else told.verdict


def headline(told: Rehearsal, verified: Verification | None = None) -> str:
    """The result in one line: it works only where everything that was verified afterwards is fine, too."""
    passed = sum(each.verdict in ("passed", "skipped") for each in told.steps)
    what = {"passed": "rehearsed, and it works", "failed": "rehearsed, and it fails", "refused": "refused"}
    verdict = verdict_of(told, verified)
    bad = [each.name for each in verified.checks if not lets_on(each.verdict)] if verified is not None else []
    checked = f" ({', '.join(bad)})" if bad else ""
    counted = f"   {passed} of {len(told.steps)} steps" if told.steps else ""
    absent = sum(bool(each.component) for each in told.untried)
    without = f", without {absent} thing{'' if absent == 1 else 's'} that could not be had" if absent else ""
    commit = f"   commit {told.revision[:12]}" if told.revision else ""
    changed = f" and {told.changes} changed file{'' if told.changes == 1 else 's'}" if told.changes else ""
    copied = f"{', ' if commit or changed else '   '}copied to the lab as {told.copy[:7]}" if told.copy else ""
    return f"{safe.text(told.cluster)}   {what[verdict]}{checked}{without}{counted}   {duration(told.seconds)}" + (
        commit + changed + copied
    )


def markdown(told: Rehearsal, verified: Verification | None = None) -> str:
    """The report for a pull request: the result, the causes, what was verified, and the rest to unfold."""
    verdict = verdict_of(told, verified)
    lines = [f"### Rehearsal of `{_cell(told.cluster)}`: {verdict}", "", _cell(headline(told, verified))]
    lines.append("")
    lines += [f"- **{_cell(each.name)}**: {_cell(each.reason)} {_cell(each.hint)}".rstrip() for each in told.causes]
    lines += [f"- {_cell(each.message)}" + (f": {_cell(each.fix)}" if each.fix else "") for each in told.problems]
    if told.refused:
        lines.append(f"- {_cell(told.refused)}")
    checks = verified.checks if verified is not None else ()
    lines += [f"- **{_cell(each.name)}**: {_cell(each.verdict.reason)}" for each in checks if not lets_on(each.verdict)]
    steps = [[each.phase, each.name, each.verdict, duration(each.seconds), each.reason] for each in told.steps]
    lines += _unfold("Steps", ["phase", "step", "verdict", "time", "said"], steps)
    verdicts = [[each.name, type(each.verdict).__name__.lower(), each.verdict.reason] for each in checks]
    lines += _unfold("Verified", ["check", "verdict", "said"], verdicts)
    lines += _unfold(
        "What stands for what", ["what", "declared", "in the lab"],
        [[each.what, each.declared, each.lab] for each in told.mapped],
    )  # fmt: skip
    lines += _unfold(
        "Could not be tried", ["what", "why", "component"],
        [[each.what, each.why, each.component] for each in told.untried],
    )  # fmt: skip
    lines += _unfold("Pretended by the lab", ["what", "how"], [list(each) for each in told.simulated])
    return "\n".join(lines).rstrip() + "\n"


def duration(seconds: float) -> str:
    """A time as people say it."""
    whole = round(seconds)
    return f"{seconds:.1f}s" if seconds < 10 else f"{whole}s" if whole < 60 else f"{whole // 60}m{whole % 60:02}s"


def _causes(told: Rehearsal) -> list[str]:
    lines = [
        f"✘ {safe.text(each.message)}" + (f"\n    → {safe.text(each.fix)}" if each.fix else "")
        for each in told.problems
    ]
    lines += [f"✘ {safe.text(told.refused)}"] if told.refused else []
    for each in told.causes:
        lines.append(f"✘ {safe.text(each.name)} ({each.phase}): {safe.text(each.reason)}")
        lines += [f"    → {safe.text(each.hint)}"] if each.hint else []
    return lines


def _mapped(told: Rehearsal, *, columns: int, everything: bool) -> list[list[str]]:
    rows: list[list[str]] = []
    half = columns // 2 if columns else LONGEST
    for what, group in groupby(told.mapped, key=lambda each: each.what):
        mine = list(group)
        shown = mine if everything else mine[:FEW]
        rows += [[f"  {what}", table.cut(safe.text(each.declared), half), f"› {safe.text(each.lab)}"] for each in shown]
        rows += [[f"  {what}", f"and {len(mine) - len(shown)} more", ""]] if len(mine) > len(shown) else []
    return rows


def _untried(told: Rehearsal, *, columns: int, everything: bool) -> list[list[str]]:
    half = columns // 2 if columns else LONGEST
    shown = told.untried if everything else told.untried[: FEW * 2]
    rows = [[table.cut(f"  {safe.text(each.what)}", half), safe.text(each.why)] for each in shown]
    more = len(told.untried) - len(shown)
    return [*rows, *([[f"  and {more} more", ""]] if more else [])]


def _rows(steps: Iterable[RehearsedStep]) -> list[list[str]]:
    return [
        [f"  {MARKS.get(each.verdict, '·')} {safe.text(each.name)}", each.phase, each.verdict, duration(each.seconds),
         safe.text(each.reason)]
        for each in steps
    ]  # fmt: skip


def _section(title: str, rows: Sequence[Sequence[str]], columns: int) -> list[str]:
    return [title, *table.render(rows, columns=columns)] if rows else []


def _unfold(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(_cell(each) for each in row)} |" for row in rows]
    return ["", f"<details><summary>{title} ({len(rows)})</summary>", "", *lines, "", "</details>"]


def _cell(value: str) -> str:
    """A stranger's text that neither ends a cell nor becomes markup."""
    plain = " ".join(safe.text(value).split())
    for character in "\\`*_<>|[]":
        plain = plain.replace(character, f"\\{character}")
    return plain


# A rehearsal as data for JSON: keys are added, never renamed or removed.


def data(told: Rehearsal, verified: Verification | None = None) -> RehearsalData:
    """Everything that the report says."""
    return {
        "cluster": told.cluster,
        "verdict": verdict_of(told, verified),
        "refused": told.refused,
        "problems": diagnostic_data.of_all(told.problems),
        "causes": [_step(each) for each in told.causes],
        "unjudged": [_step(each) for each in told.unjudged],
        "revision": told.revision,
        "labRevision": told.copy,
        "changedFiles": told.changes,
        "seconds": round(told.seconds, 3),
        "lab": told.lab,
        "kept": told.is_kept,
        "mapping": [{"what": each.what, "declared": each.declared, "lab": each.lab} for each in told.mapped],
        "simulated": [{"name": name, "how": how} for name, how in told.simulated],
        "notes": list(told.notes),
        "untried": [
            {"what": each.what, "why": each.why, "component": each.component, "hint": each.hint}
            for each in told.untried
        ],
        "steps": [_step(each) for each in told.steps],
        "verification": verify_text.data(verified) if verified is not None else None,
    }  # fmt: skip


def _step(step: RehearsedStep) -> RehearsedStepData:
    return {
        "id": step.id,
        "phase": step.phase,
        "name": step.name,
        "component": step.component,
        "verdict": step.verdict,
        "seconds": round(step.seconds, 3),
        "writes": step.writes,
        "reason": step.reason,
        "hint": step.hint,
        "needs": list(step.needs),
    }
