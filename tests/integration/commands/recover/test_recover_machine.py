"""A control plane that lost its disks: assessed, rebuilt, and nothing of the cluster is lost."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import kube, talosctl
from firstlight.commands.recover.drill_context import DrillContext
from firstlight.commands.up.up import PreparedRun
from firstlight.gates.gate_parts import GateContext
from firstlight.model.plan import Plan
from firstlight.model.work import Work
from tests import machines, nodes
from tests.conftest import sample
from tests.labs import condition, until
from tests.recover import drills, killed

CLAIM = {
    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "precious", "namespace": "default"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}  # fmt: skip
SECRET = {
    "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "precious", "namespace": "default"},
    "data": {"word": "aGVsbG8="},
}  # fmt: skip


WRITING = ("cp-3:member", "cp-3:node", "cp-3:configure")
"""The stages of a rebuild that write."""
SAMPLE = 1


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "at" in metafunc.fixturenames:
        cells = sample(metafunc.config, "rebuilds of a machine killed", killed.cells(WRITING), SAMPLE)
        metafunc.parametrize("at", cells, ids=[f"{each.step}-{each.moment}" for each in cells])


@pytest_asyncio.fixture
async def ground(cluster: machines.Cluster, tmp_path: Path) -> AsyncIterator[DrillContext]:
    """The machines that tests share, declared as they are; the one that was rebuilt has its own config afterwards."""
    place = nodes.ground(cluster, tmp_path / "ground")
    platform = nodes.repo(place, tmp_path / "repo")
    one = platform.clusters[0]
    work = Work(cluster=one, plan=Plan(cluster=one.name, steps=()), tasks={})
    prepared = PreparedRun(
        platform=platform, cluster=one, work=work, ground=GateContext(one, revision="", objects={}), problems=()
    )
    yield DrillContext(lab=cluster.lab, prepared=prepared, means=nodes.means(place))
    config = await cluster.config("cp-3", machines.BARE, machines.INLINE, machines.GRACE)
    await cluster.talos.apply_config(cluster.here("cp-3"), config, mode="no-reboot")


async def test_a_lost_control_plane_is_rebuilt(cluster: machines.Cluster, ground: DrillContext) -> None:
    async with kube.Client(kube.load(cluster.lab.kubeconfig)) as client:
        for each in (CLAIM, SECRET):
            await client.apply(each, manager="tests")
        await until(lambda: is_ready(client), "cp-3 to be ready")
        node = (await client.get("v1", "Node", "cp-3"))["metadata"]["uid"]
        member = await member_of(cluster)
        try:
            found = await drills.drill("control-plane", ground)

            assert found.option == "rebuild-machine cp-3"
            assert found.lost == ()
            assert (await client.get("v1", "Node", "cp-3"))["metadata"]["uid"] != node
            assert await member_of(cluster) not in ("", member)
            assert await cluster.members() == 3
            # What was killed after the last stage, and is typed again, finds everything as it must be.
            root, words = ground.prepared.platform.root, ("lab", "--do", "rebuild-machine", "--on", "cp-3")
            again = await drills.typed(root, ground.means, *words)
            assert (again.code, "0 writes" in again.out + again.err) == (0, True), again.out + again.err
        finally:
            for each in (CLAIM, SECRET):
                await client.delete("v1", str(each["kind"]), "precious", namespace="default")


async def test_a_rebuild_that_was_killed_goes_on(
    cluster: machines.Cluster, ground: DrillContext, at: killed.At, tmp_path: Path
) -> None:
    place = nodes.ground(cluster, tmp_path / "ground")

    def order(words: tuple[str, ...]) -> killed.Order:
        return killed.Order(root=str(ground.prepared.platform.root), words=words, machines=place)

    async with kube.Client(kube.load(cluster.lab.kubeconfig)) as client:
        await client.apply(SECRET, manager="tests")
        await until(lambda: is_ready(client), "cp-3 to be ready")
        try:
            found = await drills.killed("control-plane", ground, order, at=at)

            assert found.lost == ()
            assert killed.writing_steps(ground.means.state) == set(WRITING)
            assert await cluster.members() == 3
            await until(lambda: is_ready(client), "cp-3 to be ready")
        finally:
            await client.delete("v1", "Secret", "precious", namespace="default")


async def is_ready(client: kube.Client) -> bool:
    try:
        return condition(await client.get("v1", "Node", "cp-3"), "Ready") == "True"
    except kube.NotFound:
        return False


async def member_of(one: machines.Cluster) -> str:
    """The id of cp-3's member of etcd."""
    try:
        return next(each.id for each in await one.talos.etcd_members(one.at("cp-1")) if each.hostname == "cp-3")
    except (StopIteration, talosctl.TalosError):
        return ""
