"""Storage consumed from infra: in order, and not while volumes are bound."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.unit.commands.audit import remedy_scenes

CEPH = """\
apiVersion: ceph.rook.io/v1
kind: CephCluster
metadata: {name: rook-ceph, namespace: rook-ceph}
spec:
  cephVersion: {image: "registry.example.org/ceph:v19.2.3"}
  network: {provider: host}
  storage: {useAllNodes: true, useAllDevices: true}
"""
POOL = "---\napiVersion: ceph.rook.io/v1\nkind: CephBlockPool\nmetadata: {name: blocks, namespace: rook-ceph}\n"
STORAGE = {
    **remedy_scenes.STORES,
    "kubernetes/clusters/infra/storage.yaml": CEPH + POOL,
    "kubernetes/clusters/apps/storage.yaml": CEPH,
}


def _volume(phase: str, *, cluster: str = "rook-ceph") -> Mapping[str, Any]:
    return {
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "pv"},
        "spec": {
            "claimRef": {"namespace": "shop", "name": "data"},
            "csi": {"driver": "rook-ceph.rbd.csi.ceph.com", "volumeAttributes": {"clusterID": cluster}},
        },
        "status": {"phase": phase},
    }  # fmt: skip


def test_storage_in_use_is_not_taken_away(tmp_path: Path) -> None:
    remedy = remedy_scenes.remedy(
        "storage-own-devices", remedy_scenes.made(tmp_path, STORAGE, live={"apps": [_volume("Bound")]})
    )
    assert remedy.refused == (
        "1 volumes of apps are bound on CephCluster rook-ceph/rook-ceph: shop/data; move or release them first",
    )
    assert not remedy.edits
    assert not remedy.steps


def test_volumes_that_are_free_or_elsewhere_do_not_stand_in_the_way(tmp_path: Path) -> None:
    volumes = [_volume("Released"), _volume("Bound", cluster="rook-ceph-external")]
    remedy = remedy_scenes.remedy("storage-own-devices", remedy_scenes.made(tmp_path, STORAGE, live={"apps": volumes}))
    assert not remedy.refused
    assert not remedy.open_questions


def test_a_cluster_that_was_not_asked_has_to_be_looked_at(tmp_path: Path) -> None:
    remedy = remedy_scenes.remedy("storage-own-devices", remedy_scenes.made(tmp_path, STORAGE))
    (question,) = remedy_scenes.asked(remedy)
    assert "The cluster was not asked: run it with --live" in question
    free = remedy_scenes.remedy("storage-own-devices", remedy_scenes.read(tmp_path, live={}), volumes_bound__apps="no")
    assert (free.refused, free.open_questions) == ((), ())
    bound = remedy_scenes.remedy(
        "storage-own-devices", remedy_scenes.read(tmp_path, live={}), volumes_bound__apps="yes"
    )
    assert bound.refused == (
        "volumes of apps are bound on CephCluster rook-ceph/rook-ceph; move or release them first",
    )


def test_storage_is_exported_consumed_and_tested_before_the_old_one_goes(tmp_path: Path) -> None:
    remedy = remedy_scenes.remedy("storage-own-devices", remedy_scenes.made(tmp_path, STORAGE))
    order = [
        "get persistentvolumes",
        "create-external-cluster-resources.py",
        "rook-ceph-mon-endpoints",
        "Connected",
        "storage-test",
    ]
    commands = [each.command for each in remedy.steps]
    found = [next(n for n, each in enumerate(commands) if part in each) for part in order]
    assert found == sorted(found)
    assert "--rbd-data-pool-name blocks" in commands[found[1]]
    assert remedy.steps[-1].text.startswith("Only then take CephCluster rook-ceph/rook-ceph")
    texts = remedy_scenes.apply(tmp_path, remedy)
    client = "kubernetes/storage-client-apps"
    assert "enable: true" in texts[f"{client}/cluster.yaml"]
    assert "image: registry.example.org/ceph:v19.2.3" in texts[f"{client}/cluster.yaml"]
    assert "pool: blocks" in texts[f"{client}/class.yaml"]
    assert "key: rook-csi-rbd-node-apps" in texts[f"{client}/secrets.yaml"]
    assert f"path: ./{client}" in texts["kubernetes/clusters/apps/storage-client.yaml"]
    # What is external is not counted as storage of its own.
    assert len(remedy_scenes.finds(tmp_path, "storage-own-devices")) == 1


def test_nothing_can_be_consumed_where_infra_has_nothing(tmp_path: Path) -> None:
    files = {**STORAGE, "kubernetes/clusters/infra/storage.yaml": None}
    remedy = remedy_scenes.remedy("storage-own-devices", remedy_scenes.made(tmp_path, files))
    assert remedy.refused == ("infra has no CephCluster with devices that others could consume",)
