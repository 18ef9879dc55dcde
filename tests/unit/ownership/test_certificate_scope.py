"""What a certificate covers, what of it stays when more is proven, and what somebody may agree to."""

import dataclasses

import pytest

from firstlight.model.certificate import Certificate, CertificateClaim, CertificateStage, ClaimProof, ObjectProof
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.rendition import Object
from firstlight.ownership import certificate_scope, certificate_seal

NET, DNS = ObjectId("", "ConfigMap", "kube-system", "net"), ObjectId("", "ConfigMap", "kube-system", "dns")
STAYS = ClaimProof(claim=CertificateClaim.RELEASED, holds=True, is_tried=False, says="Talos keeps it")
PODS = ClaimProof(claim=CertificateClaim.SAME_PODS, holds=False, says="pod a is not there any more")


def proven(id: ObjectId, *proofs: ClaimProof) -> ObjectProof:
    """An object of which everything holds."""
    found = (ClaimProof(claim=CertificateClaim.OWNED, holds=True), *proofs)
    return ObjectProof(id=id, component="all", manager="m", owner="o", uid="1", proofs=found)


def certificate(*objects: ObjectProof, stage: CertificateStage = CertificateStage.FINAL) -> Certificate:
    """A certificate of some objects."""
    return Certificate(
        cluster="infra", uid="u", engine="flux", revision="", run="", at=1, baseline_at=1, stage=stage, objects=objects
    )


def passing(id: ObjectId) -> Passing:
    """An object that passes."""
    value = {"apiVersion": "v1", "kind": id.kind, "metadata": {"name": id.name, "namespace": id.namespace}}
    owner = ObjectOwner(Party.FLUX, "Kustomization flux/all")
    return Passing(object=Object(value), component="all", manager="m", owner=owner)


@pytest.mark.parametrize(
    ("was", "now", "left"), [((), (), 0), ((STAYS,), (NET,), 0), ((), (NET,), 1), ((STAYS,), (), 1)]
)
def test_it_covers_what_is_as_it_was(was: tuple[ClaimProof, ...], now: tuple[ObjectId, ...], left: int) -> None:
    kept = certificate(proven(NET, *was), proven(DNS))
    found = certificate_scope.unproven([passing(NET), passing(DNS)], kept, staying=now)
    assert [each.id for each in found] == [NET][:left]


def test_one_that_only_came_before_a_release_does_not_stand() -> None:
    assert certificate_scope.standing_certificate(None) is None
    assert certificate_scope.standing_certificate(certificate(proven(NET), stage=CertificateStage.PROVISIONAL)) is None
    for each in (certificate(proven(NET)), certificate(proven(NET, STAYS), stage=CertificateStage.PROVISIONAL)):
        assert certificate_scope.standing_certificate(each) == each


def test_what_was_claimed_of_pods_at_first_stays() -> None:
    held = dataclasses.replace(PODS, holds=True, says="1 of 1")
    kept = certificate(proven(NET, held, STAYS), proven(DNS))

    found = certificate_scope.renewed([proven(NET, PODS)], kept)

    assert [each.id for each in found] == [DNS, NET]
    assert found[1].proofs == (ClaimProof(claim=CertificateClaim.OWNED, holds=True), held), (
        "Talos does not keep it any more"
    )
    another = dataclasses.replace(proven(NET, PODS), uid="2")
    assert certificate_scope.renewed([another], kept)[1] == another, "the pods of another object are not those"


def test_what_somebody_agrees_to() -> None:
    made = certificate_seal.seal(certificate(proven(NET, PODS), proven(DNS)))

    found = certificate_scope.with_agreed(made, [NET])

    assert not made.is_complete
    assert found.is_complete
    assert certificate_seal.is_sealed(found)
    assert found.digest != made.digest
    assert found.objects[0].proofs[1].says == "replaced, as agreed: pod a is not there any more"
    assert not found.objects[0].proofs[1].holds, "it is not so, whoever agrees"
    assert certificate_scope.with_agreed(made, [DNS]) == made
    assert certificate_scope.with_agreed(made) == found
    assert certificate_scope.with_agreed(found) == found


def test_nobody_agrees_to_anything_but_pods() -> None:
    bad = ClaimProof(claim=CertificateClaim.ALONE, holds=False, says="talos (Apply) owns data.word")
    made = certificate_seal.seal(certificate(proven(NET, bad)))
    assert certificate_scope.with_agreed(made) == made
