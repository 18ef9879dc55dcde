"""A handover in a few lines."""

import dataclasses

from firstlight.commands.handover import text
from firstlight.drawing import handover_text
from firstlight.model.certificate import Certificate, CertificateClaim, CertificateStage, ClaimProof, ObjectProof
from firstlight.model.component import ObjectId
from firstlight.model.handover import Offer, OwnerSeen

FLUX = "flux (Kustomization flux-system/cilium)"


def proof(
    name: str,
    *,
    before: str = "talos",
    owner: str = FLUX,
    claim: CertificateClaim = CertificateClaim.OWNED,
    says: str = "",
) -> ObjectProof:
    return ObjectProof(
        id=ObjectId("apps", "DaemonSet", "kube-system", name), component="cilium", manager="kustomize-controller",
        owner=owner, uid="u", before=(OwnerSeen(manager=before, operation="Apply"),),
        after=(OwnerSeen(manager="kustomize-controller", operation="Apply"),),
        proofs=(ClaimProof(claim=claim, holds=not says, says=says),),
    )  # fmt: skip


WHOLE = Certificate(
    cluster="infra",
    uid="u",
    engine="flux",
    revision="c0ffee",
    run="r",
    at=2,
    baseline_at=1,
    stage=CertificateStage.FINAL,
    objects=(proof("cilium"), proof("cilium-envoy")),
    digest="4f2c91",
)


def test_one_owner_makes_one_line() -> None:
    assert handover_text.certificate_lines(WHOLE) == [
        f"certificate 4f2c…  complete   2 objects: talos › {FLUX}   0 pods restarted   0 fields lost"
    ]


def test_several_owners_are_counted_below() -> None:
    web = proof("web", before="kustomize-controller", owner="flux (Kustomization flux-system/web)")
    made = dataclasses.replace(WHOLE, objects=(*WHOLE.objects, web))

    assert handover_text.certificate_lines(made, lost=1) == [
        "certificate 4f2c…  complete   3 objects   0 pods restarted   1 field lost",
        f"  2 objects   talos › {FLUX}",
        "  1 object    bootstrap › flux (Kustomization flux-system/web)",
    ]


def test_what_does_not_hold_is_said_with_its_place() -> None:
    made = dataclasses.replace(
        WHOLE, objects=(proof("cilium", claim=CertificateClaim.SAME_PODS, says="1 of 4 was restarted"),)
    )

    head, failure = handover_text.certificate_lines(made)

    assert head.startswith("certificate 4f2c…  not complete   1 object")
    assert head.endswith("pods of 1 workload replaced or restarted   0 fields lost")
    assert failure.startswith("  ✘ DaemonSet kube-system/cilium: ")
    assert "1 of 4 was restarted" in failure
    assert "1 of 4 was restarted" in text.proven_data(made, path=None)["failures"][0]


def test_many_failures_are_cut_and_a_stranger_moves_no_cursor() -> None:
    bad = tuple(proof(f"x{n}\x1b[2J", says="no") for n in range(9))

    lines = handover_text.certificate_lines(dataclasses.replace(WHOLE, objects=bad))

    assert lines[-1] == "    and 3 more, all on the page"
    assert not [each for each in lines if "\x1b" in each]


def test_what_talos_has_and_what_its_next_upgrade_would_do() -> None:
    assert handover_text.talos_lines(
        ("the config of cp-1 still has cilium",), "talosctl upgrade-k8s would touch nothing"
    ) == [
        "  talos    the config of cp-1 still has cilium",
        "  now      talosctl upgrade-k8s would touch nothing",
    ]
    assert handover_text.talos_lines((), "") == []


def test_components_that_stay_are_named() -> None:
    assert handover_text.kept_lines(("coredns",)) == ["  kept     coredns: the owner is bootstrap, so it is left alone"]
    assert handover_text.kept_lines(()) == []


def test_an_offer_has_its_reasons_and_a_diff() -> None:
    lines = handover_text.offer_lines(
        [Offer(component="web", path="web.yaml", why=("because",), diff="--- a\n+++ b\n")]
    )

    assert lines == ["", "offered for web, to be reviewed and committed:", "  because", "--- a", "+++ b"]
