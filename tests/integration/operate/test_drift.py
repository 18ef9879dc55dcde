"""``drift`` on a real API server with real Flux: what is found, what is asked of the engine, and what comes of it."""

import asyncio
import contextlib
import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.cli import drift as command
from firstlight.cli import main
from firstlight.clients import kube as kube_client
from firstlight.execute.lease import Lease
from firstlight.execute.world import Programs
from firstlight.model.cluster import Cluster
from firstlight.model.drift import Difference, Drift
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.plan import Problem, Severity
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.operate import drift, drift_correcting, drift_scene
from firstlight.operate.drift_permission import Ground
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
from tests.flux import said as flux_said
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


async def uid_of(client: kube_client.Client) -> str:
    return str((await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"])


async def correct(
    one: Scene,
    client: kube_client.Client,
    found: Drift,
    *,
    said: list[str],
    wishes: drift_correcting.Wishes | None = None,
    confirm: Callable[[str], bool] = lambda _: False,
    ground: Ground | None = None,
    agree: Callable[[str], bool] = lambda _: False,
) -> Drift:
    """On the cluster that is meant, unless something else is said."""
    return await drift_correcting.correct(
        one, client, found, wishes=wishes or drift_correcting.Wishes(), tell=said.append, confirm=confirm,
        ground=ground or Ground(state=Path("nowhere"), uid=await uid_of(client)), agree=agree,
    )  # fmt: skip


async def silence(flux: Flux, space: str) -> None:
    """The controller waits for something that never comes, and handles no request meanwhile."""
    never = {"apiVersion": "v1", "kind": "ConfigMap", "name": "never", "namespace": space}
    body = {"spec": {"healthChecks": [never], "timeout": "90s"}}
    await flux.kube.patch(KUSTOMIZATION, "Kustomization", "apps", body, manager="tests", namespace=space)

    async def is_waiting() -> bool:
        return "health checks" in flux_said(await flux.get("Kustomization", "apps", space), "Reconciling")

    await until(is_waiting, "the controller to wait for what never comes")


STAND_IN = drift_correcting.Wishes(as_owner=True, answer=1, patience=3)


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
    after = await correct(one, flux.kube, found, said=said)
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
    behind = Problem(rule="branch-behind", severity=Severity.ERROR, message="the engine is ahead", way_out="git pull")
    with pytest.raises(errors.Refused, match="the engine has applied") as refused:
        await correct(dataclasses.replace(one, problems=(behind,)), flux.kube, found, said=[], confirm=lambda _: True)
    assert refused.value.hint == "First git pull; then again."


async def test_an_engine_that_is_down_is_stood_in_for(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await silence(flux, space)
    await edit(flux, space, {"spec": {"replicas": 0}, "metadata": {"labels": {"by": "hand"}}}, kind="Deployment")
    found = await drift.look(one, flux.kube)
    assert told(found) == [("Deployment", Difference.CHANGED, ["spec.replicas", "metadata.labels.by"])]

    said: list[str] = []
    asked: list[str] = []

    async def corrected(*, as_owner: bool, yes: bool) -> Drift:
        def confirm(text: str) -> bool:
            asked.append(text)
            return yes

        wishes = dataclasses.replace(STAND_IN, as_owner=as_owner)
        return await correct(one, flux.kube, found, said=said, wishes=wishes, confirm=confirm)

    assert told(await corrected(as_owner=False, yes=True)) == told(found)
    assert asked == []
    assert "--as-owner" in said[-1]
    assert told(await corrected(as_owner=True, yes=False)) == told(found)
    assert "As kustomize-controller" in asked[0]
    assert said[-1] == "nothing was applied"
    assert told(await corrected(as_owner=True, yes=True)) == []
    live = await flux.kube.get("apps/v1", "Deployment", "web", namespace=space)
    assert live["spec"]["replicas"] == 2
    assert "by" not in live["metadata"]["labels"]

    # The engine leaves alone what says so, whoever wrote that: nobody goes beyond it.
    pause = {"metadata": {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}}
    await edit(flux, space, {**pause, "data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    assert [each[0] for each in told(found)] == ["ConfigMap"]
    assert told(await corrected(as_owner=True, yes=True)) == told(found)
    assert said[-1].startswith(f"ConfigMap {space}/settings was left: metadata.annotations[kustomize.toolkit")
    assert await flux.config_map("settings", space) == {"word": "hand"}


async def test_what_is_declared_to_be_others_stays_theirs(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await silence(flux, space)
    rules = [{"paths": ["/data/mine"]}, {"paths": ["/spec/replicas", "/metadata/annotations/theirs"]}]
    one = dataclasses.replace(
        one,
        wanted=tuple(
            dataclasses.replace(each, definition={"kind": "Kustomization", "spec": {"ignore": rules}})
            for each in one.wanted
        ),
    )
    await edit(flux, space, {"data": {"word": "hand", "mine": "hand", "more": "hand"}})
    template = {"metadata": {"annotations": {"by": "hand"}}}
    body = {"spec": {"replicas": 7, "template": template}, "metadata": {"annotations": {"theirs": "x"}}}
    await edit(flux, space, body, kind="Deployment")
    found = await drift.look(one, flux.kube)
    assert [each[0] for each in told(found)] == ["ConfigMap", "Deployment"]

    said: list[str] = []
    after = await correct(one, flux.kube, found, said=said, wishes=STAND_IN, confirm=lambda _: True)
    assert told(after) == []
    assert await flux.config_map("settings", space) == {"word": "git", "mine": "hand"}
    live = await flux.kube.get("apps/v1", "Deployment", "web", namespace=space)
    assert live["spec"]["replicas"] == 7
    assert live["metadata"]["annotations"]["theirs"] == "x"
    assert "annotations" not in live["spec"]["template"]["metadata"]


async def test_what_is_right_by_now_is_not_written(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await silence(flux, space)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    body = {"data": {"word": "git"}}
    # Somebody mends it while the engine is waited for.
    await flux.kube.patch("v1", "ConfigMap", "settings", body, manager="kustomize-controller", namespace=space)
    before = await flux.kube.get("v1", "ConfigMap", "settings", namespace=space)
    said: list[str] = []
    await correct(one, flux.kube, found, said=said, wishes=STAND_IN, confirm=lambda _: True)
    after = await flux.kube.get("v1", "ConfigMap", "settings", namespace=space)
    assert after["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]
    assert said[-1] == f"ConfigMap {space}/settings is as Git has it by now: it was left"


async def test_nothing_is_created_for_an_owner_that_does_not_exist(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await flux.kube.delete(KUSTOMIZATION, "Kustomization", "apps", namespace=space)

    async def is_gone() -> bool:
        found = (await flux.kube.list(KUSTOMIZATION, "Kustomization", namespace=space)).items
        return not found and await flux.config_map("settings", space) is None

    await until(is_gone, "the Kustomization and what is its to be gone")
    found = await drift.look(one, flux.kube)
    assert {each[1] for each in told(found)} == {Difference.MISSING}
    with pytest.raises(errors.Refused, match=f"Kustomization {space}/apps: not in this cluster"):
        await correct(one, flux.kube, found, said=[], wishes=STAND_IN, confirm=lambda _: True)
    assert await flux.config_map("settings", space) is None


async def test_only_the_cluster_that_is_meant_is_written_to(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    uid = await uid_of(flux.kube)
    said: list[str] = []
    (tmp_path / ".firstlight" / "lab").mkdir(parents=True)
    identity = tmp_path / ".firstlight" / "lab" / "identity.json"
    identity.write_text(json.dumps({"kubeSystem": "another"}))
    known = Ground(state=tmp_path / ".firstlight")
    with pytest.raises(errors.Refused, match=f"is not lab: its kube-system has the UID {uid}, and another is meant"):
        await correct(one, flux.kube, found, said=said, ground=known, agree=lambda _: True)
    identity.unlink()
    ground = Ground(state=tmp_path / ".firstlight", uid="typed")
    with pytest.raises(errors.Refused, match="and typed is meant"):
        await correct(one, flux.kube, found, said=said, ground=ground, agree=lambda _: True)

    asked: list[str] = []

    def agree(text: str) -> bool:
        asked.append(text)
        return len(asked) > 1

    with pytest.raises(errors.Refused, match="it is not known whether this is lab") as refused:
        await correct(one, flux.kube, found, said=said, ground=known, agree=agree, confirm=lambda _: True)
    assert f"--uid {uid}" in refused.value.hint
    assert uid in asked[0]
    assert flux.kube.config.server in asked[0]
    assert said == []
    assert await flux.config_map("settings", space) == {"word": "hand"}
    assert told(await correct(one, flux.kube, found, said=said, ground=known, agree=agree)) == []


async def test_what_is_in_no_commit_is_not_put_back(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    said: list[str] = []
    dirty = Problem(rule="uncommitted", severity=Severity.WARNING, message="1 file is not as in the commit")
    with pytest.raises(errors.Refused, match="1 file is not as in the commit"):
        await correct(dataclasses.replace(one, problems=(dirty,)), flux.kube, found, said=said)
    assert command.exit_code(found, is_committed=False) == 1
    with pytest.raises(errors.Refused, match="of no known commit"):
        await correct(dataclasses.replace(one, revision=""), flux.kube, found, said=said)
    elsewhere = dataclasses.replace(one.cluster, url="https://git.example.org/me/other")
    with pytest.raises(errors.Refused, match=f"which commit of this repo Kustomization {space}/apps has applied"):
        await correct(dataclasses.replace(one, cluster=elsewhere), flux.kube, found, said=said)
    # One that was rendered in part is asked for its commit all the same.
    part = dataclasses.replace(one, owners={}, revision="1" * 40)
    assert len((await drift.look(part, flux.kube)).applied) == 1
    assert said == []


async def test_one_run_at_a_time_corrects(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    other = Lease(flux.kube, holder="ann@desk:another", tell=print)
    await other.claim()
    try:
        with pytest.raises(errors.Refused, match="another run works on this cluster: ann@desk:another"):
            await correct(one, flux.kube, found, said=[])
    finally:
        await other.release()
    assert await flux.config_map("settings", space) == {"word": "hand"}
    assert told(await correct(one, flux.kube, found, said=[])) == []
    with pytest.raises(kube_client.NotFound):
        await flux.kube.get("coordination.k8s.io/v1", "Lease", "firstlight", namespace="kube-system")


async def release(flux: Flux, space: str) -> Scene:
    """A chart in Git, and a HelmRelease of it that a Kustomization applies."""
    template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {word: {{ .Values.word }}}\n"
    source = {"kind": "GitRepository", "name": space}
    spec = {**OFTEN, "values": {"word": "git"}, "chart": {"spec": {"chart": "./charts/web", "sourceRef": source}}}
    made = {
        "apiVersion": "helm.toolkit.fluxcd.io/v2", "kind": "HelmRelease",
        "metadata": {"name": "web", "namespace": space}, "spec": spec,
    }  # fmt: skip
    files: dict[str, object] = {
        "charts/web/Chart.yaml": {"apiVersion": "v2", "name": "web", "version": "1.0.0"},
        "charts/web/templates/settings.yaml": template,
        "releases/web.yaml": made,
    }
    commit = await flux.repository(space, space, files)
    await flux.apply("Kustomization", "releases", space, {**OFTEN, "path": "./releases", "prune": True,
                                                          "sourceRef": source})  # fmt: skip
    await flux.ready("Kustomization", "releases", space, revision=commit)
    await flux.ready("HelmRelease", "web", space)
    owner = ObjectOwner(Party.FLUX, f"HelmRelease {space}/web")
    value = {**SETTINGS, "metadata": {"name": "settings", "namespace": space}}
    wanted = Wanted(object=Object(value), component="web", manager="helm-controller", owner=owner)
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    known = frozenset({wanted.id})
    return Scene(cluster=cluster, wanted=(wanted,), owners={owner: "web"}, known=known, revision=commit)


async def test_a_release_without_drift_detection_is_upgraded(flux: Flux, space: str) -> None:
    one = await release(flux, space)
    assert told(await drift.look(one, flux.kube)) == []
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(one, flux.kube)
    assert told(found) == [("ConfigMap", Difference.CHANGED, ["data.word"])]
    said: list[str] = []
    after = await correct(one, flux.kube, found, said=said)
    assert told(after) == []
    assert "by an upgrade to the same" in said[0]
    assert await flux.config_map("settings", space) == {"word": "git"}

    # It is of the commit of whoever has applied it.
    other = dataclasses.replace(one, revision="1" * 40)
    await edit(flux, space, {"data": {"word": "hand"}})
    found = await drift.look(other, flux.kube)
    assert found.applied == (f"main@{one.revision[:7]} (releases)",)
    with pytest.raises(errors.Refused, match="the engine has applied"):
        await correct(other, flux.kube, dataclasses.replace(found, applied=()), said=said)


async def test_what_a_release_never_applied_is_removed_only_in_its_place(flux: Flux, space: str) -> None:
    one = await release(flux, space)
    await edit(flux, space, {"data": {"word": "hand", "more": "hand"}, "metadata": {"labels": {"by": "hand"}}})
    body = {"metadata": {"annotations": {"theirs": "x"}}}
    await flux.kube.patch("v1", "ConfigMap", "settings", body, manager="some-controller", namespace=space)
    found = await drift.look(one, flux.kube)
    said: list[str] = []
    asked: list[str] = []

    async def corrected(*, as_owner: bool, yes: bool) -> Drift:
        def confirm(text: str) -> bool:
            asked.append(text)
            return yes

        said.clear()
        wishes = drift_correcting.Wishes(as_owner=as_owner)
        return await correct(one, flux.kube, found, said=said, wishes=wishes, confirm=confirm)

    # Helm puts its own back, and leaves what it never had.
    after = await corrected(as_owner=False, yes=True)
    assert told(after) == [("ConfigMap", Difference.CHANGED, ["data.more", "metadata.labels.by"])]
    assert await flux.config_map("settings", space) == {"word": "git", "more": "hand"}
    assert (
        said[-1]
        == f"HelmRelease {space}/web answered, and leaves fields that it never applied; --as-owner removes them"
    )
    assert asked == []
    text = report.text(after)
    assert "firstlight drift lab --correct --as-owner removes, after it has asked" in text
    assert "--correct asks the engine" not in text

    after = await corrected(as_owner=True, yes=False)
    assert asked[0].endswith(
        f"  ConfigMap {space}/settings   data.more (kubectl-edit)\n"
        f"  ConfigMap {space}/settings   metadata.labels.by (kubectl-edit)"
    )
    assert said[-1] == "nothing was removed"
    assert f"kubectl edit configmap settings -n {space}, and take data.more, metadata.labels.by away" in report.text(
        after
    )

    before = await flux.kube.get("v1", "ConfigMap", "settings", namespace=space)
    assert told(await corrected(as_owner=True, yes=True)) == []
    assert said[-1] == f"removed data.more, metadata.labels.by from ConfigMap {space}/settings"
    live = await flux.kube.get("v1", "ConfigMap", "settings", namespace=space)
    assert live["data"] == {"word": "git"}
    assert "by" not in live["metadata"]["labels"]
    # What a controller put there is nobody's business, and nothing else was touched.
    assert live["metadata"]["annotations"] == before["metadata"]["annotations"]
    assert live["metadata"]["annotations"]["theirs"] == "x"


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

    async def corrected(patience: float) -> Drift:
        wishes = drift_correcting.Wishes(patience=patience)
        return await correct(one, argocd.kube, found, said=said, wishes=wishes)

    assert told(await corrected(0.5)) == told(found)
    assert said == [
        f"asked Application {HOME}/{site} to look again; it does not heal itself, so sync it: argocd app sync {site}"
    ]

    # Whom somebody lets rest is not asked, and nobody acts in his place.
    async def rest(value: str | None) -> None:
        body = {"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": value}}}
        await argocd.kube.patch(
            "argoproj.io/v1alpha1", "Application", site, body, manager="kubectl-annotate", namespace=HOME
        )

    await rest("True")
    said.clear()
    wishes = dataclasses.replace(STAND_IN, patience=0.5)
    resting = await correct(one, argocd.kube, found, said=said, wishes=wishes, confirm=lambda _: True)
    assert told(resting) == told(found)
    assert said == [f"Application {site} is suspended: it was not asked"]
    assert f"Application {HOME}/{site} is suspended: nothing corrects what is its" in resting.notes
    await rest(None)
    await argocd.change(site, {"syncPolicy": {"automated": {"selfHeal": True}}})
    assert told(await corrected(40)) == []


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
    assert await asyncio.to_thread(main.run, [*given, "--uid=x"]) == 64
    capsys.readouterr()

    # Nobody is there to ask, and --yes is no answer to which cluster it is.
    assert await asyncio.to_thread(main.run, [*given, "--correct", "--as-owner", "--yes"]) == 3
    uid = await uid_of(flux.kube)
    assert f"--uid {uid}" in capsys.readouterr().err
    assert await asyncio.to_thread(main.run, [*given, "--correct", f"--uid={uid}"]) == 3
    assert "of no known commit" in capsys.readouterr().err
    assert await flux.config_map("settings", space) == {"word": "hand"}
