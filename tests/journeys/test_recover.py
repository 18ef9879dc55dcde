"""Failures made on the light platform, assessed and repaired by the command, with nothing lost."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import kube
from firstlight.execute.applying import helm_releases
from firstlight.lab import processes
from firstlight.model.component import Phase
from firstlight.operate import up
from firstlight.operate.means import Wishes
from firstlight.operate.recover import faults
from firstlight.operate.recover.faults import Ground
from firstlight.tools import content, install
from tests import runs
from tests.recover import drills

LONG = ("kubeconfig", "talosconfig", "foundation", "engine", "etcd", "everything")
"""Made on a cluster that Git owns."""


@pytest_asyncio.fixture(scope="module")
async def stage(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[runs.Stage]:
    """The light platform, with its core."""
    found = programs | await install.ensure(runs.TOOLS)
    manifests = (await content.ensure(["flux-manifests"]))["flux-manifests"]
    one = await runs.stage(
        tmp_path_factory.mktemp("recover") / "light", found, machines=runs.MACHINES,
        manifests={"cluster/flux-system/gotk-components.yaml": manifests / "install.yaml"},
    )  # fmt: skip
    result = await one.up(until=Phase.CORE)
    assert result.is_complete, result.outcomes
    yield one
    await one.lab.down()
    assert processes.of(one.lab.home.path) == (), "the lab left processes behind"


async def ground(stage: runs.Stage) -> Ground:
    means = runs.means(stage.place)
    prepared = await up.prepare(stage.platform, Wishes(cluster=""), means, is_checked=False)
    return Ground(lab=stage.lab, prepared=prepared, means=means)


async def test_a_pending_release_is_repaired_and_nothing_is_uninstalled(stage: runs.Stage) -> None:
    async with kube.Client(kube.load(stage.lab.kubeconfig)) as client:
        before = await deployment(client)

        found = await drills.drill("pending-release", await ground(stage))

        assert (found.option, found.lost) == ("pending-release greeter/greeter", ())
        after, kept = await deployment(client), await helm_releases.last(client, "greeter", "greeter")
    assert kept is not None
    assert kept.status == "deployed"
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "nothing was uninstalled"
    told = await drills.typed(stage.place.root, runs.means(stage.place), "--output", "json")
    assert (told.code, told.data["broken"]) == (0, []), told.out


async def test_what_a_release_of_nobody_is_told(stage: runs.Stage) -> None:
    words = ("--do", "pending-release", "--on", "greeter/other")
    told = await drills.typed(stage.place.root, runs.means(stage.place), *words)

    assert told.code == 64
    assert "It installs greeter/greeter." in told.err


async def deployment(client: kube.Client) -> Any:
    return await client.get("apps/v1", "Deployment", "greeter", namespace="greeter")


@pytest_asyncio.fixture(scope="module")
async def handed_over(stage: runs.Stage) -> runs.Stage:
    """The same, owned by Git."""
    result = await stage.up()
    assert result.is_complete, result.outcomes
    return stage


@pytest.mark.long
async def test_the_network_and_the_engine_come_back_while_the_engine_cannot_bring_them(
    handed_over: runs.Stage,
) -> None:
    lost = (("DaemonSet", "kube-system", "kube-flannel-ds"), ("Deployment", "flux-system", "kustomize-controller"))
    root, means = handed_over.place.root, runs.means(handed_over.place)
    async with kube.Client(kube.load(handed_over.lab.kubeconfig)) as client:
        for kind, space, name in lost:
            await client.delete("apps/v1", kind, name, namespace=space)

        told = await drills.typed(root, means, "--do", "cni")

        assert told.code == 0, told.out + told.err
        found = [await client.get("apps/v1", kind, name, namespace=space) for kind, space, name in lost]
    marks = [each["metadata"]["labels"]["kustomize.toolkit.fluxcd.io/name"] for each in found]
    assert marks == ["flannel", "flux-system"], "as if the engine had done it itself"
    managers = [
        {one["manager"] for one in each["metadata"]["managedFields"] if "subresource" not in one} for each in found
    ]
    assert managers == [{"kustomize-controller"}] * 2
    again = await drills.typed(root, means, "--do", "cni")
    assert (again.code, "0 writes" in again.out + again.err) == (0, True), again.out + again.err


@pytest.mark.long
@pytest.mark.parametrize("scenario", LONG)
async def test_it_is_repaired_and_nothing_is_lost(scenario: str, handed_over: runs.Stage) -> None:
    found = await drills.drill(scenario, await ground(handed_over))

    assert found.lost == ()
    assert found.option.split()[0] == faults.FAULTS[scenario].option
