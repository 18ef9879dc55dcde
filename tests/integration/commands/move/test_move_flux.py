"""A component moved with real Flux: to bootstrap, which keeps it, and back; nothing is deleted, no pod is replaced."""

import time
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.commands.change import followed_branch, prepare, record_store
from firstlight.commands.change.moves import move_path, proof
from firstlight.commands.change.moves.move_context import MoveContext
from firstlight.execute import live_cluster
from firstlight.lab.sources.declarations import Access
from firstlight.model.verdict import Failed, Passed, Verdict
from firstlight.tools import install
from tests import changing, moving
from tests.changing import Clone
from tests.flux import Flux, config
from tests.integration.commands.change.test_change_flux import engine, platform
from tests.labs import until

FLUX = "kustomize.toolkit.fluxcd.io"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_branch, "PAUSES", (0.2,))


@pytest_asyncio.fixture
async def clone(flux: Flux, space: str, tmp_path: Path) -> Clone:
    """A platform of the test's own that Flux has reconciled, with its pods: two Kustomizations, and a directory."""
    made = await flux.sources.create_git(f"tests/{space}", access=Access(anonymous="write"))
    programs = await install.ensure(["helm", "kustomize"])
    files = {**platform(made.url, home="cluster"), **engine(made.url, space)}
    apps: Any = files["cluster/apps.yaml"]
    files |= {
        "cluster/tools.yaml": {**apps, "metadata": {"name": "tools", "namespace": space},
                               "spec": {**apps["spec"], "path": "./tools"}},
        "tools/kustomization.yaml": "resources: [tools.yaml]\n",
        "tools/tools.yaml": config("tools", a="b"),
        "apps/kustomization.yaml": "resources: [web, notes.yaml]\n",
        "apps/web/kustomization.yaml": "resources: [web.yaml]\n",
        "apps/web/web.yaml": files.pop("apps/web.yaml"),
    }  # fmt: skip
    found = changing.cloned(made.url, tmp_path / "repo", files, kubeconfig=flux.lab.kubeconfig, programs=programs)
    for each in files["cluster/sync.yaml"]:  # type: ignore[attr-defined]
        await flux.kube.apply(each, manager="tests")
    await flux.ready("Kustomization", "root", space)
    for name in ("apps", "tools"):
        await flux.ready("Kustomization", name, space, revision=found.git("rev-parse", "HEAD"))

    async def runs() -> bool:
        return bool(await moving.pods(flux.kube, space))

    await until(runs, "a pod")
    return found


async def _web(flux: Flux, space: str) -> dict[str, Any]:
    return dict(await flux.kube.get("apps/v1", "Deployment", "web", namespace=space))


async def test_there_and_back_again(clone: Clone, flux: Flux, space: str) -> None:
    begun, pods, uid = time.time(), await moving.pods(flux.kube, space), (await _web(flux, space))["metadata"]["uid"]

    await moving.carry(clone, "apps", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)

    web = await _web(flux, space)
    assert "firstlight" in moving.managers(web)
    assert moving.managers(web) & {"kustomize-controller", move_path.MANAGER} == set()
    assert not [each for each in web["metadata"].get("labels") or {} if each.startswith(FLUX)]
    assert (await flux.get("Kustomization", "apps", space))["spec"]["suspend"] is True
    record = clone.records()[-1]
    assert record["path"] == "move"
    assert [each["verdict"] for each in record["steps"] if each["id"].endswith(":again")] == ["passed"]
    await _see_a_second_run_that_writes(clone, flux, space)

    await moving.carry(clone, "apps", "--to", "gitops")

    web = await _web(flux, space)
    assert "kustomize-controller" in moving.managers(web)
    assert moving.managers(web) & {"firstlight", move_path.MANAGER} == set()
    assert web["metadata"]["labels"][f"{FLUX}/name"] == "apps"
    assert "suspend" not in (await flux.get("Kustomization", "apps", space))["spec"]
    assert web["metadata"]["uid"] == uid
    assert await moving.pods(flux.kube, space) == pods
    assert moving.deleted(flux.lab, space, since=begun) == []


async def _see_a_second_run_that_writes(clone: Clone, flux: Flux, space: str) -> None:
    """What bootstrap keeps and somebody changes is something to write, which the last proof finds and does not do."""
    gone: dict[str, Any] = {"data": {"retention": None}}
    await flux.kube.patch("v1", "ConfigMap", "notes", gone, manager="somebody", namespace=space)

    verdict = await _second_run(clone)

    assert isinstance(verdict, Failed)
    assert f"ConfigMap {space}/notes" in verdict.reason
    found = await flux.kube.get("v1", "ConfigMap", "notes", namespace=space)
    assert "data" not in found
    back = {"data": {"retention": "7d"}}
    value = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes", "namespace": space}, **back}
    await flux.kube.apply(value, manager="firstlight", force=True)
    assert isinstance(await _second_run(clone), Passed)


async def _second_run(clone: Clone) -> Verdict:
    means = changing.means(clone)
    carrying = await prepare.reopen_change(clone.root, record_store.every_record(means.state)[-1], means, patience=30.0)
    (cluster,) = carrying.clusters
    (stage,) = proof.repeat_stages(MoveContext(carrying, cluster), carrying)
    async with live_cluster.reached(cluster, means) as world:
        verdict, _ = await stage.wait(world, lambda _: None)
    return verdict


async def test_a_directory_passes_to_another_kustomization(clone: Clone, flux: Flux, space: str) -> None:
    begun, pods, uid = time.time(), await moving.pods(flux.kube, space), (await _web(flux, space))["metadata"]["uid"]

    await moving.carry(clone, "apps/web", "--into", "tools")

    web = await _web(flux, space)
    assert web["metadata"]["labels"][f"{FLUX}/name"] == "tools"
    assert move_path.MANAGER not in moving.managers(web)
    assert web["metadata"]["uid"] == uid
    assert await moving.pods(flux.kube, space) == pods
    assert moving.deleted(flux.lab, space, since=begun) == []
    listed = {name: (await flux.get("Kustomization", name, space))["status"]["inventory"] for name in ("apps", "tools")}
    assert [name for name, each in listed.items() if "_web_apps_Deployment" in str(each)] == ["tools"]


@pytest.mark.long
async def test_a_part_gets_an_owner_of_its_own_and_is_taken_back(clone: Clone, flux: Flux, space: str) -> None:
    begun, pods, uid = time.time(), await moving.pods(flux.kube, space), (await _web(flux, space))["metadata"]["uid"]

    await moving.carry(clone, "apps", "--split", "pages", "--only", "apps/web")

    web = await _web(flux, space)
    assert web["metadata"]["labels"][f"{FLUX}/name"] == "pages"
    assert (await flux.get("Kustomization", "pages", space))["spec"]["dependsOn"] == [{"name": "apps"}]

    told = await clone.change(
        "revert", clone.records()[-1]["id"], "--emergency", "outage", "--why", moving.WHY, "--yes"
    )

    assert told.code == 0, f"{told.out}\n{told.err}"
    # Without guards the Kustomization that goes takes with it what the other one has not applied by then.
    assert told.err.index(f"guard Deployment {space}/web against pruning") < told.err.index("is without it at")
    web = await _web(flux, space)
    assert web["metadata"]["labels"][f"{FLUX}/name"] == "apps"
    assert move_path.MANAGER not in moving.managers(web)
    assert web["metadata"]["uid"] == uid
    assert await moving.pods(flux.kube, space) == pods
    (gone,) = moving.deleted(flux.lab, space, since=begun)
    assert gone.startswith(f"delete kustomizations {space}/pages ")
