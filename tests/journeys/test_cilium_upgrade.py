"""The real Cilium chart, from one minor version to the next and back, rolled out by Flux.

Its agents and its operator are simulated, as everything that runs in a lab: what is real are the chart, its objects,
Flux, Helm and the order of things.
"""

import asyncio
import functools
import unittest.mock
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change.change_record import ChangePath, ChangeStanding
from firstlight.commands.rehearse import stand_ins
from firstlight.lab import procfs
from firstlight.render.chart_store import ChartStore
from firstlight.tools import content, install
from tests import carried, handing, runs
from tests.carried import Clone

pytestmark = pytest.mark.long

CHARTS = ("cilium-chart-1-18", "cilium-chart-1-19")
REGISTRY = "oci://registry.example.org"
OLD_PEERS = {
    "apiVersion": "cilium.io/v2alpha1",
    "kind": "CiliumBGPPeeringPolicy",
    "metadata": {"name": "rack"},
    "spec": {"virtualRouters": [{"localASN": 64512, "neighbors": [{"peerAddress": "10.9.0.1/32", "peerASN": 64513}]}]},
}


@pytest_asyncio.fixture(scope="module")
async def clone(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clone]:
    """A clone of a platform with Cilium 1.18 that Flux owns."""
    home = tmp_path_factory.mktemp("cilium")
    found = programs | await install.ensure([*runs.TOOLS, "sops"])
    contents = await content.ensure(["flux-manifests", *CHARTS])
    stage = await runs.stage(
        home / "stage", found, platform="cilium", machines=runs.MACHINES,
        manifests={"cluster/flux-system/gotk-components.yaml": contents["flux-manifests"] / "install.yaml"},
    )  # fmt: skip
    online = functools.partial(_online, ChartStore)
    with unittest.mock.patch.object(runs, "ChartStore", online):
        try:
            await _charts(stage, [contents[each] for each in CHARTS])
            playing = asyncio.create_task(_operator(stage, contents["cilium-chart-1-18"]))
            result = await stage.up()
            await playing
            assert result.is_complete, result.outcomes
            yield carried.clone(stage, home / "clone", sops=found["sops"])
        finally:
            await stage.lab.down()
    assert procfs.processes_of(stage.lab.home.path) == (), "the lab left processes behind"


def _online(store: type[ChartStore], home: Path, means: object, *, offline: bool) -> ChartStore:
    """A store that fetches: the lab has a registry."""
    return store(home, means)  # type: ignore[arg-type]


async def _charts(stage: runs.Stage, contents: list[Path]) -> None:
    """Both charts in the lab's registry, and the repo that names it."""
    sources = stage.lab.sources()
    for each in contents:
        for archive in each.glob("*.tgz"):
            pushed = await sources.push_oci_chart("charts", archive.read_bytes())
    url = pushed.url.removeprefix("oci://").partition("/")[0]
    root = Path(stage.place.root)
    file = root / "cilium" / "source.yaml"
    file.write_text(file.read_text().replace(REGISTRY, f"oci://{url}"))
    commit = (await sources.commit_directory("tests/cilium", root, message="the lab's registry")).after
    stage.place = msgspec.structs.replace(stage.place, commit=commit)


async def _operator(stage: runs.Stage, chart: Path) -> None:
    """What Cilium's operator does first: its kinds are made."""
    while True:
        try:
            async with kube.Client(kube.load(stage.lab.kubeconfig)) as client:
                for each in stand_ins.cilium_crds(chart):
                    await client.apply(dict(each), manager="cilium-operator")
                return
        except (OSError, errors.FirstlightError):
            await asyncio.sleep(0.5)


async def test_a_minor_version_up_and_back(clone: Clone) -> None:
    clone.branch("network", {"cilium/source.yaml": ("tag: 1.18.2", "tag: 1.19.7")})
    async with handing.client(clone.stage) as client:
        await client.apply(OLD_PEERS, manager="tests")

        with pytest.raises(errors.Refused, match=r"1 thing is used that Cilium 1\.19\.7 does not have"):
            await clone.carry("network")

        assert await versions(client) == ("v1.18.2", "v1.18.2"), "nothing was merged"
        await client.delete("cilium.io/v2alpha1", "CiliumBGPPeeringPolicy", "rack")

        outcome, record = await clone.carry("network")

        assert outcome.is_done, outcome
        assert record.path is ChangePath.CNI
        said = {each.id: each.says for each in record.steps}
        assert "Cilium 1.18.2 › 1.19.7: the next minor version" in said["cilium:cni-preflight"]
        assert "cilium 1.19.7 1/1" in said["cilium:cni-rollout"]
        assert "CiliumIsUp" in said["cilium:cni-rollout"]
        assert await versions(client) == ("v1.19.7", "v1.19.7")

        outcome, record = await clone.revert(record.id)

        assert outcome.is_done, outcome
        assert record.standing is ChangeStanding.REVERTED
        said = {each.id: each.says for each in record.steps}
        assert "the minor version before, which is the way back" in said["cilium:cni-preflight"]
        assert await versions(client) == ("v1.18.2", "v1.18.2")


async def test_what_bootstrap_keeps_is_brought_by_its_own_steps_and_taken_back(clone: Clone) -> None:
    clone.branch("banner", {"banner/banner.yaml": ("word: hello", "word: good day")})

    outcome, record = await clone.carry("banner", without_backup="a test")

    assert outcome.is_done, outcome
    assert record.path is ChangePath.BOOTSTRAP
    assert {each.id: each.says for each in record.steps}["cilium:backup"] == "no backup: a test"
    assert await word(clone) == "good day"

    outcome, record = await clone.revert(record.id)

    assert outcome.is_done, outcome
    assert await word(clone) == "hello"


async def word(clone: Clone) -> str:
    """What bootstrap's ConfigMap says."""
    async with handing.client(clone.stage) as client:
        return str((await client.get("v1", "ConfigMap", "banner", namespace="kube-system"))["data"]["word"])


async def versions(client: kube.Client) -> tuple[str, str]:
    """Of the agents and of the operator."""
    found = []
    for kind, name in (("DaemonSet", "cilium"), ("Deployment", "cilium-operator")):
        one = await client.get("apps/v1", kind, name, namespace="kube-system")
        image = str(one["spec"]["template"]["spec"]["containers"][0]["image"])
        found.append(image.partition("@")[0].rpartition(":")[2])
    return found[0], found[1]
