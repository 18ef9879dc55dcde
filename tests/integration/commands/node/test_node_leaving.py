"""Machines leave a cluster and join one that lives: never bootstrapped, never at the price of etcd's quorum."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import kube, talosctl
from firstlight.clients.kube import Client
from tests import machines
from tests.labs import NETWORK, condition, manifests, until
from tests.node_commands import LABEL, Living


@pytest_asyncio.fixture
async def living(cluster: machines.Cluster, tmp_path: Path) -> AsyncIterator[Living]:
    """The machines that tests share, declared by a repo of the test; the worker has its own config again afterwards."""
    one = Living(cluster, tmp_path / "repo")
    one.declare("cp-1", "cp-2", "cp-3", "worker-1")
    yield one
    config = await cluster.config("worker-1")
    await cluster.talos.apply_config(cluster.here("worker-1"), config, mode="no-reboot")


@pytest_asyncio.fixture
async def api(cluster: machines.Cluster) -> AsyncIterator[Client]:
    async with Client(kube.load(cluster.lab.kubeconfig)) as client:
        yield client


async def names(client: Client) -> set[str]:
    """The nodes that there are."""
    return {each["metadata"]["name"] for each in (await client.list("v1", "Node")).items}


async def test_a_machine_is_reset_and_added_again(living: Living, api: Client) -> None:
    await until(lambda: is_ready(api, "worker-1"), "the worker to be ready")
    before = (await api.get("v1", "Node", "worker-1"))["metadata"]["uid"]
    not_confirmed = await living.node("reset", "worker-1")
    assert (not_confirmed.code, "not confirmed" in not_confirmed.err) == (3, True)

    gone = await living.node("reset", "worker-1", "--yes")

    assert gone.code == 0, gone.out + gone.err
    assert "worker-1" not in await names(api)
    assert (await living.machines.stranger.version(living.machines.here("worker-1"))).tag.startswith("v1.14.")

    added = await living.node("add", "worker-1")

    assert added.code == 0, added.out + added.err
    node = await api.get("v1", "Node", "worker-1")
    assert node["metadata"]["uid"] != before
    assert node["metadata"]["labels"][LABEL] == "of-worker-1"
    assert "in maintenance mode, certificate " in added.err + added.out
    again = await living.node("add", "worker-1")
    assert (again.code, "0 writes" in again.out + again.err) == (0, True), again.out + again.err


async def test_one_that_nobody_declares_is_told_how(living: Living) -> None:
    told = await living.node("add", "worker-9")

    assert told.code == 64
    assert "firstlight.yaml: clusters.lab.machines: - {name: worker-9, address: " in told.err


async def is_ready(client: Client, name: str) -> bool:
    try:
        return condition(await client.get("v1", "Node", name), "Ready") == "True"
    except kube.NotFound:
        return False


async def is_bare(one: machines.Cluster, name: str) -> bool:
    try:
        return (await one.stranger.machine_status(one.here(name))).stage == "maintenance"
    except talosctl.TalosError:
        return False


@pytest.mark.long
async def test_control_planes_leave_until_quorum_would(fresh_machines: machines.Make, tmp_path: Path) -> None:
    one = await fresh_machines(machines=3, workers=1)
    living = Living(one, tmp_path / "repo")
    living.declare("cp-1", "cp-2", "cp-3", "worker-1")
    unborn = await living.node("add", "worker-1")
    assert unborn.code == 3, unborn.out + unborn.err
    assert "firstlight up lab" in unborn.err
    await one.apply("cp-1", "cp-2", "cp-3", patches=[machines.BARE])
    await one.bootstrap()

    async def members(wanted: int) -> bool:
        return await one.members() == wanted

    await until(lambda: members(3), "three members")
    async with Client(kube.load(one.lab.kubeconfig)) as client:
        for obj in manifests(NETWORK):
            await client.apply(obj, manager="tests")
        added = await living.node("add", "worker-1")
        assert added.code == 0, added.out + added.err

        removed = await living.node("remove", "cp-3", "--yes")

        assert removed.code == 0, removed.out + removed.err
        assert await members(2)
        assert await names(client) == {"cp-1", "cp-2", "worker-1"}
        assert "firstlight.yaml:" in removed.out
        assert "take it out" in removed.out

        back = await living.node("add", "cp-3")
        assert back.code == 0, back.out + back.err
        assert await members(3)
        config = (await one.talos.machine_config(one.here("cp-3"))).reveal()
        assert b"released" not in config, "the others do not have it any more"

        # A run that was killed between the wipe and the rest: the member and the node are left.
        await one.talos.reset(
            one.here("cp-3"), graceful=False, reboot=True, wipe="system-disk", system_labels=["STATE", "EPHEMERAL"],
            wait=False,
        )  # fmt: skip
        await until(lambda: is_bare(one, "cp-3"), "cp-3 to be bare")
        early = await living.node("add", "cp-3")
        assert (early.code, "firstlight node remove cp-3" in early.out + early.err) == (3, True), early.out + early.err
        finished = await living.node("remove", "cp-3", "--yes")
        assert finished.code == 0, finished.out + finished.err
        assert await members(2)
        assert "cp-3" not in await names(client)

        back = await living.node("add", "cp-3")
        assert back.code == 0, back.out + back.err
        await one.lab.machine("cp-3", "off")

        refused = await living.node("remove", "cp-1", "--yes")

        assert refused.code == 3, refused.out + refused.err
        assert "etcd would lose its quorum: of the 2 other members 1 is well" in refused.out
        assert (await one.talos.version(one.here("cp-1"))).tag == "v1.14.1"

        # Somebody has taken its node and its declaration already: etcd alone knows it.
        await client.delete("v1", "Node", "cp-3")
        living.declare("cp-1", "cp-2", "worker-1")
        dead = await living.node("remove", "cp-3", "--yes")
        assert dead.code == 0, dead.out + dead.err
        assert await members(2)
        assert "it has the keys of the cluster" in dead.out

        living.declare("cp-1", "cp-2")
        undeclared = await living.node("remove", "worker-1", "--yes", "--output", "json")
        assert undeclared.code == 0, undeclared.out + undeclared.err
        assert await names(client) == {"cp-1", "cp-2"}
