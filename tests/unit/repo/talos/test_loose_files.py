"""What paths tell by convention."""

import pytest

from firstlight.model.cluster import MachineRole
from firstlight.repo.talos import loose_files

CONTROL_PLANE, WORKER = MachineRole.CONTROL_PLANE, MachineRole.WORKER


@pytest.mark.parametrize(
    ("path", "cluster"),
    [
        ("talos/infra/192.0.2.1.yaml", "infra"),
        ("talos/clusters/infra/a.yaml", "infra"),
        ("clusters/infra/talos/patches/a.yaml", "infra"),
        ("kubernetes/main/talos/talconfig.yaml", "main"),
        ("kubernetes/talos/a.yaml", ""),
        ("bootstrap/talos/a.yaml", ""),
        ("talos/a.yaml", ""),
        ("talos/patches/infra/a.yaml", ""),
        ("talos/nodes/a.yaml", ""),
        ("talos/192.0.2.1/a.yaml", ""),
        ("somewhere/a.yaml", ""),
        ("a.yaml", ""),
    ],
)
def test_a_directory_names_a_cluster(path: str, cluster: str) -> None:
    assert loose_files.cluster_of_path(path) == cluster


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("talos/controlplane.yaml", CONTROL_PLANE),
        ("talos/control-plane/a.yaml", CONTROL_PLANE),
        ("talos/patches/controller/cluster.yaml", CONTROL_PLANE),
        ("talos/nodes/k8s-cp1.yaml", CONTROL_PLANE),
        ("talos/worker.yaml.j2", WORKER),
        ("talos/workers/a/b.yaml", WORKER),
        ("talos/nodes/worker-3.yaml", WORKER),
        ("talos/nodes/a.yaml", None),
        ("worker/very/deep/a.yaml", None),
    ],
)
def test_a_path_names_a_role(path: str, role: MachineRole | None) -> None:
    assert loose_files.role_of_path(path) == role


@pytest.mark.parametrize(
    ("path", "machine"),
    [
        ("talos/infra/192.0.2.1.yaml", "192.0.2.1"),
        ("talos/nodes/k8s-0.yaml.j2", "k8s-0"),
        ("talos/nodes/controlplane/k8s-0.yaml", "k8s-0"),
        ("talos/node/oak/disk.yaml", "oak"),
        ("talos/controlplane/a.yaml", ""),
        ("talos/patches/a.yaml", ""),
        ("a.yaml", ""),
    ],
)
def test_a_path_names_a_machine(path: str, machine: str) -> None:
    assert loose_files.machine_of_path(path) == machine
