"""A certificate as text: what it says in a line, what failed and where, and every component with its objects."""

import datetime
from collections.abc import Iterable, Sequence

from firstlight.drawing import safe, table
from firstlight.model.certificate import (
    OF_PODS,
    Certificate,
    CertificateClaim,
    CertificateStage,
    ClaimProof,
    ObjectProof,
)

_SEAL = 12
"""Characters of the seal that tell certificates apart at a glance."""
_BOOTSTRAP = "bootstrap"
_OWN = {"firstlight": _BOOTSTRAP}
"""Managers that people know under another name."""


def headline(certificate: Certificate) -> str:
    """The whole in a line: ``certificate 4f2c…  complete   38 objects: talos › flux``."""
    what = "complete" if certificate.is_complete else "NOT COMPLETE"
    told = stage(certificate)
    proofs = [*(each.proofs for each in certificate.objects), *(each.proofs for each in certificate.machines)]
    untried = sum(not one.is_tried for each in proofs for one in each)
    objects = count(len(certificate.objects), "object")
    fields = sum(each.fields for each in certificate.objects)
    parts = [
        f"certificate {certificate.digest[:_SEAL]}…  {what}{f' ({told})' if told else ''}",
        f"{objects}: {' › '.join(part for part in (givers(certificate.objects), certificate.engine) if part)}",
        f"{count(fields, 'field')} owned",
        pods(certificate),
        *([f"{count(untried, 'claim')} not tried"] if untried else []),
    ]
    return safe.text("   ".join(parts))


def stage(certificate: Certificate) -> str:
    """How far it goes, where that is not to the end: ``provisional: Talos keeps 2 objects``."""
    if certificate.stage == CertificateStage.FINAL:
        return ""
    kept = len(certificate.staying)
    return f"{certificate.stage.value}: Talos keeps {count(kept, 'object')}" if kept else certificate.stage.value


def text(certificate: Certificate, *, columns: int = 0) -> str:
    """The whole: the headline, failures, components, machines, and what could not be tried."""
    lines = [headline(certificate), "", *body(certificate, columns=columns)]
    sealed = f"  sealed {certificate.digest} at {moment(certificate.at)}{_signed(certificate)}"
    return "\n".join([*lines, "", safe.text(sealed)])


def body(certificate: Certificate, *, columns: int = 0, then: str = "") -> list[str]:
    """Failures, components, machines, and what could not be tried.

    Args:
        certificate: What is told.
        columns: How wide the terminal is.
        then: What to do where something does not hold; empty to leave that out.
    """
    bad, untried = failures(certificate), [*agreed(certificate), *notes(certificate)]
    rows = [
        [f"{'✔' if all(each.is_proven for each in mine) else '✘'} {safe.text(name)}", str(len(mine)),
         safe.text(", ".join(sorted({each.owner for each in mine})))]
        for name, mine in components(certificate)
    ]  # fmt: skip
    for each in certificate.machines:
        mark = "✔" if each.is_proven else "✘"
        rows.append([f"{mark} {safe.text(each.machine or 'Talos')}", "", "; ".join(_told(one) for one in each.proofs)])
    lines = [f"  ✘ {safe.text(each)}" for each in bad]
    lines += [f"  next     {safe.text(then)}"] if bad and then else []
    lines += [""] if bad else []
    lines += table.render(rows, indent="  ", columns=columns)
    lines += ["", *(f"  · {safe.text(each)}" for each in untried)] if untried else []
    if certificate.kept:
        lines += ["", f"  bootstrap keeps {safe.text(', '.join(certificate.kept))}, as the repo says"]
    return lines


def failures(certificate: Certificate) -> list[str]:
    """Everything that does not hold: where, which claim, what was seen."""
    found = [f"{each} is not there" for each in certificate.missing]
    missing = {each.id for each in certificate.objects if not each.uid}
    for each in certificate.objects:
        if each.id not in missing:
            found += [f"{each.id}: {_failed(one)}" for one in each.proofs if not one.is_fine]
            found += [] if each.proofs else [f"{each.id}: nothing was tried"]
    for machine in certificate.machines:
        where = machine.machine or "Talos"
        found += [f"{where}: {_failed(one)}" for one in machine.proofs if not one.holds]
    return found or ([] if certificate.objects else ["it covers no object"])


def agreed(certificate: Certificate) -> list[str]:
    """What does not hold, and somebody agreed to that."""
    return [
        f"agreed: {each.id}: {_failed(one)}"
        for each in certificate.objects
        for one in each.proofs
        if not one.holds and one.is_fine
    ]


def notes(certificate: Certificate) -> list[str]:
    """What could not be tried and why, each reason once."""
    reasons: dict[tuple[CertificateClaim, str], list[str]] = {}
    for each in certificate.objects:
        for one in each.proofs:
            if not one.is_tried:
                reasons.setdefault((one.claim, one.says), []).append(str(each.id))
    for machine in certificate.machines:
        for one in machine.proofs:
            if not one.is_tried:
                reasons.setdefault((one.claim, one.says), []).append(machine.machine or "Talos")
    return [
        f"not tried: {claim.value}: {_some(those)} ({says})" for (claim, says), those in reasons.items()
    ]  # fmt: skip


def components(certificate: Certificate) -> list[tuple[str, list[ObjectProof]]]:
    """The objects by component; those in which something failed first."""
    found: dict[str, list[ObjectProof]] = {}
    for each in certificate.objects:
        found.setdefault(each.component, []).append(each)
    return sorted(found.items(), key=lambda each: (all(one.is_proven for one in each[1]), each[0]))


def givers(objects: Iterable[ObjectProof]) -> str:
    """Who owned objects before, those aside who own them now and those who only write beside.

    What bootstrap applied as the engine from the start had no other owner: bootstrap gave it.
    """
    before: set[str] = set()
    for each in objects:
        now = {other.manager for other in each.after}
        former = {one.manager for one in each.before if not one.subresource and one.manager not in now}
        before |= {_OWN.get(name, name) for name in former} or {_BOOTSTRAP}
    return ", ".join(sorted(before))


def pods(certificate: Certificate) -> str:
    """What became of pods, in words."""
    tried = [one for each in certificate.objects for one in each.proofs if one.claim == CertificateClaim.SAME_PODS]
    if not tried:
        return "no workloads"
    return moved(certificate) or "no pod replaced or restarted"


def moved(certificate: Certificate) -> str:
    """Workloads whose pods are not the ones of before, in words; empty if there are none."""
    found = [each for each in certificate.objects if any(_is_moved(one) for one in each.proofs)]
    as_agreed = sum(all(one.is_fine for one in each.proofs if _is_moved(one)) for each in found)
    if not found:
        return ""
    told = "" if not as_agreed else ", as agreed" if as_agreed == len(found) else f", {as_agreed} of them as agreed"
    return f"pods of {count(len(found), 'workload')} replaced or restarted{told}"


def moment(seconds: int) -> str:
    """A time for people, the same everywhere."""
    try:
        return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (ValueError, OverflowError, OSError):  # a file may say anything
        return f"{seconds} seconds after 1970"


def _is_moved(proof: ClaimProof) -> bool:
    return proof.claim in OF_PODS and not proof.holds


def count(number: int, word: str) -> str:
    """``1 object``, ``2 objects``."""
    return f"{number} {word}{'s' if number != 1 else ''}"


def _signed(certificate: Certificate) -> str:
    return ", signed" if certificate.signature else ""


def _told(proof: ClaimProof) -> str:
    return safe.text(proof.claim.value if proof.holds else _failed(proof))


def _failed(proof: ClaimProof) -> str:
    return f"{proof.says} (not so: {proof.claim.value})"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
