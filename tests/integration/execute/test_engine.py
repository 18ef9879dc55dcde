"""Sources, roots and baselines with the real engines: what a plan points Flux and Argo CD at is what they follow."""

import asyncio
import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.up import tasks
from firstlight.execute.actions import certify, install, talos_applies
from firstlight.execute.handover import baseline
from firstlight.execute.world import RunPrograms, World
from firstlight.lab import running_lab
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.rendition import Object, Rendition
from firstlight.model.secret import Secret
from firstlight.model.work import Apply, SaveBaseline, TalosApplies, Watch, Work
from firstlight.plan import build, plan_context
from firstlight.repo import platform_reader
from firstlight.tools import content
from firstlight.tools import install as tools_install
from tests import labs
from tests.argocd import HOME, ArgoCD
from tests.flux import CONTROLLERS, Flux, config
from tests.labs import until
from tests.unit.plan import platforms

DECLARATION = """
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {{name: test}}
gitops: {{engine: {engine}, url: "{url}", branch: main}}
clusters:
  test: {{path: {path}}}
"""


async def _resolve(reference: str) -> Secret:
    raise AssertionError(f"nobody asks for {reference}")


async def _world(lab: running_lab.Lab, state: Path) -> World:
    world = World(
        cluster=Cluster(name="test", place=Place("firstlight.yaml")),
        programs=RunPrograms(),
        resolve=_resolve,
        state=state,
    )
    await world.connect(kube.load(lab.kubeconfig))
    return world


def _work(root: Path, files: Mapping[str, str], *, renditions: Mapping[str, tuple[Object, ...]], revision: str) -> Work:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    platform = platform_reader.read(root)
    (cluster,) = platform.clusters
    made = [
        Rendition(component=name, cluster=cluster.name, side=side, objects=objects)
        for name, objects in renditions.items()
        for side in {origin.side for each in platform.components if each.name == name for origin in each.origins}
    ]
    plan = build.build(platform, cluster, renditions=made)
    return tasks.work(platform, cluster, plan, renditions=made, installations={}, drafts=(), revision=revision)


async def _carried_out(task: object, world: World) -> int:
    """Do a task, and see that it is done: a second look finds nothing."""
    assert isinstance(task, Apply), task
    change = await install.look_apply(task, world, "test")
    if change is not None:
        await change.perform()
    assert await install.look_apply(task, world, "test") is None
    return len(change.writes) if change else 0


class TestFlux:
    async def test_the_source_is_fetched_and_the_root_brings_its_children(
        self, flux: Flux, space: str, tmp_path: Path
    ) -> None:
        made = await flux.sources.create_git(f"tests/{space}")
        sync = f"""
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {{name: flux-system, namespace: {space}}}
spec: {{interval: 1m0s, ref: {{branch: main}}, url: "{made.url}"}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: flux-system, namespace: {space}}}
spec: {{interval: 10m0s, path: ./clusters/test, prune: true, sourceRef: {{kind: GitRepository, name: flux-system}}}}
"""
        child = {
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization",
            "metadata": {"name": "child", "namespace": space},
            "spec": {
                "interval": "1m", "path": "./app", "prune": True, "targetNamespace": space,
                "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
            },
        }  # fmt: skip
        files = {
            "clusters/test/flux-system/gotk-sync.yaml": sync,
            "clusters/test/flux-system/gotk-components.yaml": json.dumps(_deployment("flux-system")),
            "clusters/test/child.yaml": json.dumps(child),
            "app/app.yaml": json.dumps(config("app", word="hello")),
        }
        pushed = {name: each for name, each in files.items() if "components" not in name}
        revision = await flux.commit(space, pushed)
        declaration = DECLARATION.format(engine="flux", url=made.url, path="clusters/test")
        declaration += "components:\n  flux: {phase: engine}\n"
        root, source = _documents(sync)
        work = _work(
            tmp_path, {**files, "firstlight.yaml": declaration}, revision=revision,
            renditions={"flux": (), "flux-system": (root, source)},
        )  # fmt: skip
        world = await _world(flux.lab, tmp_path / "state")

        assert await _carried_out(work.tasks[plan_context.SOURCE], world) == 1
        await flux.ready("GitRepository", "flux-system", space, revision=revision)
        assert not (await flux.kube.list("kustomize.toolkit.fluxcd.io/v1", "Kustomization", namespace=space)).items
        assert await _carried_out(work.tasks[plan_context.ROOT], world) == 1
        await flux.ready("Kustomization", "flux-system", space, revision=revision)
        await flux.ready("Kustomization", "child", space, revision=revision)
        await flux.holds("app", space, {"word": "hello"})

        # Flux applies both itself by now, and nobody else owns a field of them.
        for kind in ("GitRepository", "Kustomization"):
            obj = await flux.get(kind, "flux-system", space)
            owners = {each["manager"] for each in obj["metadata"]["managedFields"] if not each.get("subresource")}
            assert owners <= {"kustomize-controller", "gotk-kustomize-controller", "source-controller"}, kind
        await world.close()


class TestOperator:
    async def test_an_instance_follows_nothing_before_its_root_and_the_source_stays_as_it_is(
        self, fresh_lab: Callable[..., Awaitable[running_lab.Lab]], tmp_path: Path, request: pytest.FixtureRequest
    ) -> None:
        if not request.config.getoption("--everything"):
            pytest.skip("a lab of its own, in which the operator installs Flux: with --everything")
        await tools_install.ensure([*CONTROLLERS, "flux-operator"])
        folder = (await content.ensure(["flux-operator-manifests"]))["flux-operator-manifests"]
        lab = await fresh_lab(settings=msgspec.structs.replace(labs.FAST, actors=("flux", "flux-operator")))
        sources = lab.sources()
        made = await sources.create_git("tests/fleet")
        greeting = {**config("fleet", word="hello"), "metadata": {"name": "fleet", "namespace": "default"}}
        revision = (
            await sources.commit(
                "tests/fleet", {"clusters/test/fleet.yaml": json.dumps(greeting).encode()}, message="a"
            )
        ).after
        instance = f"""
apiVersion: fluxcd.controlplane.io/v1
kind: FluxInstance
metadata: {{name: flux, namespace: flux-system}}
spec:
  distribution: {{version: 2.9.5, registry: ghcr.io/fluxcd}}
  components: [source-controller, kustomize-controller]
  cluster: {{networkPolicy: false}}
  sync: {{kind: GitRepository, url: "{made.url}", ref: refs/heads/main, path: clusters/test, interval: 1m}}
"""
        declaration = DECLARATION.format(engine="flux", url=made.url, path="clusters/test")
        declaration += "components:\n  flux: {phase: engine}\n"
        work = _work(
            tmp_path, {"clusters/test/flux.yaml": instance, "firstlight.yaml": declaration}, revision=revision,
            renditions={"flux": ()},
        )  # fmt: skip
        world = await _world(lab, tmp_path / "state")
        client = world.kube
        for obj in [*labs.manifests(labs.NETWORK), *labs.manifests(folder / "install.yaml")]:
            if obj:
                await client.apply(obj, manager="tests")
        flux = Flux(lab, client, sources, await sources.status())

        engine = work.tasks["engine/flux"]
        await until(
            lambda: _is_served(client, "fluxcd.controlplane.io/v1", "FluxInstance"), "FluxInstance to be served"
        )
        assert await _carried_out(engine, world) == 1
        await flux.ready("FluxInstance", "flux", "flux-system")
        assert await _carried_out(work.tasks[plan_context.SOURCE], world) == 1
        before = await flux.ready("GitRepository", "flux-system", "flux-system", revision=revision)
        assert not (await client.list("kustomize.toolkit.fluxcd.io/v1", "Kustomization")).items
        await _carried_out(work.tasks[plan_context.ROOT], world)
        await flux.holds("fleet", "default", {"word": "hello"})
        await flux.ready("Kustomization", "flux-system", "flux-system", revision=revision)

        after = await flux.get("GitRepository", "flux-system", "flux-system")
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert after["metadata"]["generation"] == before["metadata"]["generation"], "the spec is the operator's own"
        assert after["spec"] == before["spec"]
        applied = {each["manager"] for each in after["metadata"]["managedFields"] if each["operation"] == "Apply"}
        assert applied == {"flux-operator"}
        # Run again: the engine's step has the instance without sync, and must not take it away.
        assert await install.look_apply(_apply(engine), world, "test") is None
        assert "sync" in (await flux.get("FluxInstance", "flux", "flux-system"))["spec"]
        await world.close()


class TestArgoCD:
    async def test_the_root_application_is_synced_at_the_revision(
        self, argocd: ArgoCD, site: str, tmp_path: Path
    ) -> None:
        url = argocd.git(site)
        root = f"""
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {site}, namespace: {HOME}}}
spec:
  project: {site}
  source: {{repoURL: "{url}", targetRevision: main, path: apps}}
  destination: {{server: https://kubernetes.default.svc, namespace: {site}}}
  syncPolicy: {{automated: {{}}, syncOptions: [ServerSideApply=true]}}
"""
        project = f"""
apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {{name: {site}, namespace: {HOME}}}
spec:
  sourceRepos: ["*"]
  destinations: [{{namespace: "*", server: "*"}}]
  clusterResourceWhitelist: [{{group: "*", kind: "*"}}]
"""
        pushed = {"apps/project.yaml": project, "apps/app.yaml": json.dumps(config("app", word="hello"))}
        revision = await argocd.commit(site, pushed)
        declaration = DECLARATION.format(engine="argocd", url=url, path="apps")
        declaration += "components:\n  argocd: {phase: engine, from: argocd}\n"
        engine = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: argocd-server, namespace: argocd}\n"
        application = root.replace(f"name: {site},", "name: argocd,").replace("path: apps", "path: argocd")
        work = _work(
            tmp_path,
            {
                **pushed, "root.yaml": root, "firstlight.yaml": declaration, "argocd/argocd.yaml": engine,
                "apps/argocd.yaml": application,
            },
            revision=revision, renditions={"argocd": _documents(engine), site: _documents(project)},
        )  # fmt: skip
        world = await _world(argocd.lab, tmp_path / "state")

        assert work.tasks[plan_context.SOURCE] == Watch(revision=revision), (
            "nobody has credentials, and none are needed"
        )
        # The root is in a project that it brings itself.
        assert await _carried_out(work.tasks[plan_context.ROOT], world) == 2
        await argocd.synced(site, revision)
        await argocd.holds("app", site, {"word": "hello"})
        found = await argocd.get(site, "AppProject")
        owners = {each["manager"] for each in found["metadata"]["managedFields"] if not each.get("subresource")}
        assert owners == {"argocd-controller"}
        await world.close()
        await argocd.kube.delete("argoproj.io/v1alpha1", "AppProject", site, namespace=HOME)


class TestBaseline:
    async def test_is_saved_once_and_holds_no_secret(
        self, lab: running_lab.Lab, namespace: str, tmp_path: Path
    ) -> None:
        world = await _world(lab, tmp_path)
        told: list[str] = []
        world.tell = lambda step, text: told.append(text)
        client = world.kube
        secret = {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "namespace": namespace},
            "stringData": {"password": "hunter-two"},
        }  # fmt: skip
        await client.apply(secret, manager="tests")
        await client.apply(_deployment(namespace), manager="kustomize-controller")
        settings = {
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {
                "name": namespace, "namespace": "default",
                "labels": {f"kustomize.toolkit.fluxcd.io/{each}": "all" for each in ("name", "namespace")},
            },
        }  # fmt: skip
        await client.apply(settings, manager="tests")

        async def has_pod() -> bool:
            return bool((await client.list("v1", "Pod", namespace=namespace)).items)

        await until(has_pod, "a pod")
        task = SaveBaseline(
            objects=(
                ObjectId("", "Secret", namespace, "key"), ObjectId("apps", "Deployment", namespace, "web"),
                ObjectId("", "Namespace", "", namespace), ObjectId("example.org", "Unserved", "", "none"),
                ObjectId("", "ConfigMap", "", namespace), ObjectId("", "Namespace", "of-no-use", "default"),
            )
        )  # fmt: skip
        try:
            change = await certify.look_baseline(task, world, "test")
            assert change is not None
            assert len(change.writes) == 1
            await change.perform()
            assert await certify.look_baseline(task, world, "test") is None, "who has one keeps it"

            kept = await baseline.load(client)
            assert kept is not None
            file = tmp_path / "test" / baseline.FILE
            assert file.read_bytes() == baseline.encoded(kept)
            assert b"hunter-two" not in file.read_bytes()
            assert b"aHVudGVy" not in file.read_bytes()
            by_kind = {each.kind: each for each in kept.objects}
            assert all(each.uid for each in kept.objects if each.kind == "Namespace"), "a repo may name one for it"
            implied = by_kind["ConfigMap"]
            assert (implied.namespace, bool(implied.uid)) == ("default", True), "as the API places what names none"
            assert implied.holder == "Kustomization all/all", "it is said that the engine had it already"
            assert told == [
                f"6 objects and {len(kept.pods)} pods as they are now; "
                "the engine has 1 of them already, and how those were before is not known"
            ]
            live = await client.get("apps/v1", "Deployment", "web", namespace=namespace)
            web = by_kind["Deployment"]
            assert not web.holder, "bootstrap applies as the engine's manager from the start"
            assert (web.uid, web.generation) == (live["metadata"]["uid"], live["metadata"]["generation"])
            assert ("kustomize-controller", "Apply") in {(each.manager, each.operation) for each in web.owners}
            assert web.template.startswith("sha256:")
            assert not by_kind["Secret"].template
            assert by_kind["Unserved"].uid == ""
            mine = [each for each in kept.pods if each.namespace == namespace]
            assert len(mine) == 1
            assert mine[0].owner.startswith("ReplicaSet/web-")
            assert mine[0].restarts == 0

            await baseline.store(dataclasses.replace(kept, at=1.0), client, part=300)
            again = await baseline.load(client)
            assert again == dataclasses.replace(kept, at=1.0), "several ConfigMaps hold one baseline"
            assert await certify.look_baseline(task, world, "test") is None

            baseline.write(again, file)
            await client.delete("v1", "ConfigMap", f"{baseline.NAME}-1", namespace=baseline.NAMESPACE)
            change = await certify.look_baseline(task, world, "test")
            assert change is not None, "a part is gone"
            await change.perform()
            assert await baseline.load(client) == again, "the copy is put back, and no other one is taken"
            assert await certify.look_baseline(task, world, "test") is None

            await client.delete("v1", "ConfigMap", baseline.NAME, namespace=baseline.NAMESPACE)
            change = await certify.look_baseline(task, world, "test")
            assert change is not None
            await change.perform()
            assert await baseline.load(client) == again, "the same where the cluster has lost it altogether"

            baseline.write(dataclasses.replace(again, cluster="another"), file)
            await client.delete("v1", "ConfigMap", baseline.NAME, namespace=baseline.NAMESPACE)
            change = await certify.look_baseline(task, world, "test")
            assert change is not None
            await change.perform()
            taken = await baseline.load(client)
            assert taken is not None
            assert (taken.cluster, taken.at > again.at) == (again.cluster, True), "another cluster's is no copy"
        finally:
            await client.delete("v1", "ConfigMap", namespace, namespace="default")
            for each in (await client.list("v1", "ConfigMap", namespace="kube-system")).items:
                if each["metadata"]["name"].startswith(baseline.NAME):
                    await client.delete("v1", "ConfigMap", each["metadata"]["name"], namespace="kube-system")
            await world.close()


class TestTalosApplies:
    async def test_waits_until_everything_is_there(self, lab: running_lab.Lab, namespace: str, tmp_path: Path) -> None:
        world = await _world(lab, tmp_path)
        told: list[str] = []

        def tell(step: str, text: str) -> None:
            told.append(text)
            if "1 of 2" in text:
                created.set()

        created = asyncio.Event()
        world.tell = tell
        await world.kube.apply(_config(namespace, "one"), manager="talos")
        task = TalosApplies(
            manifests=("both",),
            objects=(ObjectId("", "ConfigMap", namespace, "one"), ObjectId("", "ConfigMap", namespace, "two")),
        )
        waiting = asyncio.create_task(talos_applies.look(task, world, "inline/both"))
        try:
            async with asyncio.timeout(60):
                await created.wait()
                assert not waiting.done()
                await world.kube.apply(_config(namespace, "two"), manager="talos")
                assert await waiting is None
        finally:
            waiting.cancel()
        assert told[-1] == "Talos applies: 2 of 2 objects"
        await world.close()

    async def test_says_what_does_not_come(
        self, lab: running_lab.Lab, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        world = await _world(lab, tmp_path)
        monkeypatch.setattr(talos_applies, "_ROUND", 0.2)
        monkeypatch.setattr(talos_applies, "TIMEOUT", 0.5)
        absent = ObjectId("", "ConfigMap", namespace, "absent")
        unserved = ObjectId("example.org", "Unserved", "", "none")
        with pytest.raises(errors.ClientError, match=f"has not applied ConfigMap {namespace}/absent, Unserved none"):
            await talos_applies.look(TalosApplies(manifests=("a",), objects=(absent, unserved)), world, "inline/a")

        # Talos says that it is done, and does not put back what somebody deleted.
        async def is_applied(manifests: Sequence[str], world: World) -> bool:
            return True

        monkeypatch.setattr(talos_applies, "_applied", is_applied)
        monkeypatch.setattr(talos_applies, "SETTLED", 0.1)
        with pytest.raises(errors.ClientError, match=r"and ConfigMap .*absent is not there"):
            await talos_applies.look(TalosApplies(manifests=("a",), objects=(absent,)), world, "inline/a")
        await world.close()


def _config(namespace: str, name: str) -> dict[str, Any]:
    return {**config(name, word="hello"), "metadata": {"name": name, "namespace": namespace}}


def _deployment(namespace: str) -> dict[str, Any]:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "example.org/web:1"}]}}
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
        "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": pod},
    }  # fmt: skip


def _documents(text: str) -> tuple[Object, ...]:
    return platforms.objects(text)


def _apply(task: object) -> Apply:
    assert isinstance(task, Apply)
    return task


async def _is_served(client: kube.Client, api_version: str, kind: str) -> bool:
    return (api_version, kind) in (await client.catalog(refresh=True)).resources
