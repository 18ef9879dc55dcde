"""An audit as a page for people: stands alone, light and dark, and shows only what somebody wants to see.

Everything comes from strangers' repos, and is escaped; and the browser is told to run our script and no other.
"""

import base64
import hashlib
import html
from collections.abc import Iterator, Sequence

from firstlight.model.audit_card import AuditCard
from firstlight.model.finding import Audit, Cell, Finding, Matrix, Severity, Standing
from firstlight.report import audit_matrix
from firstlight.report import audit_words as words
from firstlight.report import decision_words as texts
from firstlight.report.audit_script import SCRIPT
from firstlight.report.audit_style import STYLE

_CLASSES = {
    Standing.FOLLOWS: "yes",
    Standing.BREAKS: "no",
    Standing.UNKNOWN: "unknown",
    Standing.NOT_APPLICABLE: "na",
}
_LEGEND = html.escape(words.LEGEND.replace("   ", "\u2003"))
_EVIDENCE = 5
"""What is shown before the rest is to be opened."""


def page(audit: Audit, cards: Sequence[AuditCard] = ()) -> str:
    """The whole page.

    Args:
        audit: The answer.
        cards: The rules, for their titles.
    """
    known = {each.id: each for each in cards}
    groups = words.groups(audit)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_policy()}">',
        f"<title>Audit of {_e(audit.repo)}</title>",
        f"<style>{STYLE}</style></head><body><main>",
        *_head(audit),
        *(_matrix(audit.matrix, audit) if audit.matrix is not None else ()),
        *_filter(audit, groups),
        *(line for each in groups for line in _group(each, audit, known.get(each.rule))),
        '<p id="none" class="soft" hidden>Nothing of what was found is like that.</p>',
        *_excused(audit),
        *_foot(audit),
        f"</main><script>{SCRIPT}</script></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _policy() -> str:
    style, script = (
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in (STYLE, SCRIPT)
    )
    return f"default-src 'none'; style-src {style}; script-src {script}; base-uri 'none'; form-action 'none'"


def _head(audit: Audit) -> Iterator[str]:
    yield '<header><p class="kind">Audit</p>'
    yield f"<h1>{_e(audit.repo)}</h1>"
    names = ", ".join(audit.clusters)
    yield f'<p class="lead">{_e(f"{names}: {words.looked(audit)}" if names else words.looked(audit))}</p>'
    yield '<div class="counts">'
    for severity in reversed(Severity):
        number = sum(each.severity is severity for each in audit.findings)
        word = "critical" if severity is Severity.CRITICAL else f"{severity}{'' if number == 1 else 's'}"
        yield f'<div class="{severity if number else ""}"><b>{number}</b><span>{word}</span></div>'
    yield f"<div><b>{words.fixable(audit)}</b><span>made right by --fix</span></div>"
    yield f"<div><b>{len(audit.excused)}</b><span>excused</span></div></div></header>"


def _matrix(found: Matrix, audit: Audit) -> Iterator[str]:
    first_reference = len(found.columns) - found.references
    numbers = {name: number for number, name in enumerate(audit.clusters)}
    yield '<section><h2>Patterns against clusters</h2><div class="wide"><table><thead><tr><th></th>'
    for number, name in enumerate(found.columns):
        kind = "cell reference" if number >= first_reference else "cell"
        yield f'<th class="{kind}">{_e(name)}</th>'
    yield "</tr></thead><tbody>"
    for row in found.rows:
        yield f"<tr><td>{_e(row.title)}</td>"
        for number, cell in enumerate(row.cells):
            cluster = numbers.get(found.columns[number]) if number < first_reference else None
            kind = " first-reference" if number == first_reference else ""
            yield _cell(cell, kind, cluster=cluster, is_reference=number >= first_reference)
        yield "</tr>"
    yield f'</tbody></table></div><p class="legend">{_LEGEND}</p></section>'


def _cell(cell: Cell, kind: str, *, cluster: int | None, is_reference: bool) -> str:
    mark = audit_matrix.mark(cell, is_reference=is_reference)
    said = ": ".join(each for each in (", ".join(cell.rules), cell.why) if each)
    title = f' title="{_e(said)}"' if said else ""
    if cell.standing is Standing.BREAKS and cell.rules:
        rules = _e(" ".join(cell.rules))
        where = f' data-cluster="{cluster}"' if cluster is not None else ""
        mark = f'<a href="#findings" data-rules="{rules}"{where}>{mark}</a>'
    return f'<td class="cell {_CLASSES[cell.standing]}{kind}"{title}>{mark}</td>'


def _filter(audit: Audit, groups: Sequence[words.Group]) -> Iterator[str]:
    """What the script shows; it does nothing where there is no script."""
    yield '<div id="findings"></div><form id="filter" autocomplete="off" hidden>'
    for severity in reversed(Severity):
        if any(each.severity is severity for each in groups):
            yield f'<label><input type="checkbox" name="severity" value="{severity}" checked>{severity}</label>'
    yield '<label>cluster <select name="cluster"><option value="">all</option>'
    yield from (f'<option value="{n}">{_e(name)}</option>' for n, name in enumerate(audit.clusters))
    yield '</select></label><label>rule <select name="rule"><option value="">all</option>'
    yield from (f"<option>{_e(each)}</option>" for each in sorted({each.rule for each in groups}))
    yield '</select></label><input type="search" name="text" placeholder="text" aria-label="text">'
    yield '<button type="button">everything</button><span id="shown" class="soft"></span></form>'


def _group(group: words.Group, audit: Audit, card: AuditCard | None) -> Iterator[str]:
    title = card.title if card is not None else group.rule
    yield f'<section class="rule {group.severity}"><div class="head"><span class="badge {group.severity}">'
    yield f'{group.severity}</span><h3>{_e(title)}</h3><span class="id soft">{_e(group.rule)}</span>'
    number = len(group.findings)
    yield f'<span class="soft">{texts.number(number, "finding")}</span>' if number > 1 else ""
    yield '<span class="badge fixable">--fix</span></div>' if group.is_fixable else "</div>"
    yield f'<p class="why">{_e(group.why)}</p>' if group.why else ""
    yield f'<p class="fix"><b>Fix</b> {_e(group.fix)}</p>' if group.fix else ""
    for each in group.findings:
        yield from _finding(each, audit, with_fix=not group.fix)
    yield "</section>"


def _finding(found: Finding, audit: Audit, *, with_fix: bool) -> Iterator[str]:
    numbers = " ".join(str(n) for n, name in enumerate(audit.clusters) if name in found.clusters)
    yield (
        f'<article class="finding" data-severity="{found.severity}" data-rule="{_e(found.rule)}" '
        f'data-clusters="{numbers}">'
    )
    where = words.clusters(found, audit)
    yield f'<p><span class="place">{_e(str(found.place))}</span> <span class="soft">{_e(where)}</span></p>'
    yield f"<p>{_e(found.message)}</p>"
    items = [
        f"<li>{_e(each.text)}{f' <code>{_e(str(each.place))}</code>' if each.place else ''}</li>"
        for each in found.evidence
    ]
    yield f"<ul>{''.join(items[:_EVIDENCE])}</ul>" if items else ""
    if len(items) > _EVIDENCE:
        more = f"and {len(items) - _EVIDENCE} more"
        yield f'<details class="soft"><summary>{more}</summary><ul>{"".join(items[_EVIDENCE:])}</ul></details>'
    if with_fix and found.fix:
        mark = ' <span class="badge fixable">--fix</span>' if found.edits else ""
        yield f'<p class="fix"><b>Fix</b> {_e(found.fix)}{mark}</p>'
    yield "</article>"


def _excused(audit: Audit) -> Iterator[str]:
    if not audit.excused:
        return
    yield f"<section><details><summary>{len(audit.excused)} excused</summary>"
    for one in audit.excused:
        yield f'<article><p><span class="place">{_e(str(one.finding.place))}</span> '
        yield f'<span class="id soft">{_e(one.finding.rule)}</span></p><p>{_e(one.finding.message)}</p>'
        yield f'<p class="soft">{_e(words.excuse(one))}</p></article>'
    yield "</details></section>"


def _foot(audit: Audit) -> Iterator[str]:
    yield "<footer>"
    unseen = words.unseen(audit)
    if unseen:
        yield "<h2>Not looked at</h2><ul>"
        yield from (f"<li>{_e(each)}</li>" for each in unseen)
        yield "</ul>"
    yield "<p>A rule, with its reason and sources: <code>firstlight audit --explain RULE</code></p></footer>"


def _e(text: str) -> str:
    return html.escape(texts.plain(text))
