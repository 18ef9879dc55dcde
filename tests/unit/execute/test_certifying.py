"""What Talos still has, made proofs; and what a certificate covers."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import pytest

from firstlight.execute.handover import certification, talos_state
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.handover.upgrade_preview import UpgradePreview
from firstlight.execute.world import RunPrograms, World
from firstlight.model.certificate import (
    Certificate,
    CertificateClaim,
    CertificateStage,
    ClaimProof,
    MachineProof,
    ObjectProof,
)
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.work import Certify
from firstlight.ownership import certificate_scope

CILIUM = ObjectId("apps", "DaemonSet", "kube-system", "cilium")


def failed(state: TalosState) -> dict[str, str]:
    """What does not hold, by machine; nothing for Talos as a whole."""
    proofs = certification.talos_proofs(state)
    return {each.machine: one.says for each in proofs for one in each.proofs if not one.holds}


def test_released() -> None:
    proofs = certification.talos_proofs(TalosState(configs={"cp-1": (), "cp-2": ()}, has_inventory=True))

    assert [each.machine for each in proofs] == ["cp-1", "cp-2", ""]
    assert all(each.is_proven for each in proofs)
    assert all(one.is_tried for each in proofs for one in each.proofs)


def test_one_machine_still_has_a_manifest() -> None:
    state = TalosState(configs={"cp-1": (), "cp-2": ("cilium", "flux")}, has_inventory=True)
    assert failed(state) == {"cp-2": "it still has cilium, flux"}


def test_one_machine_brings_it_by_a_manifest_of_another_name() -> None:
    state = TalosState(configs={"cp-1": (), "cp-2": ()}, again={"cp-2": {"cni-again": (CILIUM,)}}, has_inventory=True)
    assert failed(state) == {"cp-2": "it still has DaemonSet kube-system/cilium by the manifest cni-again"}


def test_a_machine_that_does_not_say() -> None:
    state = TalosState(configs={"cp-1": ()}, silent={"cp-2": "no route to host"}, has_inventory=True)
    assert failed(state) == {"cp-2": "no route to host"}


def test_the_inventory_still_has_it() -> None:
    state = TalosState(configs={"cp-1": ()}, has_inventory=True, keys=("kube-system_cilium_apps_DaemonSet",))
    assert failed(state) == {"": "kube-system_cilium_apps_DaemonSet"}


def test_talos_still_has_marks() -> None:
    state = TalosState(configs={"cp-1": ()}, has_inventory=True, annotated=(CILIUM,), managed=(CILIUM,))
    assert "DaemonSet kube-system/cilium has Talos's annotation" in failed(state)[""]


def test_without_an_inventory_it_is_said() -> None:
    proofs = certification.talos_proofs(TalosState(configs={"cp-1": ()}))
    (proof,) = [one for each in proofs for one in each.proofs if not one.is_tried]
    assert proof.claim == CertificateClaim.NOT_IN_INVENTORY
    assert "before 1.13" not in proof.says, "that of a newer one may have been deleted"


def test_a_control_plane_that_nobody_declared() -> None:
    state = TalosState(configs={"cp-1": ()}, undeclared=("cp-9",), has_inventory=True)
    assert failed(state) == {"cp-9": "it is not declared, and was not asked"}


def test_what_an_upgrade_of_kubernetes_would_do() -> None:
    state = TalosState(configs={"cp-1": ()}, has_inventory=True)

    def whole(upgrade: UpgradePreview) -> ClaimProof:
        return next(
            one for each in certification.talos_proofs(state, upgrade) for one in each.proofs
            if one.claim == CertificateClaim.NOT_PRUNED
        )  # fmt: skip

    assert whole(UpgradePreview()).says == "talosctl upgrade-k8s would touch nothing"
    assert not whole(UpgradePreview(deleted=(CILIUM,))).holds
    assert "would delete DaemonSet kube-system/cilium" in whole(UpgradePreview(deleted=(CILIUM,))).says
    assert not whole(UpgradePreview(written=(CILIUM,))).holds
    assert (whole(UpgradePreview(unknown="no")).holds, whole(UpgradePreview(unknown="no")).is_tried) == (True, False)


def _passing(namespace: str, name: str, kind: str = "ConfigMap") -> Passing:
    value = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": namespace}}
    owner = ObjectOwner(Party.FLUX, "Kustomization flux/all")
    return Passing(object=Object(value), component="all", manager="kustomize-controller", owner=owner)


async def test_talos_is_asked_for_what_it_releases_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[ObjectId] = []

    async def state(planes: object, manifests: object, ids: Sequence[ObjectId], world: object) -> TalosState:
        asked.extend(ids)
        return TalosState(configs={}, has_inventory=True)

    monkeypatch.setattr(talos_state, "talos_state", state)
    net, dns = _passing("kube-system", "net"), _passing("kube-system", "dns")
    task = Certify(passing=(net, dns), released=("net",), staying=(dns.id,))
    world = World(
        cluster=Cluster(name="test", place=Place("firstlight.yaml")), programs=RunPrograms(), resolve=_resolve,
        state=tmp_path,
    )  # fmt: skip

    await certification._talos(task, ("net",), world)

    assert asked == [net.id]


async def _resolve(reference: str) -> Secret:
    raise AssertionError(f"nobody asks for {reference}")


def test_what_is_covered() -> None:
    ids = [ObjectId("", "ConfigMap", "web", "a"), ObjectId("", "Namespace", "", "web")]
    kept = Certificate(
        cluster="infra", uid="u", engine="flux", revision="", run="", at=1, baseline_at=1, stage=CertificateStage.FINAL,
        objects=tuple(ObjectProof(id=each, component="all", manager="m", owner="o") for each in ids),
        machines=(MachineProof(machine=""),),
    )  # fmt: skip
    passing = (
        _passing("web", "a"), _passing("other", "a"), _passing("", "a"), _passing("web", "b"),
        _passing("web", "web", "Namespace"),
    )  # fmt: skip

    left = certificate_scope.unproven(passing, kept)

    # A repo may name a namespace for what has none, and none for what has one.
    assert [each.id for each in left] == [
        ObjectId("", "ConfigMap", "other", "a"),
        ObjectId("", "ConfigMap", "web", "b"),
    ]
    assert len(certificate_scope.unproven(passing, None)) == 5
    assert len(certificate_scope.unproven(passing, dataclasses.replace(kept, objects=()))) == 5
