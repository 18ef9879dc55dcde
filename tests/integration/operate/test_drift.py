"""``drift`` on a real API server with real Flux: what is found, what is asked of the engine, and what comes of it."""

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.cli import drift as command
from firstlight.cli import main
from firstlight.execute.world import Programs
from firstlight.model.cluster import Cluster
from firstlight.model.drift import Difference, Drift
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.operate import drift, drift_correcting, drift_scene
from firstlight.operate.drift_scene import Scene
from firstlight.operate.means import Means
from firstlight.ownership.drifting import Wanted
from firstlight.render.cache import Cache
from firstlight.render.charts.credentials import Credentials
from firstlight.render.charts.fetching import Means as Fetching
from firstlight.render.charts.store import ChartStore
from firstlight.render.rendering import Renderer
from firstlight.render.tools import Programs as Renderers
from firstlight.repo import platform as platforms
from firstlight.report import drift as report
from firstlight.tools import install
from tests.argocd import HOME, ArgoCD
from tests.flux import API, OFTEN, Flux
from tests.labs import until

KUSTOMIZATION = API["Kustomization"]

SETTINGS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"word": "git"}}


def deployment(replicas: int) -> dict[str, Any]:
    container = {"name": "web", "image": "registry.example.org/web:1", "resources": {"limits": {"cpu": "1000m"}}}
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}


def declared(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "firstlight.dev/v1alpha1", "kind": "Platform", "metadata": {"name": "tests"},
        "gitops": {"engine": "flux", "url": url, "branch": "main"}, "clusters": {"lab": {"path": "cluster"}},
    }  # fmt: skip


def write(root: Path, files: Mapping[str, object]) -> None:
    for path, value in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(value if isinstance(value, str) else yaml.safe_dump(value))


async def repo(flux: Flux, space: str, root: Path) -> str:
    """A platform with one Kustomization, here and in the lab, applied by Flux; the commit."""
    made = await flux.sources.create_git(f"tests/{space}")
    kustomization: dict[str, Any] = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
        "metadata": {"name": "apps", "namespace": space},
        "spec": {**OFTEN, "path": "./apps", "prune": True, "targetNamespace": space,
                 "sourceRef": {"kind": "GitRepository", "name": space}},
    }  # fmt: skip
    files: dict[str, object] = {
        "firstlight.yaml": declared(made.url),
        "cluster/apps.yaml": kustomization,
        "apps/kustomization.yaml": {"resources": ["settings.yaml", "web.yaml"]},
        "apps/settings.yaml": SETTINGS,
        "apps/web.yaml": deployment(2),
    }
    write(root, files)
    commit = await flux.commit(space, files)
    await flux.apply("GitRepository", space, space, {"url": made.url, "ref": {"branch": "main"}, **OFTEN})
    await flux.apply("Kustomization", "apps", space, kustomization["spec"])
    await flux.ready("Kustomization", "apps", space, revision=commit)
    return commit


async def means(root: Path, commit: str) -> Means:
    """How the platform is rendered, without a network."""
    programs = await install.ensure(["helm", "kustomize"])

    async def open_renderer(platform: Platform) -> Renderer:
        fetching = Fetching(programs["helm"], None, Credentials(), frozenset())
        return Renderer(
            platform, programs=Renderers(helm=programs["helm"], kustomize=programs["kustomize"]),
            store=ChartStore(root / ".charts", fetching, offline=True), cache=Cache(None),
        )  # fmt: skip

    async def unresolved(reference: str) -> Secret:
        raise AssertionError(reference)

    async def no_secrets(cluster: Cluster) -> Secret:
        raise AssertionError(cluster.name)

    return Means(
        programs=Programs(), state=root / ".firstlight", open_renderer=open_renderer, resolve=unresolved,
        talos_secrets=no_secrets, revision=commit,
    )  # fmt: skip


async def scene(flux: Flux, space: str, root: Path) -> Scene:
    commit = await repo(flux, space, root)
    return await drift_scene.prepare(platforms.read(root), "", await means(root, commit), components=["apps"])


async def edit(flux: Flux, space: str, body: Mapping[str, Any], *, kind: str = "ConfigMap") -> None:
    """Somebody uses kubectl."""
    version, name = ("v1", "settings") if kind == "ConfigMap" else ("apps/v1", "web")
    await flux.kube.patch(version, kind, name, body, manager="kubectl-edit", namespace=space)


def told(found: Drift) -> list[tuple[str, Difference, list[str]]]:
    return [(each.id.kind, each.difference, [one.path for one in each.fields]) for each in found.drifted]


async def test_drift_is_found_and_the_engine_puts_it_back(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    clean = await drift.look(one, flux.kube)
    assert told(clean) == []
    assert (clean.compared, clean.unread, clean.applied) == (2, (), ())

    await edit(flux, space, {"data": {"word": "hand", "more": "hand"}})
    await flux.kube.delete("apps/v1", "Deployment", "web", namespace=space)
    found = await drift.look(one, flux.kube)
    assert told(found) == [
        ("ConfigMap", Difference.CHANGED, ["data.word", "data.more"]),
        ("Deployment", Difference.MISSING, []),
    ]
    assert command.exit_code(found) == 2

    said: list[str] = []
    after = await drift_correcting.correct(
        one, flux.kube, found, wishes=drift_correcting.Wishes(), tell=said.append, confirm=lambda _: False
    )
    assert told(after) == []
    assert said == [f"asked Kustomization {space}/apps to reconcile, and its source to look again"]
    assert await flux.config_map("settings", space) == {"word": "git"}
    assert (await drift.look(one, flux.kube)).drifted == ()


async def test_another_commit_is_no_drift(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    commit = await flux.commit(space, {"apps/settings.yaml": {**SETTINGS, "data": {"word": "newer"}}})
    await flux.reconcile("GitRepository", space, space)
    await flux.ready("Kustomization", "apps", space, revision=commit)

    found = await drift.look(one, flux.kube)
    assert found.applied == (f"main@{commit[:7]} (apps)",)
    assert command.exit_code(found) == 1
    assert "may be no more than that" in report.text(found)
    with pytest.raises(errors.Refused, match="the engine has applied"):
        await drift_correcting.correct(
            one, flux.kube, found, wishes=drift_correcting.Wishes(), tell=print, confirm=lambda _: True
        )


async def test_an_engine_that_is_down_is_stood_in_for(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    # Nobody handles what is asked of a Kustomization that is not there.
    await flux.kube.patch(KUSTOMIZATION, "Kustomization", "apps", {"spec": {"prune": False}}, manager="tests",
                          namespace=space)  # fmt: skip
    await flux.kube.delete(KUSTOMIZATION, "Kustomization", "apps", namespace=space)

    async def is_gone() -> bool:
        found = (await flux.kube.list(KUSTOMIZATION, "Kustomization", namespace=space)).items
        return not found

    await until(is_gone, "the Kustomization to be gone")
    await edit(flux, space, {"spec": {"replicas": 0}, "metadata": {"labels": {"by": "hand"}}}, kind="Deployment")
    found = await drift.look(one, flux.kube)
    assert told(found) == [("Deployment", Difference.CHANGED, ["spec.replicas", "metadata.labels.by"])]

    said: list[str] = []
    asked: list[str] = []

    async def correct(*, as_owner: bool, yes: bool) -> Drift:
        def confirm(text: str) -> bool:
            asked.append(text)
            return yes

        wishes = drift_correcting.Wishes(as_owner=as_owner, patience=3)
        return await drift_correcting.correct(one, flux.kube, found, wishes=wishes, tell=said.append, confirm=confirm)

    assert told(await correct(as_owner=False, yes=True)) == told(found)
    assert asked == []
    assert "--as-owner" in said[-1]
    assert told(await correct(as_owner=True, yes=False)) == told(found)
    assert "As kustomize-controller" in asked[0]
    assert said[-1] == "nothing was applied"
    assert told(await correct(as_owner=True, yes=True)) == []
    live = await flux.kube.get("apps/v1", "Deployment", "web", namespace=space)
    assert live["spec"]["replicas"] == 2
    assert "by" not in live["metadata"]["labels"]


async def test_a_release_without_drift_detection_is_upgraded(flux: Flux, space: str) -> None:
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {word: {{ .Values.word }}}\n"
    files: dict[str, object] = {
        "charts/web/Chart.yaml": {"apiVersion": "v2", "name": "web", "version": "1.0.0"},
        "charts/web/templates/settings.yaml": template,
    }
    await flux.repository(space, space, files)
    chart = {"chart": "./charts/web", "sourceRef": {"kind": "GitRepository", "name": space}}
    await flux.apply("HelmRelease", "web", space, {**OFTEN, "values": {"word": "git"}, "chart": {"spec": chart}})
    await flux.ready("HelmRelease", "web", space)
    owner = ObjectOwner(Party.FLUX, f"HelmRelease {space}/web")
    value = {**SETTINGS, "metadata": {"name": "settings", "namespace": space}}
    wanted = Wanted(object=Object(value), component="web", manager="helm-controller", owner=owner)
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    one = Scene(cluster=cluster, wanted=(wanted,), owners={owner: "web"}, known=frozenset({wanted.id}))

    assert told(await drift.look(one, flux.kube)) == []
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    assert told(found) == [("ConfigMap", Difference.CHANGED, ["data.word"])]
    said: list[str] = []
    after = await drift_correcting.correct(
        one, flux.kube, found, wishes=drift_correcting.Wishes(), tell=said.append, confirm=lambda _: False
    )
    assert told(after) == []
    assert "by an upgrade to the same" in said[0]
    assert await flux.config_map("settings", space) == {"word": "git"}


async def test_an_application_heals_itself_only_if_it_says_so(argocd: ArgoCD, site: str) -> None:
    commit = await argocd.commit(site, {"apps/settings.yaml": SETTINGS})
    source = {"repoURL": argocd.git(site), "path": "apps", "targetRevision": "main"}
    await argocd.application(site, site, source, automated={"prune": False, "selfHeal": False})
    await argocd.synced(site, commit)
    owner = ObjectOwner(Party.ARGOCD, f"Application {site}")
    value = {**SETTINGS, "metadata": {"name": "settings", "namespace": site}}
    wanted = Wanted(object=Object(value), component="apps", manager="argocd-controller", owner=owner)
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"), url=argocd.git(site))
    one = Scene(
        cluster=cluster, wanted=(wanted,), owners={owner: "apps"}, known=frozenset({wanted.id}), revision=commit
    )
    clean = await drift.look(one, argocd.kube)
    assert (told(clean), clean.applied) == ([], ())
    # Git's form is put back; what Git does not have, Argo CD leaves.
    body = {"data": {"word": "hand"}}
    await argocd.kube.patch("v1", "ConfigMap", "settings", body, manager="kubectl-edit", namespace=site)
    found = await drift.look(one, argocd.kube)
    assert told(found) == [("ConfigMap", Difference.CHANGED, ["data.word"])]
    said: list[str] = []

    async def correct(patience: float) -> Drift:
        wishes = drift_correcting.Wishes(patience=patience)
        return await drift_correcting.correct(
            one, argocd.kube, found, wishes=wishes, tell=said.append, confirm=lambda _: False
        )

    assert told(await correct(0.5)) == told(found)
    assert said == [
        f"asked Application {HOME}/{site} to look again; it does not heal itself, so sync it: argocd app sync {site}"
    ]
    await argocd.change(site, {"syncPolicy": {"automated": {"selfHeal": True}}})
    assert told(await correct(40)) == []


async def test_watching_tells_what_comes_and_goes(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    async with asyncio.timeout(60), contextlib.aclosing(drift.watch(one, flux.kube)) as looks:
        first = await anext(looks)
        assert told(first) == []
        await edit(flux, space, {"data": {"word": "hand"}})
        second = await anext(looks)
        assert told(second) == [("ConfigMap", Difference.CHANGED, ["data.word"])]
        await flux.reconcile("Kustomization", "apps", space)
        third = await anext(looks)
        assert told(third) == []
    assert report.news(second, third) == [f"apps:\n  ✔ as Git has it   ConfigMap {space}/settings"]
    assert report.news(first, second)[0] == "apps:"


async def test_the_command(flux: Flux, space: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    await repo(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    given = ["drift", "lab", f"--repo={tmp_path}", f"--kubeconfig={flux.lab.kubeconfig}", "--offline",
             "--component=apps"]  # fmt: skip

    code = await asyncio.to_thread(main.run, given)
    text = capsys.readouterr().out
    assert code == 2
    assert f"ConfigMap {space}/settings   1 field changed by kubectl-edit" in text
    assert "firstlight drift lab --correct" in text

    code = await asyncio.to_thread(main.run, [*given, "--output=json"])
    data = json.loads(capsys.readouterr().out)
    assert code == 2
    assert data["drifted"][0]["fields"][0]["live"] == '"hand"'

    assert await asyncio.to_thread(main.run, [*given, "--component=nothing"]) == 64
    assert "there is no component nothing" in capsys.readouterr().err
    assert await asyncio.to_thread(main.run, [*given, "--as-owner"]) == 64
