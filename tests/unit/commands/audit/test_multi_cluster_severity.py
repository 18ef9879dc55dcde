"""How bad a finding is where the same rule finds milder ones, too."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from firstlight.commands.audit import rulebook
from firstlight.model.diagnostic import Severity
from tests.unit.commands.audit import remedy_scenes

POOLS = """\
apiVersion: cilium.io/v2
kind: CiliumLoadBalancerIPPool
metadata: {name: all}
spec:
  blocks: [{cidr: 10.30.0.0/24}]
"""
SHARED = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: pools, namespace: flux-system}
spec:
  interval: 10m
  path: ./kubernetes/pools
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
"""
IN_BOTH = {
    "kubernetes/clusters/infra/pools.yaml": SHARED,
    "kubernetes/clusters/apps/pools.yaml": SHARED,
    "kubernetes/pools/pool.yaml": POOLS,
}
NO_MESH = {"bootstrap/clusters/apps/cilium.yaml": "ipam: {mode: kubernetes}\n"}
OWN_CEPH = (
    "apiVersion: ceph.rook.io/v1\nkind: CephCluster\nmetadata: {name: rook, namespace: rook}\n"
    "spec: {storage: {useAllDevices: true}}\n"
)
SERVICES = (
    "machine: {type: controlplane, network: {hostname: apps-1}}\n"
    "cluster: {network: {podSubnets: [10.52.0.0/16], serviceSubnets: [10.51.0.0/16]}}\n"
)


def _off(text: str) -> str:
    return text.replace("useAPIServer: true", "useAPIServer: false").replace("10.30.2.201", "10.30.2.99")


@pytest.mark.parametrize(
    ("rule", "files", "severity"),
    [
        ("pools-overlap", IN_BOTH, Severity.ERROR),
        ("pools-overlap", {**IN_BOTH, **NO_MESH}, Severity.WARNING),
        (
            "pools-overlap",
            {**IN_BOTH, "kubernetes/pools/pool.yaml": POOLS + "  serviceSelector: {matchLabels: {pool: x}}\n"},
            Severity.NOTE,
        ),
        ("storage-own-devices", {"kubernetes/clusters/apps/ceph.yaml": OWN_CEPH}, Severity.NOTE),
        (
            "storage-own-devices",
            {"kubernetes/clusters/apps/ceph.yaml": OWN_CEPH, "kubernetes/clusters/infra/ceph.yaml": OWN_CEPH},
            Severity.NOTE,  # Only its name says that infra serves the others.
        ),
        ("ranges-overlap", {"talos/apps/apps-1.yaml": SERVICES}, Severity.NOTE),
        (
            "pin-outside-pool",
            {"bootstrap/clusters/apps/cilium.yaml": _off(remedy_scenes.mesh()["bootstrap/clusters/apps/cilium.yaml"])},
            Severity.WARNING,
        ),
    ],
)
def test_milder_ones_are_milder(tmp_path: Path, rule: str, files: Mapping[str, str], severity: Severity) -> None:
    found = rulebook.findings(remedy_scenes.made(tmp_path, files), rulebook.read_rulebook(), only=[rule])
    assert [each.severity for each in found] == [severity], [each.message for each in found]
