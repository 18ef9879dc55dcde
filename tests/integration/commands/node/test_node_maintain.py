"""A machine maintained in the lab: budgets, emptyDirs, its reboot, and a run that is killed on the way."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import Client
from firstlight.commands.node import drain_rules, maintain
from firstlight.commands.node.drain_rules import DrainOptions, MaintenanceMark
from firstlight.commands.node.maintain import NodeMaintainOptions
from firstlight.commands.verify import fingerprint
from firstlight.model.event import Event, Told
from tests import machines, nodes
from tests.labs import until

NODE = "worker-1"


@pytest_asyncio.fixture
async def kube(cluster: machines.Cluster) -> AsyncIterator[Client]:
    """The API of the machines."""
    async with clients_kube.Client(clients_kube.load(cluster.lab.kubeconfig)) as client:
        yield client


@pytest_asyncio.fixture
async def space(kube: Client) -> AsyncIterator[str]:
    """A namespace; its pods run on the worker, since control planes take none."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    await kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="tests")
    yield name
    await kube.delete("v1", "Namespace", name)


@pytest.fixture
def place(cluster: machines.Cluster, tmp_path: Path) -> nodes.Ground:
    """The way to the machines."""
    return nodes.ground(cluster, tmp_path / "ground")


def workload(name: str, *, space: str, scratch: bool = False) -> dict[str, Any]:
    pod: dict[str, Any] = {"containers": [{"name": "main", "image": "registry.example/app:1"}]}
    if scratch:
        pod["volumes"] = [{"name": "cache", "emptyDir": {}}]
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def budget(name: str, least: int, *, space: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": space},
        "spec": {"minAvailable": least, "selector": {"matchLabels": {"app": name}}},
    }


async def running(kube: Client, app: str, *, space: str) -> None:
    async def there() -> bool:
        found = (await kube.list("v1", "Pod", namespace=space, labels=f"app={app}")).items
        return any(each["status"].get("phase") == "Running" for each in found)

    await until(there, f"{app} to run")


async def node(kube: Client) -> dict[str, Any]:
    return await kube.get("v1", "Node", NODE)


async def test_a_budget_holds_the_drain_up_and_lets_it_go(
    kube: Client, space: str, place: nodes.Ground, tmp_path: Path
) -> None:
    await kube.apply(workload("web", space=space, scratch=True), manager="tests")
    await kube.apply(budget("web", 1, space=space), manager="tests")
    await running(kube, "web", space=space)
    nodes.repo(place, tmp_path / "repo")
    shown = await nodes.typed(place, tmp_path / "repo", "maintain", NODE, "--dry-run", "-o", "json")
    plane = await nodes.typed(place, tmp_path / "repo", "maintain", "cp-1", "--dry-run", "-o", "json")
    refused = await nodes.typed(place, tmp_path / "repo", "maintain", NODE, "--yes")
    was_untouched = drain_rules.mark_of(await node(kube)) is None
    held = asyncio.Event()

    def tell(event: Event) -> None:
        if isinstance(event, Told) and "is held by the budget" in event.text:
            held.set()

    async def let_go() -> bool:
        await held.wait()
        spec = (await node(kube))["spec"]
        await kube.apply(budget("web", 0, space=space), manager="tests")
        return bool(spec.get("unschedulable"))

    before = await fingerprint.boots(kube)
    stages = maintain.maintain_stages(
        nodes.machine(place, NODE), NodeMaintainOptions(drain=DrainOptions(may_lose_scratch=True))
    )
    found, was_cordoned = await asyncio.gather(nodes.walk(place, stages, tell=tell), let_go())
    after = await fingerprint.boots(kube)

    assert shown.code == 3
    assert [each["fate"] for each in shown.data["pods"] if each["namespace"] == space] == ["refuse"]
    assert plane.data["etcd"] == {"verdict": "passed", "reason": "etcd keeps its quorum: 2 of 3 members stay"}
    assert refused.code == 3
    assert "would be lost (--delete-emptydir-data)" in refused.out + refused.err
    assert was_untouched
    assert found.result.is_complete, found.failures
    assert was_cordoned
    assert f"of Deployment web is held by the budget {space}/web (wants 1 of 1 healthy" in "\n".join(found.told)
    assert found.asked == ["worker-1 is drained and reboots"]
    assert [each for each in found.writes if "evict" not in each] == [
        "cordon worker-1", "reboot worker-1", "uncordon worker-1",
    ]  # fmt: skip
    assert {name for name in after if after[name] != before[name]} == {NODE}
    assert not drain_rules.is_cordoned(await node(kube))
    assert drain_rules.mark_of(await node(kube)) is None


async def test_killed_after_the_reboot_was_sent_it_goes_on(kube: Client, place: nodes.Ground) -> None:
    before = await fingerprint.boots(kube)

    await nodes.killed(place, nodes.At(machine=NODE, stage="drain", moment="after"))
    await nodes.killed(place, nodes.At(machine=NODE, stage="reboot", moment="after"))
    rebooted = await fingerprint.boots(kube)
    mark = drain_rules.mark_of(await node(kube))
    found = await nodes.walk(place, maintain.maintain_stages(nodes.machine(place, NODE), NodeMaintainOptions()))

    assert mark == MaintenanceMark(command="node maintain", boot=before[NODE], is_ours=True)
    assert rebooted[NODE] != before[NODE]
    assert found.result.is_complete, found.failures
    assert (found.writes, found.asked) == (["uncordon worker-1"], [])
    assert await fingerprint.boots(kube) == rebooted


async def test_left_drained_for_its_hardware_and_given_back(kube: Client, place: nodes.Ground) -> None:
    await kube.patch("v1", "Node", NODE, {"spec": {"unschedulable": True}}, manager="tests")
    machine = nodes.machine(place, NODE)

    left = await nodes.walk(place, maintain.maintain_stages(machine, NodeMaintainOptions(is_rebooted=False)))
    marked = drain_rules.mark_of(await node(kube))
    done = await nodes.walk(place, maintain.maintain_stages(machine, NodeMaintainOptions(is_done=True)))
    after = await node(kube)
    await kube.patch("v1", "Node", NODE, {"spec": {"unschedulable": None}}, manager="tests")

    assert left.result.is_complete, left.failures
    assert left.writes == ["mark worker-1, which somebody else has cordoned"]
    assert marked is not None
    assert not marked.is_ours
    assert done.result.is_complete, done.failures
    assert "worker-1 was cordoned before, by somebody else: it stays so" in done.told
    assert drain_rules.is_cordoned(after)
    assert drain_rules.mark_of(after) is None
