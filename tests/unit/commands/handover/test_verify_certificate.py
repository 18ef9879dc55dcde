"""What --verify says of machines, and what of fields that were to go."""

import dataclasses

import pytest

from firstlight.commands.handover import handover, verify_certificate
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.handover.upgrade_preview import UpgradePreview
from firstlight.model.certificate import Certificate, CertificateClaim, CertificateStage, ClaimProof, MachineProof
from firstlight.model.component import ObjectId

CNI = ObjectId("apps", "DaemonSet", "kube-system", "flannel")
MADE = Certificate(
    cluster="infra",
    uid="u",
    engine="flux",
    revision="c0ffee",
    run="r",
    at=2,
    baseline_at=1,
    stage=CertificateStage.FINAL,
    objects=(),
    released=("cni",),
    machines=(MachineProof(machine="", proofs=(ClaimProof(claim=CertificateClaim.NOT_PRUNED, holds=True),)),),
)
CLEAN = TalosState(configs={"cp-1": ()}, has_inventory=True)


@pytest.mark.parametrize(
    ("upgrade", "holds", "is_tried"),
    [
        (UpgradePreview(), True, True),
        (UpgradePreview(written=(CNI,)), False, True),
        (UpgradePreview(deleted=(CNI,)), False, True),
        (UpgradePreview(unknown="it does not answer"), True, False),
        (None, True, False),
    ],
)
def test_what_an_upgrade_would_do_is_tried_again_or_said_not_to_be(
    upgrade: UpgradePreview | None, holds: bool, is_tried: bool
) -> None:
    proofs = [one for each in verify_certificate._machines(MADE, CLEAN, upgrade) for one in each.proofs]
    (found,) = [each for each in proofs if each.claim == CertificateClaim.NOT_PRUNED]

    assert (found.holds, found.is_tried) == (holds, is_tried)


def test_what_is_still_there_was_not_lost() -> None:
    other = dataclasses.replace(CNI, name="other")
    before = {CNI: frozenset({"spec.a", "spec.b"}), other: frozenset({"spec.c"})}

    assert handover.lost(before, {}) == 3
    assert handover.lost(before, {CNI: frozenset({"spec.a"})}) == 2
    assert handover.lost({}, before) == 0
