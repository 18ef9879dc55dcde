"""What Talos brings, by what was read and what is absent."""

import dataclasses
from typing import Any

import pytest

from firstlight.model import talos_facts
from firstlight.model.cluster import Cluster, ConfigBase, MachinePart, MachineRole, Network
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.fact import Standing
from firstlight.model.place import Place

HERE = Place("talos/cluster.yaml", 1)


@dataclasses.dataclass(frozen=True)
class _Config:
    """A document of machine config without a file."""

    value: Any

    def place(self, *steps: str | int) -> Place:
        return HERE

    def get(self, *steps: str | int) -> Any:
        here = self.value
        for step in steps:
            here = here.get(step) if isinstance(here, dict) else None
        return here

    def text(self, *steps: str | int) -> str:
        return str(self.get(*steps) or "")

    def is_conditional(self, *steps: str | int) -> bool:
        return False


def _cluster(*documents: Any, base: ConfigBase = ConfigBase.WHOLE, talos: str = "", **fields: Any) -> Cluster:
    parts = tuple(MachinePart(config=_Config(each)) for each in documents)
    return Cluster(name="home", place=HERE, parts=parts, base=base, talos=talos, **fields)


LEGACY = {"version": "v1alpha1", "machine": {"type": "controlplane"}, "cluster": {"clusterName": "home"}}
NETWORKED = {**LEGACY, "cluster": {"network": {"podSubnets": ["10.42.0.0/16"]}}}
NODE = {"apiVersion": "v1alpha1", "kind": "KubeNodeConfig"}


@pytest.mark.parametrize(
    ("cluster", "value", "standing", "is_certain"),
    [
        (_cluster(LEGACY, NODE, talos="v1.14.1"), "none", Standing.DEFAULT, True),
        (_cluster(LEGACY, NODE), "none", Standing.DEFAULT, True),
        (_cluster(LEGACY, talos="v1.14.1"), "none", Standing.DEFAULT, True),
        (_cluster(LEGACY, talos="v1.13.0"), "flannel", Standing.DEFAULT, True),
        (_cluster(LEGACY), "flannel", Standing.DEFAULT, False),
        (_cluster(NETWORKED, talos="v1.14.1"), "flannel", Standing.DEFAULT, True),
        (_cluster(base=ConfigBase.GENERATED, talos="v1.14.1"), "flannel", Standing.DEFAULT, True),
        (_cluster(base=ConfigBase.GENERATED), "flannel", Standing.DEFAULT, True),
        (_cluster(base=ConfigBase.UNKNOWN), "flannel", Standing.UNKNOWN, False),
        (_cluster(LEGACY, network=Network(cni="none")), "none", Standing.READ, True),
        (
            _cluster(LEGACY, talos="v1.13.0", unread=(Diagnostic.unknown("config-unread", "a plugin", at=HERE),)),
            "flannel",
            Standing.UNKNOWN,
            False,
        ),
    ],
)
def test_the_cni_that_talos_brings(cluster: Cluster, value: str, standing: Standing, is_certain: bool) -> None:
    found = talos_facts.cni(cluster)

    assert (found.value, found.standing, found.is_certain) == (value, standing, is_certain)


def test_kube_proxy_and_core_dns_are_on_unless_they_are_turned_off() -> None:
    cluster = _cluster(LEGACY, NODE)

    assert talos_facts.kube_proxy(cluster).value is True
    assert talos_facts.core_dns(cluster).value is True
    assert talos_facts.kube_proxy(cluster).is_certain
    assert talos_facts.kube_proxy(_cluster(LEGACY, network=Network(kube_proxy=False))).standing is Standing.READ
    assert not talos_facts.core_dns(_cluster(base=ConfigBase.UNKNOWN)).is_known


@pytest.mark.parametrize(
    ("documents", "value", "standing"),
    [
        ((LEGACY,), False, Standing.DEFAULT),
        ((LEGACY, NODE), True, Standing.READ),
        ((LEGACY, {**NODE, "taints": {talos_facts.CONTROL_PLANE_TAINT: "NoSchedule"}}), False, Standing.READ),
    ],
)
def test_a_node_document_without_the_taint_lets_control_planes_take_workloads(
    documents: tuple[Any, ...], value: bool, standing: Standing
) -> None:
    found = talos_facts.schedules_on_control_planes(_cluster(*documents))

    assert (found.value, found.standing) == (value, standing)


def test_a_patch_without_the_taint_says_nothing() -> None:
    found = talos_facts.schedules_on_control_planes(_cluster(NODE, base=ConfigBase.GENERATED))

    assert (found.value, found.standing) == (False, Standing.DEFAULT)


def test_the_node_document_of_workers_is_not_that_of_control_planes() -> None:
    part = MachinePart(config=_Config(NODE), role=MachineRole.WORKER)
    found = talos_facts.schedules_on_control_planes(
        Cluster(name="home", place=HERE, parts=(part,), base=ConfigBase.WHOLE)
    )

    assert found.standing is Standing.DEFAULT


@pytest.mark.parametrize(
    ("cluster", "port", "standing"),
    [
        (_cluster(LEGACY), 0, Standing.DEFAULT),
        (_cluster(base=ConfigBase.GENERATED, talos="v1.13.0"), 7445, Standing.DEFAULT),
        (_cluster(LEGACY, {"kind": "KubePrismConfig", "port": 7446}), 7446, Standing.READ),
        (_cluster({"machine": {"features": {"kubePrism": {"enabled": True}}}}), 7445, Standing.READ),
        (_cluster({"machine": {"features": {"kubePrism": {"enabled": False}}}}), 0, Standing.READ),
        (_cluster(base=ConfigBase.UNKNOWN), 7445, Standing.UNKNOWN),
    ],
)
def test_kube_prism(cluster: Cluster, port: int, standing: Standing) -> None:
    found = talos_facts.kube_prism(cluster)

    assert (found.value, found.standing) == (port, standing)
