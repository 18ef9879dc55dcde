"""What a certificate covers, and what of an earlier one stays: what was proven once is proven."""

import dataclasses
from collections.abc import Collection, Sequence

from firstlight.model.certificate import OF_PODS, Certificate, CertificateStage, ClaimProof, ObjectProof
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.ownership import certificate_seal


def standing_certificate(kept: Certificate | None) -> Certificate | None:
    """A kept certificate, if it was made at the end of a handover; None for one that only came before a release."""
    return kept if kept is not None and (kept.stage == CertificateStage.FINAL or kept.staying) else None


def unproven(
    passing: Sequence[Passing], kept: Certificate | None, *, staying: Collection[ObjectId] = ()
) -> tuple[Passing, ...]:
    """What a certificate does not cover yet, or covers as what Talos keeps, or does not keep, and it is not so now.

    Args:
        passing: What the engine is to own.
        kept: The certificate.
        staying: What of it Talos keeps as well.
    """
    objects = kept.objects if kept is not None else ()
    stays = uncovered([each for each in passing if each.id in staying], [each for each in objects if each.is_staying])
    goes = uncovered(
        [each for each in passing if each.id not in staying], [each for each in objects if not each.is_staying]
    )
    left = {each.id for each in (*stays, *goes)}
    return tuple(each for each in passing if each.id in left)


def uncovered(passing: Sequence[Passing], objects: Sequence[ObjectProof]) -> tuple[Passing, ...]:
    """What nothing was proven of."""
    proven = {each.id for each in objects}
    # A repo may name a namespace for what has none, and none for what has one.
    names = {(each.group, each.kind, each.name) for each in proven}
    wide = {(each.group, each.kind, each.name) for each in proven if not each.namespace}
    return tuple(
        each
        for each in passing
        if each.id not in proven
        and (each.id.group, each.id.kind, each.id.name) not in (wide if each.id.namespace else names)
    )


def renewed(fresh: Sequence[ObjectProof], kept: Certificate | None) -> tuple[ObjectProof, ...]:
    """What was proven now and before; what was claimed of pods at first stays, since they may be others by now."""
    former = {each.id: each for each in kept.objects} if kept is not None else {}
    now = {each.id: _with_pods(each, former[each.id]) if each.id in former else each for each in fresh}
    return tuple(sorted({**former, **now}.values(), key=lambda each: each.id))


def _with_pods(now: ObjectProof, former: ObjectProof) -> ObjectProof:
    if now.uid != former.uid:
        return now
    mine = [each for each in now.proofs if each.claim not in OF_PODS]
    proofs = (*mine, *(each for each in former.proofs if each.claim in OF_PODS))
    return dataclasses.replace(now, before=former.before, proofs=proofs)


def with_agreed(certificate: Certificate, ids: Collection[ObjectId] | None = None) -> Certificate:
    """A certificate in which somebody agreed that pods are others than before; sealed anew.

    Args:
        certificate: As it was made.
        ids: Those whose pods may be others; all if it is not given.
    """
    objects = tuple(
        dataclasses.replace(each, proofs=tuple(map(_agreed, each.proofs))) if ids is None or each.id in ids else each
        for each in certificate.objects
    )
    return certificate_seal.seal(dataclasses.replace(certificate, objects=objects))


def _agreed(proof: ClaimProof) -> ClaimProof:
    if proof.is_fine or proof.claim not in OF_PODS:
        return proof
    return dataclasses.replace(proof, is_agreed=True, says=f"replaced, as agreed: {proof.says}")


# The seal of a certificate: SHA-256 over everything in it but the seal and the signature, as canonical JSON.
#
# It is of the JSON as it is written, whatever keys that has: a certificate of another version of firstlight, with keys
# more or less, is as good as it was.
