"""An audit as a comment on a pull request: the counts, the worst in a table, and the rest to be opened.

Everything here may come from a stranger's branch, and is written as ``decision_markdown`` does it: nothing of it is
taken for markup, nobody is called by ``@``.
"""

from collections.abc import Sequence

from firstlight.commands.audit import finding_words, matrix
from firstlight.commands.decide import markdown as decide_markdown
from firstlight.drawing import decision_words
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import FINDING_SEVERITIES, Audit, Finding, Matrix

MARK = "<!-- firstlight audit -->"
"""By which a comment is known again, so that it can be replaced."""
_ROWS = 15
_EVIDENCE = 5
_LARGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
_TABLE, _DETAILS = 15_000, 30_000
"""How many of these the table may have, and the details of one severity."""
_SIGNS = {"✔": "✅", "✘": "❌"}
_MORE = "More is not shown here, since a comment cannot be longer: <code>firstlight audit</code>"

_code, _words = decide_markdown.code, decide_markdown.words


def markdown(audit: Audit) -> str:
    """The comment."""
    body = [MARK, f"### {finding_words.counts(audit.findings)}", "", _about(audit), ""]
    body += _worst(audit.findings, audit)
    parts = [_matrix(audit.matrix)] if audit.matrix is not None else []
    parts += [_severity(severity, audit) for severity in reversed(FINDING_SEVERITIES)]
    is_whole = True
    for part in [*parts, _excused(audit), _unjudged(audit), _unseen(audit)]:
        is_fitting = _size([*body, *part]) + len(_MORE) + 2 <= _LARGEST
        is_whole = is_whole and is_fitting
        body += part if is_fitting else []
    body += [] if is_whole else [_MORE]
    return "\n".join(body).rstrip() + "\n"


def _about(audit: Audit) -> str:
    excused = f", {len(audit.excused)} excused" if audit.excused else ""
    fixable = finding_words.fixable(audit)
    fixes = f". <code>firstlight audit --fix</code> makes {fixable} of these right" if fixable else ""
    return f"{_code(audit.repo)}: {finding_words.looked(audit)}{excused}{fixes}"


def _worst(found: Sequence[Finding], audit: Audit) -> list[str]:
    """The first findings in a table; notes only where there is nothing else."""
    told = [each for each in found if each.severity is not Severity.NOTE] or list(found)
    if not told:
        return []
    head, rows = ["| | where | what | rule |", "|---|---|---|---|"], list[str]()
    for each in told[:_ROWS]:
        where = finding_words.clusters(each, audit)
        cells = [
            f"**{each.severity}**",
            _code(str(each.place)) + (f"<br>{_words(where)}" if where else ""),
            _words(each.message),
            _code(each.code),
        ]
        row = f"| {' | '.join(cells)} |"
        if _size([*rows, row]) > _TABLE:
            break
        rows.append(row)
    more = len(told) - len(rows)
    return [*head, *rows, *([f"| | … and {more} more below | | |"] if more else []), ""]


def _severity(severity: Severity, audit: Audit) -> list[str]:
    """All that is as bad as each other, rule by rule, as far as there is room."""
    found = [each for each in finding_words.groups(audit) if each.severity is severity]
    if not found:
        return []
    lines: list[str] = []
    for group in found:
        told = _group(group, audit)
        if _size([*lines, *told]) > _DETAILS:
            lines += ["", _MORE, ""]
            break
        lines += told
    return _folded(finding_words.counts([one for each in found for one in each.findings]), lines)


def _group(group: finding_words.RuleFindings, audit: Audit) -> list[str]:
    lines = [f"**{_code(group.rule)}** {_words(group.why)}", ""]
    lines += [f"*{'--fix' if group.is_fixable else 'fix'}* {_words(group.fix)}", ""] if group.fix else []
    for each in group.findings:
        where = finding_words.clusters(each, audit)
        in_clusters = f" ({_words(where)})" if where else ""
        lines.append(f"- {_code(str(each.place))}{in_clusters}: {_words(each.message)}")
        for one in each.evidence[:_EVIDENCE]:
            place = f" {_code(str(one.place))}" if one.place else ""
            lines.append(f"  - {_words(one.text)}{place}")
        if basis := finding_words.basis(each):
            lines.append(f"  - rests on {_words(basis)}")
        more = len(each.evidence) - _EVIDENCE
        lines += [f"  - and {more} more"] if more > 0 else []
        if each.fix and not group.fix:
            lines.append(f"  - *{'--fix' if each.edits else 'fix'}* {_words(each.fix)}")
    return [*lines, ""]


def _matrix(found: Matrix) -> list[str]:
    """Patterns down, clusters and references across; below it why clusters do not follow."""
    first_reference = len(found.columns) - found.references
    lines = [f"| | {' | '.join(_words(each) for each in found.columns)} |", f"|---|{':-:|' * len(found.columns)}"]
    for row in found.rows:
        cells = [matrix.matrix_mark(cell, is_reference=n >= first_reference) for n, cell in enumerate(row.cells)]
        lines.append(f"| {_words(row.title)} | {' | '.join(_SIGNS.get(each, each) for each in cells)} |")
    lines += ["", "n/a cannot apply, ? the repo does not tell, · not known", ""]
    for title, names, rules, why in finding_words.broken_cells(found):
        who, which = _words(", ".join(names)), ", ".join(_code(each) for each in rules)
        lines.append(f"- **{_words(title)}** {who}: {_words(why)} ({which})")
    return _folded("Patterns against clusters", lines)


def _excused(audit: Audit) -> list[str]:
    lines = [
        f"- {_code(each.finding.code)} {_code(str(each.finding.place))} {_words(finding_words.excuse(each))}"
        for each in audit.excused
    ]
    return _folded(f"Excused: {len(lines)}", lines)


def _unjudged(audit: Audit) -> list[str]:
    lines = [f"- {_words(each)}" for each in finding_words.unjudged(audit, everything=True)]
    return _folded("Could not be judged", lines)


def _unseen(audit: Audit) -> list[str]:
    return _folded("Not looked at", [f"- {_words(decision_words.plain(each))}" for each in finding_words.unseen(audit)])


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    """What is opened by a click; the title is our own."""
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""] if lines else []


def _size(lines: Sequence[str]) -> int:
    return len("\n".join(lines))
