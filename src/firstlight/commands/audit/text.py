"""An audit as text: what each rule has found, the worst first, with places, evidence and what to do."""

import dataclasses
from collections.abc import Sequence

from firstlight.commands.audit import finding_words
from firstlight.commands.audit import matrix as audit_matrix
from firstlight.drawing import decision_words, table
from firstlight.model.diagnostic import Evidence, Severity
from firstlight.model.finding import Audit, Finding, Matrix

_EVIDENCE = 5
_BODY = " " * 6
"""Before what is said of a place."""
_COLOURS = {
    Severity.CRITICAL: "1;31",
    Severity.ERROR: "31",
    Severity.WARNING: "33",
    Severity.NOTE: "2",
}


@dataclasses.dataclass(frozen=True, slots=True)
class _Shown:
    """How much is shown."""

    columns: int
    evidence: int
    """How many of the evidence of a finding; 0 for all."""
    with_basis: bool = False
    """What each finding rests on, also where everything was read."""


def text(audit: Audit, *, columns: int, everything: bool = False, colour: bool = False) -> str:
    """The whole answer.

    Args:
        audit: The answer.
        columns: How wide the terminal is.
        everything: Excused findings, all evidence, and what each finding rests on, as well.
        colour: Severities in colour.
    """
    shown = _Shown(columns, 0 if everything else _EVIDENCE, everything)
    parts = [_group(each, audit, shown, colour=colour) for each in finding_words.groups(audit)]
    parts += [_excused(audit, columns)] if everything else []
    parts += [matrix(audit.matrix, columns=columns)] if audit.matrix is not None else []
    parts += [[counts(audit), *_ending(audit, columns, everything=everything)]]
    return "\n\n".join("\n".join(part) for part in parts if part)


def counts(audit: Audit) -> str:
    """``2 errors, 3 warnings``: how much of what there is, and how much was looked at."""
    excused = f", {len(audit.excused)} excused" if audit.excused else ""
    return f"{finding_words.counts(audit.findings)}{excused}   {finding_words.looked(audit)}"


def matrix(found: Matrix, *, columns: int) -> list[str]:
    """Patterns against clusters."""
    return audit_matrix.matrix_lines(found, columns=columns)


def news(before: Audit, after: Audit, *, columns: int) -> list[str]:
    """What is new and what is gone."""
    old = {_known_by(each) for each in before.findings}
    new = {_known_by(each) for each in after.findings}
    lines: list[str] = []
    for each in after.findings:
        if _known_by(each) not in old:
            lines.append(
                f"new    {finding_words.MARKS[each.severity]} {each.severity}   {decision_words.plain(each.code)}"
            )
            lines += _finding(each, after, _Shown(columns, _EVIDENCE))
    for each in before.findings:
        if _known_by(each) not in new:
            said = (
                f"gone   {decision_words.plain(each.code)}   {decision_words.plain(each.place.path)}: "
                f"{decision_words.plain(each.message)}"
            )
            lines.append(table.cut(said, columns))
    return lines


def _known_by(found: Finding) -> tuple[str, str, str]:
    return found.code, found.place.path, found.key


def _group(group: finding_words.RuleFindings, audit: Audit, shown: _Shown, *, colour: bool) -> list[str]:
    """The rule with its reason once, then each place."""
    columns = shown.columns
    head = f"{finding_words.MARKS[group.severity]} {group.severity}"
    head = f"\x1b[{_COLOURS[group.severity]}m{head}\x1b[0m" if colour else head
    amount = f"   {decision_words.number(len(group.findings), 'finding')}" if len(group.findings) > 1 else ""
    lines = [f"{head}   {decision_words.plain(group.rule)}{amount}"]
    lines += _labelled("why", group.why, columns)
    lines += _labelled("--fix" if group.is_fixable else "fix", group.fix, columns)
    rows = [] if shown.with_basis else _rows(group, audit, columns)
    if rows:
        return [*lines, *rows]
    for each in group.findings:
        lines += _finding(each, audit, shown, with_fix=not group.fix)
    return lines


def _rows(group: finding_words.RuleFindings, audit: Audit, columns: int) -> list[str]:
    """A line a finding, where there is so little to say that it fits; else nothing."""
    if any(each.evidence for each in group.findings) or (not group.fix and any(each.fix for each in group.findings)):
        return []
    rows = [
        [decision_words.plain(str(each.place)), finding_words.clusters(each, audit), decision_words.plain(each.message)]
        for each in group.findings
    ]
    rows = rows if any(row[1] for row in rows) else [[row[0], row[2]] for row in rows]
    lines = table.render(rows, indent="  ")
    return lines if all(table.width(each) <= columns for each in lines) else []


def _finding(found: Finding, audit: Audit, shown: _Shown, *, with_fix: bool = True) -> list[str]:
    """The place and the clusters, then what is said of it."""
    columns = shown.columns
    where, place = finding_words.clusters(found, audit), decision_words.plain(str(found.place))
    lines = [f"  {place}   {where}"] if where else [f"  {place}"]
    if where and table.width(lines[0]) > columns:
        lines = [f"  {place}", *(f"{_BODY}in {each}" for each in table.wrap(where, columns - len(_BODY) - 3))]
    lines += [f"{_BODY}{each}" for each in table.wrap(decision_words.plain(found.message), columns - len(_BODY))]
    lines += _evidence(found.evidence, columns, limit=shown.evidence)
    basis = str(found.basis) if shown.with_basis else finding_words.basis(found)
    if basis:
        lines += [
            f"{_BODY}{each}" for each in table.wrap(f"rests on: {decision_words.plain(basis)}", columns - len(_BODY))
        ]
    if with_fix and found.fix:
        label = "--fix" if found.edits else "fix"
        first, *rest = table.wrap(decision_words.plain(found.fix), columns - len(_BODY) - len(label) - 2)
        lines += [f"{_BODY}{label}: {first}", *(f"{_BODY}{' ' * len(label)}  {each}" for each in rest)]
    return lines


def _evidence(found: Sequence[Evidence], columns: int, *, limit: int) -> list[str]:
    """What shows it, each with its place beside it or, where that is too wide, below."""
    shown = found[:limit] if limit else found
    rows = [
        (decision_words.plain(each.text), decision_words.plain(str(each.place)) if each.place else "") for each in shown
    ]
    indent = f"{_BODY}- "
    room = columns - len(indent)
    longest = max((table.width(said) for said, place in rows if place), default=0)
    widest = max((table.width(place) for _, place in rows), default=0)
    is_beside = longest + len(table.GAP) + widest <= room
    lines: list[str] = []
    for said, place in rows:
        if is_beside and place:
            lines.append(f"{indent}{said}{' ' * (longest - table.width(said))}{table.GAP}{place}")
            continue
        first, *rest = table.wrap(said, room)
        lines += [f"{indent}{first}", *(f"{_BODY}  {each}" for each in rest)]
        # A place stays whole, so that it can be copied.
        lines += [f"{_BODY}    {place}"] if place else []
    more = len(found) - len(shown)
    return [*lines, *([f"{_BODY}  and {more} more"] if more else [])]


def _excused(audit: Audit, columns: int) -> list[str]:
    lines: list[str] = []
    for one in audit.excused:
        lines.append(f"  {decision_words.plain(one.finding.code)}   {decision_words.plain(str(one.finding.place))}")
        for said in (decision_words.plain(one.finding.message), finding_words.excuse(one)):
            lines += [f"{_BODY}{each}" for each in table.wrap(said, columns - len(_BODY))]
    return [f"excused ({len(audit.excused)})", *lines] if lines else []


def _ending(audit: Audit, columns: int, *, everything: bool) -> list[str]:
    """What could not be judged, what was not looked at, and what can be done next."""
    lines = [""]
    for each in finding_words.unjudged(audit, everything=everything):
        lines += _labelled("not judged" if len(lines) == 1 else "", each, columns)
    seen = len(lines)
    for each in finding_words.unseen(audit):
        lines += _labelled("not seen" if len(lines) == seen else "", each, columns)
    rows = _next(audit)
    shown = [line for row in table.wrapped(rows, columns=columns - 2 - table.LABEL) for line in row] if rows else []
    lines += table.labelled("next", shown)
    return lines if len(lines) > 1 else []


def _next(audit: Audit) -> list[list[str]]:
    if not audit.findings:
        return [["firstlight audit --everything", "what is excused, too"]] if audit.excused else []
    rows = [[f"firstlight audit --explain {finding_words.groups(audit)[0].rule}", "what it looks for, and why"]]
    fixable = finding_words.fixable(audit)
    if fixable:
        rows.append(["firstlight audit --fix", f"makes {fixable} of these right; --patch shows how"])
    if audit.remedies:
        others = f"; also {', '.join(audit.remedies[1:])}" if audit.remedies[1:] else ""
        rows.append([f"firstlight audit --remedy {audit.remedies[0]}", f"step by step{others}"])
    return rows


def _labelled(label: str, said: str, columns: int) -> list[str]:
    return table.labelled(label, table.wrap(said, max(20, columns - table.LABEL - 2))) if said else []
