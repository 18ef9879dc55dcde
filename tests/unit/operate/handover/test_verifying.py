"""What --verify says of machines, and what of fields that were to go."""

import dataclasses

import pytest

from firstlight.execute.handing.releasing import TalosState
from firstlight.execute.handing.upgrade_preview import Preview
from firstlight.model.certificate import Certificate, Claim, MachineProof, Proof, Stage
from firstlight.model.component import ObjectId
from firstlight.operate.handover import running, verifying

CNI = ObjectId("apps", "DaemonSet", "kube-system", "flannel")
MADE = Certificate(
    cluster="infra", uid="u", engine="flux", revision="c0ffee", run="r", at=2, baseline_at=1, stage=Stage.FINAL,
    objects=(), released=("cni",),
    machines=(MachineProof(machine="", proofs=(Proof(claim=Claim.NOT_PRUNED, holds=True),)),),
)  # fmt: skip
CLEAN = TalosState(configs={"cp-1": ()}, has_inventory=True)


@pytest.mark.parametrize(
    ("upgrade", "holds", "is_tried"),
    [
        (Preview(), True, True),
        (Preview(written=(CNI,)), False, True),
        (Preview(deleted=(CNI,)), False, True),
        (Preview(unknown="it does not answer"), True, False),
        (None, True, False),
    ],
)
def test_what_an_upgrade_would_do_is_tried_again_or_said_not_to_be(
    upgrade: Preview | None, holds: bool, is_tried: bool
) -> None:
    proofs = [one for each in verifying._machines(MADE, CLEAN, upgrade) for one in each.proofs]
    (found,) = [each for each in proofs if each.claim == Claim.NOT_PRUNED]

    assert (found.holds, found.is_tried) == (holds, is_tried)


def test_what_is_still_there_was_not_lost() -> None:
    other = dataclasses.replace(CNI, name="other")
    before = {CNI: frozenset({"spec.a", "spec.b"}), other: frozenset({"spec.c"})}

    assert running.lost(before, {}) == 3
    assert running.lost(before, {CNI: frozenset({"spec.a"})}) == 2
    assert running.lost({}, before) == 0
