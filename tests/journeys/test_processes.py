"""Processes of a lab that are killed, stopped and slowed; one lab for all of them, healthy again after each."""

import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import lab_directory, procfs
from firstlight.lab.running_lab import Lab
from tests.journeys.test_lab_life import names, nothing_left, write
from tests.labs import condition, until


@pytest_asyncio.fixture(scope="module")
async def sturdy(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    lab = Lab(lab_directory.LabDirectory(tmp_path_factory.mktemp("labs") / "sturdy"))
    await lab.up(programs, owner=os.getpid())
    yield lab
    await lab.down()


async def test_a_killed_part_comes_back_and_is_counted(sturdy: Lab) -> None:
    lab = sturdy
    before = {part.name: part for part in (await lab.status()).parts}

    await lab.process("kube-apiserver", "kill")

    async def back() -> bool:
        part = {each.name: each for each in (await lab.status()).parts}["kube-apiserver"]
        return part.state == "ready" and part.pid != before["kube-apiserver"].pid and part.restarts == 1

    await until(back, "the API server to come back")
    await write(lab, "works")


async def test_a_stopped_etcd_makes_the_api_unready_until_it_goes_on(sturdy: Lab) -> None:
    lab = sturdy
    async with kube.Client(kube.load(lab.kubeconfig)) as client:
        await lab.process("etcd", "stop")

        async def unready() -> bool:
            return not (await client.ready()).is_ready

        await until(unready, "the API server to miss etcd")
        await lab.process("etcd", "continue")

        async def ready() -> bool:
            return (await client.ready()).is_ready

        await until(ready, "the API server to find etcd again")


async def test_a_slowed_part_is_stopped_most_of_the_time_and_still_works(sturdy: Lab) -> None:
    lab = sturdy
    await lab.process("etcd", "slow", share=0.3)
    (etcd,) = [part for part in (await lab.status()).parts if part.name == "etcd"]
    assert etcd.state == "slowed"

    async def is_stopped() -> bool:
        return Path(f"/proc/{etcd.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"

    await until(is_stopped, "the process to be stopped for a moment")
    await write(lab, "slowly")
    await lab.process("etcd", "continue")

    assert "slowly" in await names(lab)
    assert (await lab.status()).is_ready


async def test_a_stopped_part_is_named_at_once(sturdy: Lab, programs: dict[str, Path]) -> None:
    lab = sturdy
    await lab.process("kwok", "slow")
    await lab.process("kwok", "stop")
    (kwok,) = [part for part in (await lab.status()).parts if part.name == "kwok"]

    assert kwok.state == "stopped"
    assert Path(f"/proc/{kwok.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
    with pytest.raises(errors.LabError, match="kwok of lab sturdy is stopped"):
        await lab.up(programs)
    await lab.process("kwok", "continue")
    assert (await lab.up(programs)).is_ready


async def test_a_part_that_is_killed_again_and_again_still_comes_back(sturdy: Lab) -> None:
    async def kill() -> bool:
        try:
            await sturdy.process("lab-proxy", "kill")
        except errors.UsageError:  # it has no process at this moment
            return False
        return True

    for _ in range(7):
        await until(kill, "a process to kill")

    async def ready() -> bool:
        return (await sturdy.status()).is_ready

    await until(ready, "the proxy to come back")


async def test_nodes_do_not_play_dead_when_their_kubelets_restart(sturdy: Lab) -> None:
    await sturdy.process("kwok", "kill")
    spec = {
        "hostNetwork": True,
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "main", "image": "registry.example/app:1"}],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "soon", "namespace": "default"}, "spec": spec}
    async with kube.Client(kube.load(sturdy.kubeconfig)) as client:
        await client.apply(pod, manager="tests")

        async def started() -> bool:
            return condition(await client.get("v1", "Pod", "soon", namespace="default"), "Ready") == "True"

        await until(started, "a pod right after kwok came back, well before a lease would expire", timeout=30)


async def test_killing_the_supervisor_kills_its_parts(sturdy: Lab) -> None:
    """The last one: nothing of the lab is left."""
    parts = {part.pid for part in (await sturdy.status()).parts}
    (supervisor,) = set(procfs.processes_of(sturdy.home.path)) - parts

    os.kill(supervisor, signal.SIGKILL)

    await until(nothing_left(sturdy), "the parts to die with their supervisor")
