"""Configs of a repo applied to the machines of a lab: at once, with a reboot, tried, and of an earlier commit."""

import asyncio
import dataclasses
import subprocess
from collections.abc import AsyncIterator, Awaitable, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import Client
from firstlight.commands.node import apply, apply_config, declared_configs
from firstlight.commands.node import text as node_text
from firstlight.commands.node.apply_config import NodeApplyOptions
from firstlight.commands.node.declared_configs import DeclaredConfigs
from firstlight.commands.node.node_rows import ConfigEquality, ConfigStatus
from firstlight.commands.verify import fingerprint
from firstlight.execute import live_cluster
from firstlight.execute.walk import OnVerdict
from firstlight.execute.world import World
from firstlight.model.verdict import Verdict
from tests import machines as tests_machines
from tests import nodes
from tests.labs import until

LABEL = "machine: {nodeLabels: {rack: %s}}\n"
FILE = "machine: {files: [{path: /var/etc/a, op: create, content: a-secret-of-the-tests, permissions: 0o600}]}\n"


@pytest_asyncio.fixture(scope="module")
async def cluster(
    machine_programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tests_machines.Cluster]:
    """Machines of Talos 1.13, the last that reboot where a config needs it."""
    home = tmp_path_factory.mktemp("labs") / "of-1-13"
    async with tests_machines.healthy(machine_programs, home, talos="v1.13.0", talosctl_name="talosctl-1-13") as one:
        yield one


@pytest_asyncio.fixture
async def kube(cluster: tests_machines.Cluster) -> AsyncIterator[Client]:
    """The API of the machines."""
    async with clients_kube.Client(clients_kube.load(cluster.lab.kubeconfig)) as client:
        yield client


@pytest_asyncio.fixture
async def place(cluster: tests_machines.Cluster, tmp_path: Path) -> AsyncIterator[nodes.Ground]:
    """The way to the machines, which have their own configs again afterwards."""
    one = nodes.ground(cluster, tmp_path / "ground")
    yield one
    wanted = declared(one, tmp_path / "after")
    left = await carried_out(one, wanted, names=await differing(one, wanted))
    assert left.result.is_complete, left.failures


def declared(place: nodes.Ground, root: Path, **patches: str) -> DeclaredConfigs:
    platform = nodes.repo(place, root, patches={name.replace("_", "-"): text for name, text in patches.items()})
    return declared_configs.of(platform, platform.clusters[0], nodes.means(place))


async def compared(place: nodes.Ground, wanted: DeclaredConfigs) -> dict[str, ConfigStatus]:
    async with live_cluster.reached(nodes.declared(place), nodes.means(place)) as world:
        found = await apply.compare_machines(apply.chosen_machines(wanted.cluster, ()), wanted, world)
    return {each.machine.name: each.sight for each in found}


async def differing(place: nodes.Ground, wanted: DeclaredConfigs) -> list[str]:
    found = await compared(place, wanted)
    return [name for name, each in found.items() if each.equality is not ConfigEquality.EQUAL]


async def carried_out(
    place: nodes.Ground, wanted: DeclaredConfigs, *, names: Sequence[str], tried: float = 0.0
) -> nodes.Walked:
    machines = [] if not names else apply.chosen_machines(wanted.cluster, names)
    return await nodes.walk(place, apply.apply_stages(machines, wanted, NodeApplyOptions(tried=tried)))


async def _is(answer: Awaitable[str], wanted: str) -> bool:
    return await answer == wanted


async def rack(kube: Client, name: str) -> str:
    return str((await kube.get("v1", "Node", name))["metadata"]["labels"].get("rack", ""))


async def test_a_worker_first_then_the_rest_and_a_reboot_is_asked(
    kube: Client, place: nodes.Ground, tmp_path: Path
) -> None:
    wanted = declared(place, tmp_path / "repo", cp_2=FILE, worker_1=LABEL % "a")
    before = await fingerprint.boots(kube)
    foreseen = await compared(place, wanted)

    names = [name for name, each in foreseen.items() if each.equality is not ConfigEquality.EQUAL]
    found = await carried_out(place, wanted, names=names)
    again = await carried_out(place, wanted, names=["worker-1"])

    text = node_text.configs_text(foreseen)
    assert {name: each.equality for name, each in foreseen.items() if each.equality is not ConfigEquality.EQUAL} == {
        "worker-1": ConfigEquality.DIFFERENT, "cp-2": ConfigEquality.DIFFERENT,
    }  # fmt: skip
    assert "worker-1   without a reboot\n       machine.nodeLabels.rack a added" in text
    assert "cp-2   reboots" in text
    assert "a-secret-of-the-tests" not in text + str(found.events)
    assert found.result.is_complete, found.failures
    assert found.writes == ["apply the config of worker-1", "apply the config of cp-2 (reboot)"]
    assert len(found.asked) == 1
    assert found.asked[0].startswith("cp-2 reboots")
    assert "etcd keeps its quorum: 2 of 3 members stay" in found.asked[0]
    assert await rack(kube, "worker-1") == "a"

    async def has_rebooted() -> bool:  # its node says so when the kubelet comes to it
        after = await fingerprint.boots(kube)
        return {name for name in after if after[name] != before[name]} == {"cp-2"}

    await until(has_rebooted, "cp-2, and nobody else, to have rebooted")
    assert (again.result.is_complete, again.writes) == (True, [])


async def test_a_trial_that_is_well_is_kept_and_one_that_is_not_goes_back(
    cluster: tests_machines.Cluster, kube: Client, place: nodes.Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apply_config, "HOLDS", 0.5)
    kept = await carried_out(
        place, declared(place, tmp_path / "one", worker_1=LABEL % "b"), tried=20.0, names=["worker-1"]
    )
    wanted = declared(place, tmp_path / "two", worker_1=LABEL % "c")
    tried, *rest = apply.apply_stages(
        apply.chosen_machines(wanted.cluster, ["worker-1", "cp-1"]), wanted, NodeApplyOptions(tried=5.0)
    )

    async def broken(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        # It falls over with what it tries, and comes back with what it has on its disk.
        await cluster.lab.machine("worker-1", "off")
        switching: list[asyncio.Future[None]] = []

        def seen(verdict: Verdict) -> None:
            if "goes back by itself" in verdict.reason:
                switching.append(asyncio.ensure_future(cluster.lab.machine("worker-1", "on")))
            on_verdict(verdict)

        found = await tried.wait(world, seen)
        await asyncio.gather(*switching)
        return found

    found = await nodes.walk(place, [dataclasses.replace(tried, wait=broken), *rest])
    after = await compared(place, declared(place, tmp_path / "one", worker_1=LABEL % "b"))

    assert kept.result.is_complete, kept.failures
    assert kept.writes == ["try the config of worker-1 for 20 s", "keep the config of worker-1"]
    await until(lambda: _is(rack(kube, "worker-1"), "b"), "the label to be back")
    assert not found.result.is_complete
    assert found.writes == ["try the config of worker-1 for 5 s"]
    assert "worker-1 was not well with it" in found.failures[0]
    assert "has gone back to the config that it had" in found.failures[0]
    assert after["worker-1"].equality is ConfigEquality.EQUAL


async def test_a_reboot_cannot_be_tried(place: nodes.Ground, tmp_path: Path) -> None:
    found = await carried_out(place, declared(place, tmp_path / "repo", worker_1=FILE), tried=20.0, names=["worker-1"])

    assert found.result.is_refused
    assert found.writes == []
    assert "worker-1 cannot try it: it would reboot" in found.failures[0]


async def test_back_to_an_earlier_commit(kube: Client, place: nodes.Ground, tmp_path: Path) -> None:
    root = tmp_path / "repo"
    now = declared(place, root, worker_1=LABEL % "old")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "old")
    now = declared(place, root, worker_1=LABEL % "new")
    await carried_out(place, now, names=["worker-1"])
    before = await rack(kube, "worker-1")

    shown = await nodes.typed(
        place, root, "apply", "--machine", "worker-1", "--revision", "HEAD", "--dry-run", "-o", "json"
    )
    found = await nodes.typed(place, root, "apply", "--machine", "worker-1", "--revision", "HEAD")

    assert shown.code == 2
    assert [each["shown"] for each in shown.data["machines"][0]["fields"]] == ["machine.nodeLabels.rack new › old"]
    assert found.code == 0, found
    assert "machine.nodeLabels.rack new › old" in found.err
    assert (before, await rack(kube, "worker-1")) == ("new", "old")


def git(root: Path, *words: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *identity, *words], cwd=root, check=True)
