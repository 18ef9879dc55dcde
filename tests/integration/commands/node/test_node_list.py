"""The machines of a lab listed: as declared, with configs that differ, one that is off, one that nobody declared."""

import dataclasses
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import Client
from firstlight.commands.node import list as node_list
from firstlight.commands.node.node_rows import ConfigEquality
from firstlight.model.cluster import MachineRole
from tests import machines, nodes
from tests.labs import condition, until

LABEL = "machine: {nodeLabels: {rack: a}}\n"
FILE = "machine: {files: [{path: /var/etc/a, op: create, content: a-secret-of-the-tests, permissions: 0o600}]}\n"
STRANGER: dict[str, Any] = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "stranger"}}


async def ready(kube: Client) -> bool:
    return all(condition(each, "Ready") == "True" for each in (await kube.list("v1", "Node")).items)


async def test_what_is_as_declared_and_what_is_not(cluster: machines.Cluster, tmp_path: Path) -> None:
    place = nodes.ground(cluster, tmp_path / "ground")
    platform = nodes.repo(place, tmp_path / "repo", patches={"worker-1": LABEL, "cp-2": FILE})
    one = platform.clusters[0]
    # It is not declared any more, and is still a node and a member of etcd.
    kept = tuple(each for each in one.machines if each.name != "cp-3")
    gone = dataclasses.replace(kept[0], name="worker-2", role=MachineRole.WORKER, address="10.5.0.99")
    one = dataclasses.replace(one, machines=(*kept, gone))
    silent = msgspec.structs.replace(place, reach={**place.reach, "10.5.0.99": "127.0.0.1:9"})
    async with clients_kube.Client(clients_kube.load(cluster.lab.kubeconfig)) as kube:
        await until(lambda: ready(kube), "nodes to be ready")
        await kube.create(STRANGER, manager="tests")
        found = await node_list.look_at_machines(platform, one, nodes.means(silent))
        await kube.delete("v1", "Node", "stranger")

    rows = {each.name: each for each in found.rows}
    text, data = node_list.list_text(found), msgspec.json.encode(node_list.list_data(found)).decode()
    assert list(rows) == ["cp-1", "cp-2", "worker-1", "worker-2", "cp-3", "stranger"]
    assert rows["cp-1"].is_fine, text
    assert (rows["cp-1"].talos, rows["cp-1"].etcd in ("leader", "member")) == ("v1.14.1", True)
    assert [each.etcd for each in rows.values()].count("leader") <= 1, text
    assert rows["worker-1"].config.equality is ConfigEquality.DIFFERENT
    assert not rows["worker-1"].config.needs_reboot
    assert "machine.nodeLabels.rack a added" in text
    assert not rows["cp-2"].config.needs_reboot, "Talos 1.14 reboots for no config"
    assert "machine.files" in text
    assert "a-secret-of-the-tests" not in text + data
    assert (rows["worker-2"].is_seen, rows["worker-2"].node) == (False, "absent")
    assert any(each.startswith("worker-2: ") for each in found.unseen)
    assert (rows["cp-3"].is_declared, rows["cp-3"].etcd, rows["cp-3"].node) == (False, "member", "ready")
    assert not rows["stranger"].is_declared


async def test_without_the_api_machines_are_still_seen(
    cluster: machines.Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node_list, "ANSWERS", 0.5)
    place = msgspec.structs.replace(nodes.ground(cluster, tmp_path / "ground"), api="https://127.0.0.1:9")
    platform = nodes.repo(place, tmp_path / "repo")

    found = await node_list.look_at_machines(platform, platform.clusters[0], nodes.means(place))
    typed = await nodes.typed(place, platform.root, "list", "-o", "json")

    assert typed.code == 1
    # How long it was asked decides whether the reason is known; that it is all that was not seen does not depend on it.
    assert [each.startswith("nodes: the Kubernetes API does not answer") for each in typed.data["unseen"]] == [True]
    assert [each.state for each in found.rows] == ["running"] * 4
    assert {each.node for each in found.rows} == {""}
    assert any(each.startswith("nodes: the Kubernetes API does not answer") for each in found.unseen)
