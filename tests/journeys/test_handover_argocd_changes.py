"""A change of both halves after a handover to Argo CD: the machine by talosctl, the rest by its controllers."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from firstlight.commands.change.change_record import ChangePath, ChangeStanding
from firstlight.lab import procfs
from firstlight.tools import install
from tests import carried, handing, runs
from tests.carried import Clone
from tests.labs import FAST

pytestmark = pytest.mark.long

TOOLS = ("talosctl", "lab-machine", "helm", "kustomize", "argocd", "lab-redis", "sops")
ARGOCD = Path(__file__).parents[2] / "examples" / "argocd" / "kubernetes" / "argocd"


@pytest_asyncio.fixture(scope="module")
async def clone(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Clone]:
    """A clone of a platform whose cluster Argo CD owns."""
    home = tmp_path_factory.mktemp("argo")
    found = programs | await install.ensure(TOOLS)
    stage = await runs.stage(
        home / "stage", found, platform="argo", machines=runs.MACHINES,
        settings=msgspec.structs.replace(FAST, actors=("argocd",)),
        manifests={f"argocd/{name}": ARGOCD / name for name in ("crds.yaml", "argocd.yaml")},
    )  # fmt: skip
    try:
        result = await stage.up()
        assert result.is_complete, result.outcomes
        yield carried.clone(stage, home / "clone", sops=found["sops"])
    finally:
        await stage.lab.down()
    assert procfs.processes_of(stage.lab.home.path) == (), "the lab left processes behind"


async def test_what_only_bootstrap_brings_passes_argo_cd_by(clone: Clone) -> None:
    clone.branch("shelf", {
        "talos/all.yaml": ("cluster:\n", "machine:\n  nodeLabels: {example.org/rack: c}\ncluster:\n"),
    })  # fmt: skip

    outcome, record = await clone.carry("shelf")

    assert outcome.is_done, outcome
    assert record.path is ChangePath.BOOTSTRAP
    assert await racks(clone) == ("c", "")
    steps = [each.id for each in record.steps]
    assert steps.index("git:merge") < steps.index("argo:backup") < steps.index("argo:machine:cp-1")
    assert "argo:reconcile" not in steps

    outcome, record = await clone.revert(record.id)

    assert outcome.is_done, outcome
    assert await racks(clone) == ("", "")


async def test_machines_come_before_what_argo_cd_has_on_top_of_them_and_go_after_it(clone: Clone) -> None:
    clone.branch("rack", {
        "talos/all.yaml": ("cluster:\n", "machine:\n  nodeLabels: {example.org/rack: a}\ncluster:\n"),
        "web/web.yaml": ("annotations: {example.org/note:", "annotations: {example.org/rack: a, example.org/note:"),
    })  # fmt: skip

    outcome, record = await clone.carry("rack")

    assert outcome.is_done, outcome
    assert record.path is ChangePath.HYBRID
    assert await racks(clone) == ("a", "a")
    steps = [each.id for each in record.steps]
    assert steps.index("argo:machine:cp-1") < steps.index("git:merge") < steps.index("argo:reconcile")

    outcome, record = await clone.revert(record.id)

    assert outcome.is_done, outcome
    assert record.standing is ChangeStanding.REVERTED
    assert await racks(clone) == ("", "")


async def test_the_network_plugin_gets_another_version_by_argo_cd(clone: Clone) -> None:
    clone.branch("network", {"flannel/flannel.yaml": ("cni-agent:1.0.0", "cni-agent:1.1.0")})

    outcome, record = await clone.carry("network")

    assert outcome.is_done, outcome
    assert record.path is ChangePath.CNI
    assert "kube-flannel-ds 1.1.0 1/1" in {each.id: each.says for each in record.steps}["argo:cni-rollout"]


async def racks(clone: Clone) -> tuple[str, str]:
    """The label of the node, and the annotation of what Argo CD brings."""
    async with handing.client(clone.stage) as client:
        node = await client.get("v1", "Node", "cp-1")
        web = await client.get("apps/v1", "Deployment", "web", namespace="web")
    name = "example.org/rack"
    return str(node["metadata"]["labels"].get(name, "")), str(web["metadata"].get("annotations", {}).get(name, ""))
