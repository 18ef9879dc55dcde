"""An audit as a page for people: stands alone, light and dark, and shows only what somebody wants to see.

Everything comes from strangers' repos, and is escaped; and the browser is told to run our script and no other.
"""

import base64
import hashlib
import html
from collections.abc import Iterator, Sequence

from firstlight.commands.audit import finding_words, matrix
from firstlight.commands.audit.rule_form import AuditCard
from firstlight.drawing import decision_words
from firstlight.model.diagnostic import Severity
from firstlight.model.finding import FINDING_SEVERITIES, Audit, Finding, Matrix, MatrixCell, PatternStanding

_CLASSES = {
    PatternStanding.FOLLOWS: "yes",
    PatternStanding.BREAKS: "no",
    PatternStanding.UNKNOWN: "unknown",
    PatternStanding.NOT_APPLICABLE: "na",
}
_LEGEND = html.escape(finding_words.LEGEND.replace("   ", "\u2003"))
_EVIDENCE = 5
"""What is shown before the rest is to be opened."""


def page(audit: Audit, cards: Sequence[AuditCard] = ()) -> str:
    """The whole page.

    Args:
        audit: The answer.
        cards: The rules, for their titles.
    """
    known = {each.id: each for each in cards}
    groups = finding_words.groups(audit)
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
    looked = finding_words.looked(audit)
    yield f'<p class="lead">{_e(f"{names}: {looked}" if names else looked)}</p>'
    yield '<div class="counts">'
    for severity in reversed(FINDING_SEVERITIES):
        number = sum(each.severity is severity for each in audit.findings)
        word = "critical" if severity is Severity.CRITICAL else f"{severity}{'' if number == 1 else 's'}"
        yield f'<div class="{severity if number else ""}"><b>{number}</b><span>{word}</span></div>'
    yield f"<div><b>{finding_words.fixable(audit)}</b><span>made right by --fix</span></div>"
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


def _cell(cell: MatrixCell, kind: str, *, cluster: int | None, is_reference: bool) -> str:
    mark = matrix.matrix_mark(cell, is_reference=is_reference)
    said = ": ".join(each for each in (", ".join(cell.rules), cell.why) if each)
    title = f' title="{_e(said)}"' if said else ""
    if cell.standing is PatternStanding.BREAKS and cell.rules:
        rules = _e(" ".join(cell.rules))
        where = f' data-cluster="{cluster}"' if cluster is not None else ""
        mark = f'<a href="#findings" data-rules="{rules}"{where}>{mark}</a>'
    return f'<td class="cell {_CLASSES[cell.standing]}{kind}"{title}>{mark}</td>'


def _filter(audit: Audit, groups: Sequence[finding_words.RuleFindings]) -> Iterator[str]:
    """What the script shows; it does nothing where there is no script."""
    yield '<div id="findings"></div><form id="filter" autocomplete="off" hidden>'
    for severity in reversed(FINDING_SEVERITIES):
        if any(each.severity is severity for each in groups):
            yield f'<label><input type="checkbox" name="severity" value="{severity}" checked>{severity}</label>'
    yield '<label>cluster <select name="cluster"><option value="">all</option>'
    yield from (f'<option value="{n}">{_e(name)}</option>' for n, name in enumerate(audit.clusters))
    yield '</select></label><label>rule <select name="rule"><option value="">all</option>'
    yield from (f"<option>{_e(each)}</option>" for each in sorted({each.rule for each in groups}))
    yield '</select></label><input type="search" name="text" placeholder="text" aria-label="text">'
    yield '<button type="button">everything</button><span id="shown" class="soft"></span></form>'


def _group(group: finding_words.RuleFindings, audit: Audit, card: AuditCard | None) -> Iterator[str]:
    title = card.title if card is not None else group.rule
    yield f'<section class="rule {group.severity}"><div class="head"><span class="badge {group.severity}">'
    yield f'{group.severity}</span><h3>{_e(title)}</h3><span class="id soft">{_e(group.rule)}</span>'
    number = len(group.findings)
    yield f'<span class="soft">{decision_words.number(number, "finding")}</span>' if number > 1 else ""
    yield '<span class="badge fixable">--fix</span></div>' if group.is_fixable else "</div>"
    yield f'<p class="why">{_e(group.why)}</p>' if group.why else ""
    yield f'<p class="fix"><b>Fix</b> {_e(group.fix)}</p>' if group.fix else ""
    for each in group.findings:
        yield from _finding(each, audit, with_fix=not group.fix)
    yield "</section>"


def _finding(found: Finding, audit: Audit, *, with_fix: bool) -> Iterator[str]:
    numbers = " ".join(str(n) for n, name in enumerate(audit.clusters) if name in found.clusters)
    yield (
        f'<article class="finding" data-severity="{found.severity}" data-rule="{_e(found.code)}" '
        f'data-clusters="{numbers}">'
    )
    where = finding_words.clusters(found, audit)
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
    if basis := finding_words.basis(found):
        yield f'<p class="soft">Rests on {_e(basis)}</p>'
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
        yield f'<span class="id soft">{_e(one.finding.code)}</span></p><p>{_e(one.finding.message)}</p>'
        yield f'<p class="soft">{_e(finding_words.excuse(one))}</p></article>'
    yield "</details></section>"


def _foot(audit: Audit) -> Iterator[str]:
    yield "<footer>"
    unjudged = finding_words.unjudged(audit, everything=True)
    if unjudged:
        yield "<h2>Could not be judged</h2><ul>"
        yield from (f"<li>{_e(each)}</li>" for each in unjudged)
        yield "</ul>"
    unseen = finding_words.unseen(audit)
    if unseen:
        yield "<h2>Not looked at</h2><ul>"
        yield from (f"<li>{_e(each)}</li>" for each in unseen)
        yield "</ul>"
    yield "<p>A rule, with its reason and sources: <code>firstlight audit --explain RULE</code></p></footer>"


def _e(text: str) -> str:
    return html.escape(decision_words.plain(text))


# What the page of an audit does: shows the findings that somebody wants to see. Without it, all are there.


SCRIPT = """
(function () {
  'use strict';
  var bar = document.getElementById('filter');
  var findings = Array.from(document.querySelectorAll('article.finding'));
  var groups = Array.from(document.querySelectorAll('section.rule'));
  var none = document.getElementById('none');
  var shown = document.getElementById('shown');
  var cluster = bar.querySelector('[name=cluster]');
  var rule = bar.querySelector('[name=rule]');
  var text = bar.querySelector('[name=text]');
  var only = null;
  var boxes = Array.from(bar.querySelectorAll('[name=severity]'));
  var texts = new Map(findings.map(function (each) {
    var head = each.closest('section').querySelector('.head');
    return [each, (head.textContent + ' ' + each.textContent).toLowerCase()];
  }));
  function apply() {
    var severities = new Set(boxes.filter(function (each) { return each.checked; }).map(function (each) {
      return each.value;
    }));
    var wanted = text.value.trim().toLowerCase();
    var count = 0;
    findings.forEach(function (each) {
      var clusters = each.dataset.clusters;
      var isShown = severities.has(each.dataset.severity) &&
        (!rule.value || each.dataset.rule === rule.value) &&
        (!only || only.has(each.dataset.rule)) &&
        (!cluster.value || !clusters || clusters.split(' ').includes(cluster.value)) &&
        (!wanted || texts.get(each).includes(wanted));
      each.hidden = !isShown;
      count += isShown ? 1 : 0;
    });
    groups.forEach(function (each) { each.hidden = !each.querySelector('article.finding:not([hidden])'); });
    none.hidden = count > 0 || !findings.length;
    shown.textContent = count === findings.length ? '' : count + ' of ' + findings.length;
  }
  function reset() {
    boxes.forEach(function (each) { each.checked = true; });
    cluster.value = rule.value = text.value = '';
    only = null;
    apply();
  }
  bar.addEventListener('input', function (event) {
    if (event.target === rule) { only = null; }
    apply();
  });
  bar.querySelector('button').addEventListener('click', reset);
  Array.from(document.querySelectorAll('a[data-rules]')).forEach(function (each) {
    each.addEventListener('click', function () {
      reset();
      only = new Set(each.dataset.rules.split(' '));
      cluster.value = each.dataset.cluster || '';
      apply();
    });
  });
  bar.hidden = !findings.length;
  apply();
})();
""".strip()


# How the page of an audit looks: calm, light and dark, and on paper.


STYLE = """
:root{--paper:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e6ea;--band:#f6f7f9;--good:#12806a;--bad:#c62828;
--warn:#8a5a00;--note:#4a5a70;--good-band:#e2f4ef;--bad-band:#fbe9e9;--warn-band:#fdf2d8;--note-band:#e9eef5;--link:#1f5fbf}
@media (prefers-color-scheme:dark){:root{--paper:#0f141a;--ink:#e4e9f0;--soft:#97a3b4;--line:#242c37;--band:#151b23;
--good:#35b79b;--bad:#f0837c;--warn:#e5b454;--note:#a8b8cf;--good-band:#12332c;--bad-band:#3d1c1b;--warn-band:#38290c;
--note-band:#1c2633;--link:#7fb0ff}}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.45 Inter,ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
main{max-width:1180px;margin:0 auto;padding:40px 28px 64px}
h1{font-size:30px;font-weight:650;margin:2px 0 6px;letter-spacing:-.01em;overflow-wrap:anywhere}
h2{font-size:15px;font-weight:650;margin:0 0 10px}
h3{font-size:15px;font-weight:650;margin:0;overflow-wrap:anywhere}
section,footer{margin-top:34px}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
.kind,.lead,.soft,footer p,footer li,dt{color:var(--soft)}
.kind{margin:0;font-size:13px}.lead{margin:0 0 18px}.soft{font-size:13px}
code,.place,.id{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:12.5px}
.counts{display:flex;flex-wrap:wrap;gap:8px;margin-top:18px}
.counts div{flex:1 1 110px;background:var(--band);border-radius:8px;padding:12px 14px}
.counts b{display:block;font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}
.counts span{font-size:12px;color:var(--soft)}
.counts .critical b,.counts .error b{color:var(--bad)}.counts .warning b{color:var(--warn)}
.counts .note b{color:var(--note)}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;min-width:60%}
th{text-align:left;font-weight:500;color:var(--soft);font-size:12px;padding:4px 10px;white-space:nowrap}
th.cell,td.cell{text-align:center}th.reference{font-style:italic}
td{padding:4px 10px;border-top:1px solid var(--line)}
td.cell{border-left:2px solid var(--paper)}
td.first-reference{border-left:10px solid var(--paper)}
td.yes{background:var(--good-band);color:var(--good)}td.no{background:var(--bad-band);font-weight:700}
td.no,td.no a{color:var(--bad)}td.na,td.unknown{color:var(--soft);background:var(--band)}
.legend{font-size:12px;color:var(--soft);margin:10px 0 0}
form{position:sticky;top:0;z-index:1;display:flex;flex-wrap:wrap;gap:8px 14px;align-items:center;
background:var(--paper);border-bottom:1px solid var(--line);padding:12px 0;margin-top:34px;font-size:13px}
form label{display:flex;gap:6px;align-items:center}
select,input[type=search],button{font:inherit;color:inherit;background:var(--band);border:1px solid var(--line);
border-radius:6px;padding:4px 8px;max-width:240px}
.badge{display:inline-block;font-size:12px;font-weight:600;padding:1px 9px;border-radius:99px;white-space:nowrap}
.badge.critical{background:var(--bad);color:var(--paper)}.badge.error{background:var(--bad-band);color:var(--bad)}
.badge.warning{background:var(--warn-band);color:var(--warn)}.badge.note{background:var(--note-band);color:var(--note)}
.badge.fixable{background:var(--good-band);color:var(--good)}
section.rule{margin-top:26px;border-left:3px solid var(--line);padding-left:16px;scroll-margin-top:70px}
section.critical,section.error{border-color:var(--bad)}section.warning{border-color:var(--warn)}
.head{display:flex;flex-wrap:wrap;gap:4px 10px;align-items:baseline}
.why,.fix{margin:4px 0;max-width:90ch;overflow-wrap:anywhere}.why{color:var(--soft)}
.fix b{font-weight:600}
article{border-top:1px solid var(--line);padding:8px 0;margin-top:8px}
article p{margin:2px 0;max-width:100ch;overflow-wrap:anywhere}
article ul{margin:4px 0;padding-left:18px;font-size:13px;color:var(--soft)}
article li{overflow-wrap:anywhere}article li code,.place{color:var(--ink)}
.place{font-weight:600;overflow-wrap:anywhere}
details summary{cursor:pointer}
footer ul{padding-left:18px;font-size:13px}footer li{overflow-wrap:anywhere}
@media (max-width:700px){form{position:static}main{padding:24px 16px}}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#ccc;--band:#f4f4f4;--good:#0b5e4d;--bad:#a11;
--warn:#7a5000;--good-band:#eee;--bad-band:#f6eaea;--warn-band:#faf3e0}
@page{margin:14mm}main{padding:0;max-width:none}body{font-size:11px}form{display:none}article{break-inside:avoid}}
""".strip()
