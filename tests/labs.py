"""Labs for tests: the shared one of each worker, and fresh ones for journeys."""

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
import pytest_asyncio
import yaml

from firstlight.clients import kube as clients_kube
from firstlight.lab import lab_directory, lab_settings, procfs, running_lab
from firstlight.lab.control_plane import control_plane_parts
from firstlight.tools import install

T = TypeVar("T")
NETWORK = Path(running_lab.__file__).parent / "examples" / "network.yaml"
FAST = lab_settings.LabSettings(
    pull_seconds=0.05,
    broken_images=("*/broken:*",),
    logs=(lab_settings.LogRule(pod="talkative", lines=("one", "two")),),
    exec=(lab_settings.ExecRule(pod="talkative", command=("id",), stdout="uid=7\n", exit_code=3),),
)


@pytest_asyncio.fixture(scope="session")
async def programs() -> dict[str, Path]:
    """The components of the lab and kubectl, installed if they are not."""
    return await install.ensure([*control_plane_parts.COMPONENTS, "kubectl"])


@pytest_asyncio.fixture(scope="session")
async def lab(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[running_lab.Lab]:
    """The worker's own lab: a control plane, two workers, and a CNI, so that its nodes are ready."""
    one = running_lab.Lab(lab_directory.LabDirectory(tmp_path_factory.mktemp("labs") / "shared"))
    wanted = lab_settings.with_nodes(FAST, control_planes=1, workers=2)
    await one.up(programs, settings=wanted, owner=os.getpid())
    async with clients_kube.Client(clients_kube.load(one.kubeconfig)) as client:
        for obj in manifests(NETWORK):
            await client.apply(obj, manager="tests")
        await until(lambda: _nodes_ready(client), "nodes to be ready")
    yield one
    restarted = [part.name for part in (await one.status()).parts if part.restarts]
    await one.down()
    assert restarted == [], "parts of the shared lab crashed"
    assert procfs.processes_of(one.home.path) == (), "the lab left processes behind"


@pytest_asyncio.fixture
async def fresh_lab(
    programs: dict[str, Path], tmp_path: Path
) -> AsyncIterator[Callable[..., Awaitable[running_lab.Lab]]]:
    """Makes labs that nobody else uses: ``await fresh_lab(control_planes=1, workers=1)``."""
    made: list[running_lab.Lab] = []

    async def make(
        name: str = "fresh", *, settings: lab_settings.LabSettings = FAST, control_planes: int = 1, workers: int = 1
    ) -> running_lab.Lab:
        one = running_lab.Lab(lab_directory.LabDirectory(tmp_path / name))
        made.append(one)
        counted = lab_settings.with_nodes(settings, control_planes=control_planes, workers=workers)
        wanted = settings if settings.nodes else counted
        await one.up(programs, settings=wanted, owner=os.getpid())
        return one

    yield make
    for one in made:
        await one.down()
        assert procfs.processes_of(one.home.path) == (), "the lab left processes behind"


@pytest_asyncio.fixture(scope="session")
async def kube(lab: running_lab.Lab) -> AsyncIterator[clients_kube.Client]:
    """A client of the shared lab, straight to its API server."""
    async with clients_kube.Client(clients_kube.load(lab.kubeconfig)) as client:
        yield client


@pytest_asyncio.fixture
async def namespace(kube: clients_kube.Client) -> AsyncIterator[str]:
    """A namespace of the test's own."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    await kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="tests")
    yield name
    await kube.delete("v1", "Namespace", name)


@pytest_asyncio.fixture
async def faulty(lab: running_lab.Lab) -> AsyncIterator[clients_kube.Client]:
    """A client that goes through the fault proxy; faults end with the test."""
    await lab.faults.clear()
    async with clients_kube.Client(clients_kube.load(lab.home.kubeconfig_faults)) as client:
        yield client
    await lab.faults.clear()


async def until(question: Callable[[], Awaitable[T | None]], what: str, *, timeout: float = 60) -> T:
    """Ask until the answer is true, and give it; fail saying what was waited for."""
    deadline = time.monotonic() + timeout
    while not (answer := await question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s for {what}")
        await asyncio.sleep(0.05)
    return answer


def manifests(path: Path) -> list[dict[str, Any]]:
    """The objects of a YAML file."""

    return list(yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader))


def condition(obj: dict[str, Any], kind: str) -> str:
    """The status of a condition; empty if there is none."""
    for each in obj.get("status", {}).get("conditions") or ():
        if each["type"] == kind:
            return str(each["status"])
    return ""


async def _nodes_ready(client: clients_kube.Client) -> bool:
    return all(condition(node, "Ready") == "True" for node in (await client.list("v1", "Node")).items)
