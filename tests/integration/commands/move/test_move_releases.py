"""A HelmRelease moved with real Flux and Helm: bootstrap keeps its release, and back; nothing is deleted on the way."""

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import kube
from firstlight.commands.change import followed_branch
from firstlight.commands.change.moves import move_path
from firstlight.commands.up import up
from firstlight.engines import engine_directives
from firstlight.execute import live_cluster
from firstlight.execute.actions import dispatch
from firstlight.execute.apply import helm_storage
from firstlight.execute.apply.helm_storage import HelmRevision
from firstlight.execute.means import Means, RunRequest
from firstlight.lab.sources.declarations import Access
from firstlight.model.cluster import Engine
from firstlight.model.component import Phase
from firstlight.model.platform import Platform
from firstlight.model.work import Install
from firstlight.render.chart_fetch import FetchClients
from firstlight.render.chart_store import ChartStore
from firstlight.render.component_renderer import Renderer
from firstlight.render.render_cache import RenderCache
from firstlight.render.renderer_programs import RendererPrograms
from firstlight.repo import platform_reader
from firstlight.repo.work_tree import WorkTree
from firstlight.tools import install
from tests import changing, moving
from tests.changing import Clone
from tests.flux import OFTEN, Flux, chart
from tests.integration.commands.change.test_change_flux import _killed, engine, platform
from tests.labs import until

CHART = "application/vnd.cncf.helm.chart.content.v1.tar+gzip"
ORIGIN = "helm.toolkit.fluxcd.io/name"
SETTINGS = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {word: {{ .Values.word }}}\n"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(followed_branch, "PAUSES", (0.2,))


def files(
    url: str, space: str, *, templates: Mapping[str, object] | None = None, registry: str = ""
) -> dict[str, Any]:  # fmt: skip
    """A chart in Git and a HelmRelease of it, brought by a Kustomization that waits for what it brings."""
    made: dict[str, Any] = {**platform(url, home="cluster"), **engine(url, space)}
    made["cluster/apps.yaml"]["spec"]["wait"] = True
    source = {"kind": "GitRepository", "name": "root"}
    spec: dict[str, Any] = {**OFTEN, "values": {"word": "git"}}
    resources = "release.yaml"
    if registry:
        spec["chartRef"] = {"kind": "OCIRepository", "name": "web"}
        resources = "release.yaml, chart.yaml"
        made["apps/chart.yaml"] = {
            "apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "OCIRepository",
            "metadata": {"name": "web", "namespace": space},
            "spec": {"url": registry, "insecure": True, "ref": {"tag": "1.0.0"}, **OFTEN,
                     "layerSelector": {"mediaType": CHART, "operation": "copy"}},
        }  # fmt: skip
    else:
        spec["chart"] = {"spec": {"chart": "./charts/web", "sourceRef": source}}
    return made | {
        "apps/kustomization.yaml": f"resources: [{resources}]\n",
        "apps/release.yaml": {
            "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
            "metadata": {"name": "web", "namespace": space}, "spec": spec,
        },
        "charts/web/Chart.yaml": {"apiVersion": "v2", "name": "web", "version": "1.0.0"},
        "charts/web/templates/settings.yaml": SETTINGS,
        "charts/web/templates/web.yaml": made.pop("apps/web.yaml"),
    } | {f"charts/web/templates/{name}": each for name, each in (templates or {}).items()}  # fmt: skip


async def reconciled(flux: Flux, space: str, home: Path, **given: Any) -> Clone:
    """A platform of the test's own that Flux has reconciled, with its pods."""
    made = await flux.sources.create_git(f"tests/{space}", access=Access(anonymous="write"))
    programs = await install.ensure(["helm", "kustomize"])
    content = files(made.url, space, **given)
    found = changing.cloned(made.url, home / "repo", content, kubeconfig=flux.lab.kubeconfig, programs=programs)
    for each in content["cluster/sync.yaml"]:
        await flux.kube.apply(each, manager="tests")
    await flux.ready("Kustomization", "root", space)
    await flux.ready("Kustomization", "apps", space, revision=found.git("rev-parse", "HEAD"))
    await flux.ready("HelmRelease", "web", space)

    async def runs() -> bool:
        return bool(await moving.pods(flux.kube, space))

    await until(runs, "a pod")
    return found


@pytest_asyncio.fixture
async def clone(flux: Flux, space: str, tmp_path: Path) -> Clone:
    return await reconciled(flux, space, tmp_path)


async def live(flux: Flux, space: str) -> dict[str, dict[str, Any]]:
    """The objects of the release."""
    return {
        "web": dict(await flux.kube.get("apps/v1", "Deployment", "web", namespace=space)),
        "settings": dict(await flux.kube.get("v1", "ConfigMap", "settings", namespace=space)),
    }


async def revision(flux: Flux, space: str) -> HelmRevision:
    found = await helm_storage.last(flux.kube, "web", space)
    assert found is not None
    return found


async def revisions(client: kube.Client, space: str) -> list[str]:
    listed = await client.list("v1", "Secret", namespace=space, labels="owner=helm,name=web")
    return sorted(each["metadata"]["labels"]["version"] for each in listed.items)


async def bootstrap(clone: Clone, *, is_kept: bool = True) -> list[str]:
    """What ``up`` does with the component; what it has written."""
    means = changing.means(clone)
    known = platform_reader.read_tree(WorkTree(clone.root))
    prepared = await up.prepare(known, RunRequest(cluster="home"), means, is_checked=False)
    written: list[str] = []
    async with live_cluster.reached(prepared.cluster, means) as world:
        steps = [each for each in prepared.work.plan.steps if each.component == "web" and each.phase != Phase.GITOPS]
        for each in steps:
            task = prepared.work.tasks[each.id]
            if isinstance(task, Install):
                task = dataclasses.replace(task, is_kept=task.is_kept and is_kept)
            if (change := await dispatch.look(task, world, each.id)) is not None:
                await change.perform()
                written += change.writes
        assert any(isinstance(prepared.work.tasks[each.id], Install) for each in steps)
    return written


async def test_there_and_back_again(clone: Clone, flux: Flux, space: str) -> None:
    begun, pods, before = time.time(), await moving.pods(flux.kube, space), await live(flux, space)
    assert {each["metadata"]["labels"][ORIGIN] for each in before.values()} == {"web"}

    await moving.carry(clone, "web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)

    for each in (await live(flux, space)).values():
        assert "helm" in moving.managers(each)
        assert moving.managers(each) & {"helm-controller", "firstlight", move_path.MANAGER} == set()
        assert ORIGIN not in each["metadata"]["labels"]
    held = await flux.get("HelmRelease", "web", space)
    assert held["spec"]["suspend"] is True
    assert move_path.MANAGER not in moving.managers(held)
    last = await revision(flux, space)
    assert (last.revision, last.status, bool(last.maker)) == (2, "deployed", True)
    assert await bootstrap(clone) == [], "a second run writes nothing"
    assert clone.records()[-1]["path"] == "move"

    await moving.carry(clone, "web", "--to", "gitops")

    after = await live(flux, space)
    for each in after.values():
        assert "helm-controller" in moving.managers(each)
        assert moving.managers(each) & {"helm", "firstlight", move_path.MANAGER} == set()
        assert each["metadata"]["labels"][ORIGIN] == "web"
    held = await flux.get("HelmRelease", "web", space)
    assert "suspend" not in held["spec"]
    assert move_path.MANAGER not in moving.managers(held)
    assert held["status"]["history"][0]["version"] == 3
    assert await revisions(flux.kube, space) == ["1", "2", "3"], "no revision is lost"
    uids = {name: each["metadata"]["uid"] for name, each in before.items()}
    assert {name: each["metadata"]["uid"] for name, each in after.items()} == uids
    assert await moving.pods(flux.kube, space) == pods
    assert moving.deleted(flux.lab, space, since=begun) == []


@pytest.mark.long
async def test_what_bootstrap_keeps_it_upgrades_and_nobody_else(clone: Clone, flux: Flux, space: str) -> None:
    await moving.carry(clone, "web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)
    clone.write("charts/web/templates/settings.yaml", SETTINGS.replace("word:", "other: more, word:", 1))

    # Somebody who has suspended it for another reason still has it.
    assert await bootstrap(clone, is_kept=False) == []
    assert await flux.config_map("settings", space) == {"word": "git"}

    assert [each.partition(",")[0] for each in await bootstrap(clone)] == [f"upgrade the release {space}/web"]
    assert await flux.config_map("settings", space) == {"word": "git", "other": "more"}
    assert await bootstrap(clone) == []


@pytest.mark.long
async def test_one_that_is_deleted_while_it_rests_leaves_its_release_and_takes_it_again(
    clone: Clone, flux: Flux, space: str
) -> None:
    await moving.carry(clone, "web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)
    begun, pods, before = time.time(), await moving.pods(flux.kube, space), await live(flux, space)
    old = (await flux.get("HelmRelease", "web", space))["metadata"]["uid"]

    await flux.kube.delete("helm.toolkit.fluxcd.io/v2", "HelmRelease", "web", namespace=space)
    await flux.reconcile("Kustomization", "apps", space)

    async def is_new() -> bool:
        found = await flux.kube.list("helm.toolkit.fluxcd.io/v2", "HelmRelease", namespace=space)
        return [each["metadata"]["uid"] != old for each in found.items] == [True]

    await until(is_new, "another HelmRelease")
    # It has never been reconciled, as in a cold start: what waits for all that it brings is ready all the same.
    held = await flux.ready("Kustomization", "apps", space, revision=clone.git("rev-parse", "HEAD"))
    assert held["spec"]["wait"] is True
    assert "conditions" not in (await flux.get("HelmRelease", "web", space))["status"]
    assert await bootstrap(clone) == []

    await moving.carry(clone, "web", "--to", "gitops")

    after = await live(flux, space)
    uids = {name: each["metadata"]["uid"] for name, each in before.items()}
    assert {name: each["metadata"]["uid"] for name, each in after.items()} == uids
    assert await moving.pods(flux.kube, space) == pods
    assert [each for each in moving.deleted(flux.lab, space, since=begun) if "helmreleases" not in each] == []


CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: SPACES.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: SPACES, singular: SPACE, kind: KIND}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
HOOK = """
apiVersion: v1
kind: ConfigMap
metadata:
  name: hook
  annotations: {helm.sh/hook: "post-install,post-upgrade", helm.sh/hook-delete-policy: before-hook-creation}
"""
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: word}\nstringData: {word: {{ .Values.word }}}\n"


@pytest.mark.long
async def test_a_chart_with_crds_secrets_and_hooks(flux: Flux, space: str, tmp_path: Path) -> None:
    letters = space.removeprefix("test-")
    crd = CRD.replace("SPACES", f"s{letters}s").replace("SPACE", f"s{letters}").replace("KIND", f"S{letters}")
    templates = {"crd.yaml": crd, "hook.yaml": HOOK, "secret.yaml": SECRET}
    clone = await reconciled(flux, space, tmp_path, templates=templates)
    begun, pods = time.time(), await moving.pods(flux.kube, space)
    name = f"s{letters}s.example.org"

    async def definition() -> dict[str, Any]:
        return dict(await flux.kube.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", name))

    async def hook() -> str:
        return str((await flux.kube.get("v1", "ConfigMap", "hook", namespace=space))["metadata"]["uid"])

    uid, ran = (await definition())["metadata"]["uid"], await hook()

    await moving.carry(clone, "web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)

    assert await hook() == ran, "no hook is run for bootstrap's revision"
    found = await definition()
    assert {"firstlight", "helm"} <= moving.managers(found)
    assert "helm-controller" not in moving.managers(found)
    assert ORIGIN not in found["metadata"].get("labels", {})
    assert moving.deleted(flux.lab, space, since=begun) == []
    assert await bootstrap(clone) == []

    await moving.carry(clone, "web", "--to", "gitops")

    found = await definition()
    assert found["metadata"]["uid"] == uid
    assert moving.managers(found) & {"firstlight", "helm"} == set()
    assert await moving.pods(flux.kube, space) == pods
    # helm-controller runs hooks in every upgrade, and a hook replaces what it made before.
    assert [each for each in moving.deleted(flux.lab, space, since=begun) if "configmaps" not in each] == []
    await flux.kube.delete("apiextensions.k8s.io/v1", "CustomResourceDefinition", name)


@pytest.mark.long
async def test_before_it_goes_on_it_is_seen_that_nothing_is_uninstalled(clone: Clone, flux: Flux, space: str) -> None:
    await moving.carry(clone, "web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)
    path = clone.root / "apps/release.yaml"
    text = path.read_text()
    assert "  interval: 1m\n" in text
    risky = "  interval: 1m\n  upgrade: {remediation: {strategy: uninstall}}\n"
    path.write_text(text.replace("  interval: 1m\n", risky, 1))
    clone.git("commit", "--quiet", "--all", "--message=a remedy")
    clone.git("push", "--quiet", "origin", "main")

    told = await clone.run(
        "move", "web", "--to", "gitops", "--no-render", "--carry-out", "--merge", "--yes", "--anyway", "a test"
    )

    assert told.code != 0
    assert "uninstalls its release where an upgrade fails" in told.out + told.err
    assert (await flux.get("HelmRelease", "web", space))["spec"]["suspend"] is True
    assert "helm" in moving.managers((await live(flux, space))["web"])


@pytest.mark.long
async def test_half_way_nobody_can_prune_the_helm_release(clone: Clone, flux: Flux, space: str) -> None:
    begun, pods = time.time(), await moving.pods(flux.kube, space)
    arguments = ("web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)
    told = await clone.run("move", *arguments, "--no-render", "--carry-out", "--no-wait", "--yes", "--anyway", "a test")
    assert told.code == 3, told.err
    guard = engine_directives.prune_guard(Engine.FLUX)
    name, value = guard.name, guard.value
    assert (await flux.get("HelmRelease", "web", space))["metadata"]["annotations"][name] == value
    assert all(name not in each["metadata"]["annotations"] for each in (await live(flux, space)).values())

    # Somebody takes the HelmRelease out of Git: it would be deleted, and uninstall everything.
    clone.git("switch", "--quiet", "main")
    clone.write("apps/kustomization.yaml", "resources: [notes.yaml]\n")
    clone.git("commit", "--quiet", "--all", "--message=away with it")
    clone.git("push", "--quiet", "origin", "main")
    commit = clone.git("rev-parse", "HEAD")
    await flux.reconcile("GitRepository", "root", space)
    await flux.reconcile("Kustomization", "root", space)
    await flux.reconcile("Kustomization", "apps", space)
    held = await flux.ready("Kustomization", "apps", space, revision=commit)

    assert "HelmRelease" not in str(held["status"]["inventory"])
    assert "deletionTimestamp" not in (await flux.get("HelmRelease", "web", space))["metadata"]
    assert await moving.pods(flux.kube, space) == pods
    assert moving.deleted(flux.lab, space, since=begun) == []


VERSIONED = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}}}
    spec: {containers: [{name: web, image: "example.org/web:1.0.0"}]}
"""


@pytest.mark.long
async def test_the_digest_in_the_version_of_a_chart_of_a_registry(
    flux: Flux, space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """helm-controller adds it to the chart's version, and this chart puts that on its pods: so it must be the same."""
    given = changing.means

    def means(clone: Clone) -> Means:
        async def open_renderer(known: Platform) -> Renderer:
            fetching = FetchClients(clone.programs["helm"], plain_http=frozenset({flux.at.registry}))
            programs = RendererPrograms(helm=clone.programs["helm"], kustomize=clone.programs["kustomize"])
            cache = tmp_path / "cache"
            return Renderer(
                known,
                programs=programs,
                store=ChartStore(cache / "charts", fetching),
                cache=RenderCache(cache / "renders"),
            )

        return dataclasses.replace(given(clone), open_renderer=open_renderer)

    monkeypatch.setattr(changing, "means", means)
    name = f"oci-{space}"
    await flux.sources.push_oci_chart(
        "charts", chart(name, "1.0.0", {"web.yaml": VERSIONED, "settings.yaml": SETTINGS})
    )
    clone = await reconciled(flux, space, tmp_path, registry=f"oci://{flux.at.registry}/charts/{name}")
    pods, before = await moving.pods(flux.kube, space), await live(flux, space)
    assert f"{name}-1.0.0_" in before["web"]["spec"]["template"]["metadata"]["labels"]["chart"]

    await moving.carry(clone, "web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)

    assert "helm" in moving.managers((await live(flux, space))["web"])
    assert await bootstrap(clone) == []

    await moving.carry(clone, "web", "--to", "gitops")

    after = await live(flux, space)
    assert after["web"]["spec"]["template"] == before["web"]["spec"]["template"]
    assert await moving.pods(flux.kube, space) == pods


@pytest.mark.long
@pytest.mark.parametrize(
    "moment", ["after:home:take", "before:home:releases", "after:home:releases", "before:home:prove"]
)
async def test_killed_on_the_way_it_goes_on(clone: Clone, flux: Flux, space: str, moment: str) -> None:
    begun, pods = time.time(), await moving.pods(flux.kube, space)
    arguments = ("web", "--to", "bootstrap", "--owner", "bootstrap", "--why", moving.WHY)
    told = await clone.run("move", *arguments, "--no-render", "--carry-out", "--no-wait", "--yes", "--anyway", "a test")
    assert told.code == 3, told.err
    branch = clone.git("branch", "--show-current")
    clone.git("switch", "--quiet", "main")
    clone.git("merge", "--quiet", "--no-edit", branch)
    clone.git("push", "--quiet", "origin", "main")

    await _killed(clone, moment, "resume", "--yes")
    told = await clone.change("resume", "--yes")

    assert told.code == 0, told.err
    last = await revision(flux, space)
    assert (last.revision, last.status, bool(last.maker)) == (2, "deployed", True)
    assert all(
        moving.managers(each) & {"helm", "helm-controller"} == {"helm"} for each in (await live(flux, space)).values()
    )
    assert move_path.MANAGER not in moving.managers(await flux.get("HelmRelease", "web", space))
    assert await moving.pods(flux.kube, space) == pods
    assert moving.deleted(flux.lab, space, since=begun) == []
