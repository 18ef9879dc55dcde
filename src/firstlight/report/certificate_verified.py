"""What came of holding a certificate against the cluster again: which one it was, whose, and what holds."""

import dataclasses
from typing import Any

from firstlight.model.certificate import OF_THE_MOMENT, Certificate, Proof, Verified
from firstlight.report import certificate as texts
from firstlight.report import certificate_data, safe

_SHOWN = 3


def text(verified: Verified, *, columns: int = 0) -> str:
    """The certificate that was given, whether it holds, and everything that does not, with what to do next."""
    given, now = verified.given, verified.now
    made = f"certificate {given.digest} of {texts.moment(given.at)}"
    verdict = "holds" if now.is_complete else "DOES NOT HOLD ANY MORE"
    stage = f" ({told})" if (told := texts.stage(given)) else ""
    ways = f"{texts.count(len(given.objects), 'object')}: {texts.givers(given.objects)} › {given.engine}"
    lines = [made, f"  seal     good: it is as it was made; {_signed(verified)}"]
    lines += ["", "   ".join([f"{verdict}{stage}", ways, *_counts(now)])]
    lines = [safe.text(each) for each in lines]
    lines += texts.body(_without_moments(now), columns=columns, then=_next(now))
    if verified.uncovered:
        lines += ["", f"  · {safe.text(_uncovered(verified))}"]
    return "\n".join(lines)


def data(verified: Verified) -> dict[str, Any]:
    """What was tried now, and beside it which certificate was given; keys are added, never renamed or removed."""
    return {
        **certificate_data.data(verified.now),
        "verified": {
            "digest": verified.given.digest,
            "at": verified.given.at,
            "sealed": True,
            "signedBy": verified.signer,
            "signerAllowed": verified.is_known,
            "notCovered": [dataclasses.asdict(each) for each in verified.uncovered],
        },
    }


def _signed(verified: Verified) -> str:
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
        f"{texts.count(sum(each.is_tried and each.holds for each in proofs), 'claim')} tried again and true",
        *([f"{moments} about the handover itself, as they were then"] if moments else []),
        *([f"{untried} that cannot be tried here"] if untried else []),
    ]


def _is_of_then(proof: Proof) -> bool:
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


def _is_told(proof: Proof) -> bool:
    return not _is_of_then(proof) or "since then" in proof.says


def _next(now: Certificate) -> str:
    """What to do where something does not hold."""
    are_objects = bool(now.missing) or any(not each.is_proven for each in now.objects)
    deeds = [f"firstlight drift {now.cluster} --correct"] if are_objects else []
    deeds += [] if all(each.is_proven for each in now.machines) else [f"firstlight handover {now.cluster}"]
    return ", then ".join(deeds)


def _uncovered(verified: Verified) -> str:
    names = ", ".join(map(str, verified.uncovered[:_SHOWN]))
    number = len(verified.uncovered)
    more = f" and {number - _SHOWN} more" if number > _SHOWN else ""
    return (
        f"{texts.count(number, 'object')} that {'passes' if number == 1 else 'pass'} today "
        f"{'is' if number == 1 else 'are'} not in it, and nothing was tried of them: {names}{more}"
    )
