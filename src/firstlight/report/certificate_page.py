"""A certificate as a page for people: stands alone, light and dark, and prints with everything unfolded."""

import html
from collections.abc import Iterable, Iterator, Sequence

from firstlight.model.baseline import OwnerSeen
from firstlight.model.certificate import Certificate, Claim, MachineProof, ObjectProof, Proof, Stage
from firstlight.report import certificate as texts
from firstlight.report import safe
from firstlight.report.certificate_style import STYLE

_COLUMNS = {
    Claim.SAME_OBJECT: "same",
    Claim.MARKED: "listed",
    Claim.OWNED: "owned",
    Claim.ALONE: "alone",
    Claim.NO_OP: "no-op",
    Claim.REPEATED: "repeated",
    Claim.VANISHES: "vanishes",
    Claim.SAME_TEMPLATE: "template",
    Claim.SAME_REVISION: "revision",
    Claim.SAME_PODS: "pods",
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
    stage = texts.stage(certificate)
    stage = "provisional: Talos still has its manifests" if stage == Stage.PROVISIONAL else stage or "final"
    yield f'<header><p class="kind">Certificate of handover, {stage}</p>'
    yield f'<h1>{_e(title)} <span class="badge {kind}">{word}</span></h1>'
    count = texts.count(len(certificate.objects), "object")
    givers = texts.givers(certificate.objects) or "bootstrap"
    yield f'<p class="lead">{count} passed from <b>{_e(givers)}</b> to <b>{_e(certificate.engine)}</b>.</p>'
    facts = [
        ("commit", certificate.revision or "not known"),
        ("proven", texts.moment(certificate.at)),
        ("held against", f"baseline of {texts.moment(certificate.baseline_at)}"),
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
    workloads = sum(one.claim == Claim.SAME_TEMPLATE for one in proofs)
    failed = len(texts.failures(certificate))
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
    return str(number), texts.count(number, word).partition(" ")[2], ""


def _failures(certificate: Certificate) -> Iterator[str]:
    found = texts.failures(certificate)
    if not found:
        return
    yield '<section class="failures"><h2>What does not hold</h2><ul>'
    yield from (f"<li>{_e(each)}</li>" for each in found)
    yield "</ul></section>"


def _components(certificate: Certificate) -> Iterator[str]:
    yield "<section><h2>Components</h2>"
    for name, objects in texts.components(certificate):
        is_fine = all(each.is_proven for each in objects)
        owners = ", ".join(sorted({each.owner for each in objects}))
        fields = sum(each.fields for each in objects)
        yield f"<details{'' if is_fine else ' open'}><summary>"
        yield f'{_mark(is_fine)}<span class="name">{_e(name)}</span>'
        yield f'<span class="owner">{_e(texts.givers(objects))} › {_e(owners)}</span>'
        size = f"{texts.count(len(objects), 'object')}, {texts.count(fields, 'field')}"
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


def _cell(proof: Proof | None) -> str:
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
    found = texts.agreed(certificate)
    if found:
        yield '<section><h2>What does not hold, as agreed</h2><ul class="notes">'
        yield from (f"<li>{_e(each.removeprefix('agreed: '))}</li>" for each in found)
        yield "</ul></section>"


def _notes(certificate: Certificate) -> Iterator[str]:
    found = texts.notes(certificate)
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
