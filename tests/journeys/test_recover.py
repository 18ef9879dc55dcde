"""Failures made on the light platform, assessed and repaired by the command, with nothing lost."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import kube
from firstlight.commands.recover import drill
from firstlight.commands.recover.drill_context import DrillContext
from firstlight.commands.up import up
from firstlight.execute.apply import helm_storage
from firstlight.execute.means import RunRequest
from firstlight.journal import journal_reader
from firstlight.lab import procfs
from firstlight.model.component import Phase
from firstlight.tools import content, install
from tests import runs
from tests.conftest import sample
from tests.recover import drills, killed

LONG = ("kubeconfig", "talosconfig", "foundation", "api", "cni", "engine", "etcd", "everything")
"""Made on a cluster that Git owns."""
COREDNS = Path(__file__).parents[2] / "examples" / "coredns"
DNS = """
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: coredns, namespace: flux-system}
spec:
  interval: 10m
  path: ./coredns
  prune: true
  wait: true
  sourceRef: {kind: GitRepository, name: flux-system}
"""
PENDING = ("core/greeter",)
"""The steps that write when a pending release is repaired."""
WRITING = {
    "cni": ("light:in-its-place",),
    "engine": ("light:in-its-place",),
    "etcd": ("etcd:check", "etcd:restore", "etcd:network", "etcd:operators", "etcd:engine"),
}
AMID = {"cni": ("light:in-its-place",)}
"""Those that say how far they are, so that they can be killed between two of their writes."""
CELLS = [(name, at) for name, steps in WRITING.items() for at in killed.cells(steps, AMID.get(name, ()))]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "pending_at" in metafunc.fixturenames:
        ats = sample(metafunc.config, "repairs of a pending release killed", killed.cells(PENDING), 1)
        metafunc.parametrize("pending_at", ats, ids=[f"{each.step}-{each.moment}" for each in ats])
    if "cell" in metafunc.fixturenames:
        cells = sample(metafunc.config, "recoveries killed", CELLS, 0)
        metafunc.parametrize("cell", cells, ids=[f"{name}-{at.step}-{at.moment}" for name, at in cells])


@pytest_asyncio.fixture(scope="module")
async def stage(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[runs.Stage]:
    """The light platform, with its core, and with a DNS that Talos does not bring."""
    found = programs | await install.ensure(runs.TOOLS)
    manifests = (await content.ensure(["flux-manifests"]))["flux-manifests"]
    home = tmp_path_factory.mktemp("recover")
    declared = (runs.PLATFORMS / "light" / "firstlight.yaml").read_text()
    (home / "firstlight.yaml").write_text(f"{declared}  coredns: {{phase: core, needs: [flannel], why: names}}\n")
    talos = (runs.PLATFORMS / "light" / "talos" / "all.yaml").read_text()
    (home / "all.yaml").write_text(f"{talos}  coreDNS: {{disabled: true}}\n")
    (home / "coredns.yaml").write_text(DNS)
    flannel = (runs.PLATFORMS / "light" / "flannel" / "flannel.yaml").read_text()
    agents = "labels: {app.kubernetes.io/name: kube-flannel-ds, app: flannel}\n    spec:"
    (home / "flannel.yaml").write_text(
        flannel.replace("labels: {app.kubernetes.io/name: kube-flannel-ds}\n    spec:", agents)
    )
    one = await runs.stage(
        home / "light", found, machines=runs.MACHINES,
        manifests={
            "cluster/flux-system/gotk-components.yaml": manifests / "install.yaml",
            "firstlight.yaml": home / "firstlight.yaml", "talos/all.yaml": home / "all.yaml",
            "cluster/coredns.yaml": home / "coredns.yaml", "flannel/flannel.yaml": home / "flannel.yaml",
            **{f"coredns/{each.name}": each for each in COREDNS.glob("*.yaml")},
        },
    )  # fmt: skip
    result = await one.up(until=Phase.CORE)
    assert result.is_complete, result.outcomes
    yield one
    await one.lab.down()
    assert procfs.processes_of(one.lab.home.path) == (), "the lab left processes behind"


async def ground(stage: runs.Stage) -> DrillContext:
    means = runs.means(stage.place)
    prepared = await up.prepare(stage.platform, RunRequest(cluster=""), means, is_checked=False)
    return DrillContext(lab=stage.lab, prepared=prepared, means=means)


async def test_a_pending_release_is_repaired_and_nothing_is_uninstalled(stage: runs.Stage) -> None:
    async with kube.Client(kube.load(stage.lab.kubeconfig)) as client:
        before = await deployment(client)

        found = await drills.drill("pending-release", await ground(stage))

        assert (found.option, found.lost) == ("pending-release greeter/greeter", ())
        after, kept = await deployment(client), await helm_storage.last(client, "greeter", "greeter")
    assert kept is not None
    assert kept.status == "deployed"
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "nothing was uninstalled"
    told = await drills.typed(stage.place.root, runs.means(stage.place), "--output", "json")
    assert (told.code, told.data["broken"]) == (0, []), told.out


async def test_a_repair_of_a_release_that_was_killed_goes_on(stage: runs.Stage, pending_at: killed.At) -> None:
    before = written(stage)
    async with kube.Client(kube.load(stage.lab.kubeconfig)) as client:
        uid = (await deployment(client))["metadata"]["uid"]

        found = await drills.killed("pending-release", await ground(stage), order(stage), at=pending_at)

        assert (found.option, found.lost) == ("pending-release greeter/greeter", ())
        kept = await helm_storage.last(client, "greeter", "greeter")
        assert kept is not None
        assert (kept.status, (await deployment(client))["metadata"]["uid"]) == ("deployed", uid)
    assert killed.writing_steps(Path(stage.place.state), but=before) == set(PENDING)


@pytest.mark.long
async def test_the_dns_that_bootstrap_brings_comes_back(stage: runs.Stage) -> None:
    found = await drills.drill("dns", await ground(stage))

    assert (found.option, found.lost) == ("rerun coredns", ())


async def test_what_a_release_of_nobody_is_told(stage: runs.Stage) -> None:
    words = ("--do", "pending-release", "--on", "greeter/other")
    told = await drills.typed(stage.place.root, runs.means(stage.place), *words)

    assert told.code == 64
    assert "It installs greeter/greeter." in told.err


def order(stage: runs.Stage) -> Callable[[tuple[str, ...]], killed.Order]:
    """What is typed on it, in a process of its own."""
    return lambda words: killed.Order(root=stage.place.root, words=words, place=stage.place)


def written(stage: runs.Stage) -> frozenset[Path]:
    """The journals that there are."""
    return frozenset(journal_reader.paths(Path(stage.place.state)))


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
    assert found.option.split()[0] == drill.FAULTS[scenario].option


@pytest.mark.long
async def test_what_was_killed_goes_on_and_nothing_is_lost(
    cell: tuple[str, killed.At], handed_over: runs.Stage
) -> None:
    scenario, at = cell
    before = written(handed_over)

    found = await drills.killed(scenario, await ground(handed_over), order(handed_over), at=at)

    assert found.lost == ()
    assert killed.writing_steps(Path(handed_over.place.state), but=before) == set(WRITING[scenario])
