"""What came of holding a certificate against the cluster again: which one it was, whose, and what holds."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight.commands.handover.output_form import HandoverRunData, ProvenData
from firstlight.drawing import certificate_text, safe
from firstlight.model.certificate import OF_THE_MOMENT, Certificate, ClaimProof, VerifiedCertificate
from firstlight.model.verdict import Verdict, lets_on

_SHOWN = 3


def verified_text(verified: VerifiedCertificate, *, columns: int = 0) -> str:
    """The certificate that was given, whether it holds, and everything that does not, with what to do next."""
    given, now = verified.given, verified.now
    made = f"certificate {given.digest} of {certificate_text.moment(given.at)}"
    verdict = "holds" if now.is_complete else "DOES NOT HOLD ANY MORE"
    stage = f" ({told})" if (told := certificate_text.stage(given)) else ""
    ways = (
        f"{certificate_text.count(len(given.objects), 'object')}: "
        f"{certificate_text.givers(given.objects)} › {given.engine}"
    )
    lines = [made, f"  seal     good: it is as it was made; {_signed(verified)}"]
    lines += ["", "   ".join([f"{verdict}{stage}", ways, *_counts(now)])]
    lines = [safe.text(each) for each in lines]
    lines += certificate_text.body(_without_moments(now), columns=columns, then=_next(now))
    if verified.uncovered:
        lines += ["", f"  · {safe.text(_uncovered(verified))}"]
    return "\n".join(lines)


def verified_data(verified: VerifiedCertificate) -> dict[str, Any]:
    """What was tried now, and beside it which certificate was given; keys are added, never renamed or removed."""
    return {
        **sealed_data(verified.now),
        "verified": {
            "digest": verified.given.digest,
            "at": verified.given.at,
            "sealed": True,
            "signedBy": verified.signer,
            "signerAllowed": verified.is_known,
            "notCovered": [dataclasses.asdict(each) for each in verified.uncovered],
        },
    }


def _signed(verified: VerifiedCertificate) -> str:
    if not verified.signer:
        return "nobody signed it, so that whoever changed it could have sealed it anew"
    if verified.is_known:
        return f"signed by {verified.signer}"
    return f"signed by the key {verified.signer}; whose that is tells --signers FILE"


def _counts(now: Certificate) -> list[str]:
    """How many claims hold, stand as they were, or could not be tried: what is not tried again is no flaw."""
    proofs = [one for each in now.objects for one in each.proofs]
    proofs += [one for each in now.machines for one in each.proofs]
    moments = sum(_is_of_then(each) for each in proofs)
    untried = sum(not each.is_tried and not _is_of_then(each) for each in proofs)
    return [
        f"{certificate_text.count(sum(each.is_tried and each.holds for each in proofs), 'claim')} tried again and true",
        *([f"{moments} about the handover itself, as they were then"] if moments else []),
        *([f"{untried} that cannot be tried here"] if untried else []),
    ]


def _is_of_then(proof: ClaimProof) -> bool:
    return not proof.is_tried and proof.holds and proof.claim in OF_THE_MOMENT


def _without_moments(now: Certificate) -> Certificate:
    """Without claims about the handover itself that nothing is to be said of: those of which something came since."""
    return dataclasses.replace(
        now,
        objects=tuple(
            dataclasses.replace(each, proofs=tuple(one for one in each.proofs if _is_told(one)) or each.proofs)
            for each in now.objects
        ),
    )


def _is_told(proof: ClaimProof) -> bool:
    return not _is_of_then(proof) or proof.is_overtaken


def _next(now: Certificate) -> str:
    """What to do where something does not hold."""
    are_objects = bool(now.missing) or any(not each.is_proven for each in now.objects)
    deeds = [f"firstlight drift {now.cluster} --correct"] if are_objects else []
    deeds += [] if all(each.is_proven for each in now.machines) else [f"firstlight handover {now.cluster}"]
    return ", then ".join(deeds)


def _uncovered(verified: VerifiedCertificate) -> str:
    names = ", ".join(map(str, verified.uncovered[:_SHOWN]))
    number = len(verified.uncovered)
    more = f" and {number - _SHOWN} more" if number > _SHOWN else ""
    return (
        f"{certificate_text.count(number, 'object')} that {'passes' if number == 1 else 'pass'} today "
        f"{'is' if number == 1 else 'are'} not in it, and nothing was tried of them: {names}{more}"
    )


# A certificate as data, for JSON: what is sealed, as it is sealed; and beside it what follows from it.


def sealed_data(certificate: Certificate) -> dict[str, Any]:
    """Everything; keys are added, never renamed or removed."""
    return {
        "complete": certificate.is_complete,
        "failures": certificate_text.failures(certificate),
        "agreed": certificate_text.agreed(certificate),
        "notTried": certificate_text.notes(certificate),
        "certificate": dataclasses.asdict(certificate),
    }


# A handover as data for JSON: keys are added, never renamed or removed.


def run_data(cluster: str, outcomes: Mapping[str, Verdict], *, is_refused: bool) -> HandoverRunData:
    """What came of the steps."""
    is_fine = all(map(lets_on, outcomes.values()))
    return {
        "cluster": cluster,
        "verdict": "refused" if is_refused else "passed" if is_fine else "failed",
        "steps": [
            {"id": name, "verdict": type(each).__name__.lower(), "reason": each.reason}
            for name, each in outcomes.items()
        ],
    }  # fmt: skip


def proven_data(made: Certificate, *, path: Path | None) -> ProvenData:
    """A certificate in short; the file has everything."""
    return {
        "digest": made.digest,
        "complete": made.is_complete,
        "stage": str(made.stage),
        "revision": made.revision,
        "objects": len(made.objects),
        "kept": list(made.kept),
        "missing": list(made.missing),
        "failures": certificate_text.failures(made),
        "path": str(path) if path is not None else "",
        "page": str(path.with_suffix(".html")) if path is not None else "",
    }
