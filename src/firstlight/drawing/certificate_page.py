"""A certificate as a page for people: stands alone, light and dark, and prints with everything unfolded."""

import html
from collections.abc import Iterable, Iterator, Sequence

from firstlight.drawing import certificate_text, safe
from firstlight.model.certificate import (
    Certificate,
    CertificateClaim,
    CertificateStage,
    ClaimProof,
    MachineProof,
    ObjectProof,
)
from firstlight.model.handover import OwnerSeen

_COLUMNS = {
    CertificateClaim.SAME_OBJECT: "same",
    CertificateClaim.MARKED: "listed",
    CertificateClaim.OWNED: "owned",
    CertificateClaim.ALONE: "alone",
    CertificateClaim.NO_OP: "no-op",
    CertificateClaim.REPEATED: "repeated",
    CertificateClaim.VANISHES: "vanishes",
    CertificateClaim.SAME_TEMPLATE: "template",
    CertificateClaim.SAME_REVISION: "revision",
    CertificateClaim.SAME_PODS: "pods",
}
"""The claims about objects, with a word for each."""


def page(certificate: Certificate) -> str:
    """The whole page."""
    title = f"Handover of {certificate.cluster}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{_e(title)}</title>",
        f"<style>{STYLE}</style></head><body><main>",
        *_head(certificate, title),
        *_counts(certificate),
        *_failures(certificate),
        *_components(certificate),
        *_machines(certificate.machines),
        *_agreed(certificate),
        *_notes(certificate),
        *_legend(),
        *_seal(certificate),
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _head(certificate: Certificate, title: str) -> Iterator[str]:
    kind = "good" if certificate.is_complete else "bad"
    word = "complete" if certificate.is_complete else "not complete"
    stage = certificate_text.stage(certificate)
    stage = "provisional: Talos still has its manifests" if stage == CertificateStage.PROVISIONAL else stage or "final"
    yield f'<header><p class="kind">Certificate of handover, {stage}</p>'
    yield f'<h1>{_e(title)} <span class="badge {kind}">{word}</span></h1>'
    count = certificate_text.count(len(certificate.objects), "object")
    givers = certificate_text.givers(certificate.objects) or "bootstrap"
    yield f'<p class="lead">{count} passed from <b>{_e(givers)}</b> to <b>{_e(certificate.engine)}</b>.</p>'
    facts = [
        ("commit", certificate.revision or "not known"),
        ("proven", certificate_text.moment(certificate.at)),
        ("held against", f"baseline of {certificate_text.moment(certificate.baseline_at)}"),
        ("cluster", f"kube-system {certificate.uid}"),
        ("run", certificate.run or "none"),
    ]
    if certificate.released:
        facts.append(("released by Talos", ", ".join(certificate.released)))
    if certificate.kept:
        facts.append(("kept by bootstrap", ", ".join(certificate.kept)))
    yield '<dl class="facts">'
    yield from (f"<div><dt>{_e(key)}</dt><dd>{_e(value)}</dd></div>" for key, value in facts)
    yield "</dl></header>"


def _counts(certificate: Certificate) -> Iterator[str]:
    proofs = [one for each in certificate.objects for one in each.proofs]
    workloads = sum(one.claim == CertificateClaim.SAME_TEMPLATE for one in proofs)
    failed = len(certificate_text.failures(certificate))
    held = sum(one.holds and one.is_tried for one in proofs)
    numbers = [
        _number(len(certificate.objects), "object"),
        (str(sum(each.fields for each in certificate.objects)), "fields of Git", ""),
        _number(workloads, "workload"),
        _number(sum(1 for each in certificate.machines if each.machine), "machine"),
        (str(held), "claims held", "good"),
        (str(failed), "failed", "bad" if failed else ""),
        (str(sum(not one.is_tried for one in proofs)), "not tried", ""),
    ]
    yield '<section class="counts">'
    yield from (f'<div class="{kind}"><b>{number}</b><span>{word}</span></div>' for number, word, kind in numbers)
    yield "</section>"


def _number(number: int, word: str) -> tuple[str, str, str]:
    return str(number), certificate_text.count(number, word).partition(" ")[2], ""


def _failures(certificate: Certificate) -> Iterator[str]:
    found = certificate_text.failures(certificate)
    if not found:
        return
    yield '<section class="failures"><h2>What does not hold</h2><ul>'
    yield from (f"<li>{_e(each)}</li>" for each in found)
    yield "</ul></section>"


def _components(certificate: Certificate) -> Iterator[str]:
    yield "<section><h2>Components</h2>"
    for name, objects in certificate_text.components(certificate):
        is_fine = all(each.is_proven for each in objects)
        owners = ", ".join(sorted({each.owner for each in objects}))
        fields = sum(each.fields for each in objects)
        yield f"<details{'' if is_fine else ' open'}><summary>"
        yield f'{_mark(is_fine)}<span class="name">{_e(name)}</span>'
        yield f'<span class="owner">{_e(certificate_text.givers(objects))} › {_e(owners)}</span>'
        size = f"{certificate_text.count(len(objects), 'object')}, {certificate_text.count(fields, 'field')}"
        yield f'<span class="number">{size}</span></summary>'
        yield from _table(objects)
        yield "</details>"
    yield "</section>"


def _table(objects: Sequence[ObjectProof]) -> Iterator[str]:
    yield '<div class="wide"><table><thead><tr><th>object</th>'
    yield from (f'<th class="claim" title="{_e(claim.value)}">{word}</th>' for claim, word in _COLUMNS.items())
    yield "<th>owners before › after</th></tr></thead><tbody>"
    for each in sorted(objects, key=lambda one: (one.is_proven, one.id)):
        by_claim = {one.claim: one for one in each.proofs}
        uid = _e(each.uid or "not there")
        yield f'<tr><td class="object"><b>{_e(str(each.id))}</b><small>{uid}</small></td>'
        yield from (_cell(by_claim.get(claim)) for claim in _COLUMNS)
        yield f"<td><small>{_owners(each.before)} › {_owners(each.after)}</small></td></tr>"
    yield "</tbody></table></div>"


def _cell(proof: ClaimProof | None) -> str:
    if proof is None:
        return '<td class="claim"></td>'
    title = _e(f"{proof.claim.value}{f': {proof.says}' if proof.says else ''}")
    if not proof.is_tried:
        return f'<td class="claim" title="{title}"><span class="none">·</span></td>'
    if not proof.holds and proof.is_fine:
        return f'<td class="claim" title="{title}"><span class="none">agreed</span></td>'
    return f'<td class="claim" title="{title}">{_mark(proof.holds)}</td>'


def _machines(machines: Sequence[MachineProof]) -> Iterator[str]:
    if not machines:
        return
    yield "<section><h2>Talos</h2><table><tbody>"
    for each in machines:
        for proof in each.proofs:
            mark = _mark(proof.holds) if proof.is_tried else '<span class="none">·</span>'
            yield (
                f"<tr><td>{mark}</td><td><b>{_e(each.machine or 'all of Talos')}</b></td>"
                f"<td>{_e(proof.claim.value)}</td><td><small>{_e(proof.says)}</small></td></tr>"
            )
    yield "</tbody></table></section>"


def _agreed(certificate: Certificate) -> Iterator[str]:
    found = certificate_text.agreed(certificate)
    if found:
        yield '<section><h2>What does not hold, as agreed</h2><ul class="notes">'
        yield from (f"<li>{_e(each.removeprefix('agreed: '))}</li>" for each in found)
        yield "</ul></section>"


def _notes(certificate: Certificate) -> Iterator[str]:
    found = certificate_text.notes(certificate)
    if found:
        yield '<section><h2>What could not be tried</h2><ul class="notes">'
        yield from (f"<li>{_e(each.removeprefix('not tried: '))}</li>" for each in found)
        yield "</ul></section>"


def _legend() -> Iterator[str]:
    yield '<section><h2>What is claimed</h2><dl class="legend">'
    yield from (f"<div><dt>{word}</dt><dd>{_e(claim.value)}</dd></div>" for claim, word in _COLUMNS.items())
    yield "</dl></section>"


def _seal(certificate: Certificate) -> Iterator[str]:
    signed = "Signed with an SSH key" if certificate.signature else "Not signed"
    yield f'<footer><h2>Seal</h2><p class="seal">SHA-256 {_e(certificate.digest or "none")}</p>'
    yield (
        f"<p>{signed}. No content of objects is in a certificate, only names, paths and digests. Held against the "
        "cluster again: <code>firstlight handover --verify certificate.json</code></p></footer>"
    )


def _owners(owners: Iterable[OwnerSeen]) -> str:
    names = sorted({each.manager for each in owners if not each.subresource})
    return _e(", ".join(names) or "nobody")


def _mark(is_fine: bool) -> str:
    return '<span class="yes">✔</span>' if is_fine else '<span class="no">✘</span>'


def _e(text: str) -> str:
    return html.escape(safe.text(text))


# How the page of a certificate looks: calm, light and dark, and on paper.


STYLE = """
:root{--paper:#fff;--ink:#1c2430;--soft:#5b6675;--line:#e3e6ea;--band:#f6f7f9;--good:#12806a;--bad:#c62828;
--good-band:#e2f4ef;--bad-band:#fbe9e9}
@media (prefers-color-scheme:dark){:root{--paper:#0f141a;--ink:#e4e9f0;--soft:#97a3b4;--line:#242c37;--band:#151b23;
--good:#35b79b;--bad:#f0837c;--good-band:#12332c;--bad-band:#3d1c1b}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);line-height:1.45;
font:15px/1.45 Inter,ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
main{max-width:1180px;margin:0 auto;padding:40px 28px 64px}
h1{font-size:30px;font-weight:650;margin:2px 0 6px;letter-spacing:-.01em}
h2{font-size:15px;font-weight:650;margin:0 0 10px}
section,footer{margin-top:34px}
.kind,.lead,small,.owner,.number,dt,.notes,footer p{color:var(--soft)}
.kind{margin:0;font-size:13px}
.lead{font-size:17px;margin:0 0 18px}.lead b{color:var(--ink);font-weight:600}
.badge{display:inline-block;font-size:14px;font-weight:600;padding:3px 12px;border-radius:99px;vertical-align:5px;
margin-left:8px;letter-spacing:0}
.badge.good{background:var(--good-band);color:var(--good)}.badge.bad{background:var(--bad-band);color:var(--bad)}
.facts,.legend{display:grid;grid-template-columns:repeat(auto-fill,minmax(340px,1fr));gap:6px 28px;margin:0}
.facts div,.legend div{display:flex;gap:12px;min-width:0}
dt{flex:0 0 112px;font-size:13px}.legend dt{flex-basis:72px}
dd{margin:0;font-size:13px;overflow-wrap:anywhere}
.counts{display:flex;flex-wrap:wrap;gap:8px}
.counts div{flex:1 1 110px;background:var(--band);border-radius:8px;padding:12px 14px}
.counts b{display:block;font-size:24px;font-weight:650;font-variant-numeric:tabular-nums}
.counts span{font-size:12px;color:var(--soft)}
.counts .good b{color:var(--good)}.counts .bad b{color:var(--bad)}
.failures{background:var(--bad-band);border-left:4px solid var(--bad);border-radius:6px;padding:18px 22px}
.failures h2{color:var(--bad)}.failures ul,.notes{margin:0;padding-left:18px}
.failures li,.notes li{margin:3px 0;overflow-wrap:anywhere}.notes{font-size:13px}
details{border-top:1px solid var(--line)}details:last-of-type{border-bottom:1px solid var(--line)}
summary{display:flex;align-items:baseline;gap:12px;padding:9px 4px;cursor:pointer;list-style:none}
summary::-webkit-details-marker{display:none}
summary::after{content:"›";color:var(--soft);transition:transform .1s}
details[open] summary::after{transform:rotate(90deg)}
.name{font-weight:600}.owner{flex:1;font-size:13px;overflow-wrap:anywhere}
.number{font-size:13px;font-variant-numeric:tabular-nums;white-space:nowrap}
.wide{overflow-x:auto;padding-bottom:14px}
table{border-collapse:collapse;width:100%;font-size:13px}
th{text-align:left;font-weight:500;color:var(--soft);font-size:12px;padding:4px 8px;white-space:nowrap}
td{padding:5px 8px;border-top:1px solid var(--line);vertical-align:top}
.claim{text-align:center;width:1%}
.object b{font-weight:550;overflow-wrap:anywhere}
.object small{display:block;font-size:11px;font-family:ui-monospace,Menlo,monospace}
.yes{color:var(--good)}.no{color:var(--bad);font-weight:700}.none{color:var(--soft)}
.seal,code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
.seal{font-size:13px;background:var(--band);padding:10px 14px;border-radius:6px;color:var(--ink);overflow-wrap:anywhere}
code{font-size:12px}footer p{font-size:13px;margin:8px 0}
@media print{:root{--paper:#fff;--ink:#000;--soft:#444;--line:#ccc;--band:#f4f4f4;--good:#0b5e4d;--bad:#a11;
--good-band:#eee;--bad-band:#f6eaea}
@page{margin:14mm}main{padding:0;max-width:none}body{font-size:11px}
summary::after{display:none}details::details-content{content-visibility:visible;block-size:auto}
details>*{display:block}summary{display:flex}.wide{overflow:visible}tr,.failures li{break-inside:avoid}
td,th{padding:3px}table{font-size:10px}th{font-size:8px}.object b{font-size:10px}.object small{font-size:8px}
.counts div{flex:1 1 70px;padding:8px 10px}}
""".strip()
