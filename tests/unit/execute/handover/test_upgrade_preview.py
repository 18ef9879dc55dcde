"""What ``upgrade-k8s`` says that it would do, told for the objects of interest alone."""

import dataclasses
from typing import Any

import pytest

from firstlight.execute import cluster_access
from firstlight.execute.handover import upgrade_preview
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.handover.upgrade_preview import UpgradePreview
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.model.upgrade_plan import KubernetesUpgrade, ManifestAction, ManifestChange

RBAC = "rbac.authorization.k8s.io"
WIDE = frozenset({(RBAC, "ClusterRole"), ("apiextensions.k8s.io", "CustomResourceDefinition")})
DAEMON = ObjectId("apps", "DaemonSet", "kube-system", "cilium")
CONFIG = ObjectId("", "ConfigMap", "default", "net-config")
ROLE = ObjectId(RBAC, "ClusterRole", "kube-system", "net:agent")
CRD = ObjectId("apiextensions.k8s.io", "CustomResourceDefinition", "", "nodes.net.example.org")
EVERY = (DAEMON, CONFIG, ROLE, CRD)


def told(*changes: tuple[ManifestAction, str]) -> UpgradePreview:
    manifests = tuple(ManifestChange(action, subject) for action, subject in changes)
    upgrade = KubernetesUpgrade(is_dry_run=True, updates=(), manifests=manifests, text="")
    return upgrade_preview.read(upgrade, EVERY, WIDE)


def test_objects_are_told_as_they_are_written_and_deleted() -> None:
    found = told(
        ("pruned", "DaemonSet/kube-system/cilium"), ("configured", "ConfigMap/net-config"),
        ("created", "CustomResourceDefinition/nodes.net.example.org"), ("configured", "ClusterRole/net:agent"),
        ("pruned", "DaemonSet/kube-system/other"), ("configured", "ConfigMap/other/net-config"),
    )  # fmt: skip

    assert found.deleted == (DAEMON,)
    assert [each.name for each in found.written] == ["net-config", "nodes.net.example.org", "net:agent"]
    assert str(found) == (
        "talosctl upgrade-k8s would write ConfigMap default/net-config, CustomResourceDefinition "
        "nodes.net.example.org, ClusterRole net:agent and delete DaemonSet kube-system/cilium and delete "
        "DaemonSet/kube-system/other, which is Talos's own"
    )
    assert found.besides == ("DaemonSet/kube-system/other",)


def test_clusters_below_1_13_name_the_version_too() -> None:
    found = told(
        ("changed", "apps/v1.DaemonSet/kube-system/cilium"), ("unchanged", "v1.ConfigMap/default/net-config"),
        ("changed", "apiextensions.k8s.io/v1.CustomResourceDefinition/nodes.net.example.org"),
    )  # fmt: skip

    assert (found.written, found.deleted) == ((DAEMON, CRD), ())


def test_nothing_and_nothing_known() -> None:
    assert str(told(("unchanged", "DaemonSet/kube-system/cilium"))) == "talosctl upgrade-k8s would touch nothing"
    assert str(UpgradePreview(unknown="no route to host")).endswith("is not known: no route to host")
    assert str(UpgradePreview(deleted=(DAEMON,) * 5)).endswith("DaemonSet kube-system/cilium and 2 more")


class World:
    """Nothing of it is asked."""


@pytest.mark.parametrize(
    ("state", "asked"),
    [
        (TalosState(configs={"cp-1": (), "cp-2": ()}), "cp-1"),
        (TalosState(configs={"cp-1": (), "cp-2": ()}, bare=("cp-1",)), "cp-2"),
        (TalosState(configs={"cp-2": ()}, silent={"cp-1": "off"}), "cp-2"),
        (TalosState(configs={"cp-1": (), "cp-2": ()}, bare=("cp-1", "cp-2")), ""),
    ],
)
async def test_a_machine_that_can_answer_is_asked(
    state: TalosState, asked: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, list[ObjectId]]] = []

    async def ensure(world: object) -> None:
        return None

    async def preview(machine: Machine, ids: list[ObjectId], **_: object) -> UpgradePreview:
        seen.append((machine.name, ids))
        return UpgradePreview()

    monkeypatch.setattr(cluster_access, "ensure", ensure)
    monkeypatch.setattr(upgrade_preview, "preview", preview)
    planes = [
        Machine(name=name, role=MachineRole.CONTROL_PLANE, place=Place("firstlight.yaml", 1), address="10.5.0.2")
        for name in ("cp-1", "cp-2")
    ]
    state = dataclasses.replace(state, besides=(CRD,))

    found = await upgrade_preview.of(planes, [DAEMON], state=state, world=World())  # type: ignore[arg-type]

    assert seen == ([(asked, [DAEMON, CRD])] if asked else [])
    assert found.unknown == ("" if asked else "no control plane can be asked")


@pytest.mark.parametrize(
    "config",
    [
        "cluster: {apiServer: {image: registry.example.org/kube-apiserver:v1.36.2}}",
        "cluster: {token: x}\n---\nkind: KubeAPIServerConfig\nimage: registry.example.org/kube-apiserver:v1.36.2\n",
    ],
)
async def test_the_version_is_the_one_that_the_config_has(config: str) -> None:
    class Way:
        admin: Any = None

        def at(self, machine: Machine) -> str:
            return machine.address

        async def machine_config(self, target: str) -> Secret:
            return Secret(config)

    way: Any = Way()
    way.admin = way
    machine = Machine(
        name="cp-1", role=MachineRole.CONTROL_PLANE, place=Place("firstlight.yaml", 1), address="10.5.0.2"
    )

    assert await upgrade_preview._kubernetes(machine, way, World()) == "1.36.2"  # type: ignore[arg-type]
