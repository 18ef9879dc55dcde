"""Charts installed by the real Helm: nothing to do is found without it, and a Helm that was killed is repaired."""

import asyncio
import dataclasses
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.execute import lease
from firstlight.execute.actions import install as actions_install
from firstlight.execute.apply import helm_storage
from firstlight.execute.world import RunPrograms, World
from firstlight.lab import running_lab
from firstlight.model import helm_chart, work
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.render import cache_files
from firstlight.tools import install
from tests.labs import until

TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {word: {{ .Values.word | quote }}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}}
spec:
  replicas: 0
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata: {labels: {app: {{ .Release.Name }}}}
    spec: {containers: [{name: main, image: "registry.example/main:1", resources: {limits: {cpu: 1000m}}}]}
{{- if .Values.slow }}
---
apiVersion: batch/v1
kind: Job
metadata: {name: slow, annotations: {"helm.sh/hook": "post-install,post-upgrade"}}
spec:
  suspend: true
  template: {spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example/main:1"}]}}
{{- end }}
"""
OPTIONS = helm_chart.ReleaseOptions(server_side=True, take_ownership=True, skip_crds=True, timeout=60)


@pytest_asyncio.fixture(scope="session")
async def helm_program() -> Path:
    return (await install.ensure(["helm"]))["helm"]


async def unresolved(reference: str) -> Secret:
    raise AssertionError(reference)


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def world(kube: clients_kube.Client, helm_program: Path, tmp_path: Path, told: list[str]) -> World:
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    made = World(cluster=cluster, programs=RunPrograms(helm=helm_program), resolve=unresolved, state=tmp_path)
    made.tell = lambda step, text: told.append(text)
    made._kube = kube
    return made


def chart(folder: Path, version: str = "1.0.0", template: str = TEMPLATE) -> helm_chart.LocalChart:
    place = folder / version / "shop"
    (place / "templates").mkdir(parents=True, exist_ok=True)
    (place / "Chart.yaml").write_text(f"apiVersion: v2\nname: shop\nversion: {version}\n")
    (place / "values.yaml").write_text("word: none\nslow: false\n")
    (place / "templates/all.yaml").write_text(template)
    return helm_chart.LocalChart(place)


def release(
    folder: Path, namespace: str, *, version: str = "1.0.0", values: str = '{"word": "a"}', template: str = TEMPLATE
) -> work.Installation:
    made = chart(folder, version, template)
    files = {each.relative_to(made.path).as_posix(): each.read_bytes() for each in made.path.rglob("*.yaml")}
    return work.Installation(
        name="shop", namespace=namespace, chart=made, version=version, values=Secret(values), options=OPTIONS,
        digest=cache_files.files_digest(files),
    )  # fmt: skip


async def secrets(kube: clients_kube.Client, namespace: str) -> list[str]:
    listing = await kube.list("v1", "Secret", namespace=namespace, labels="owner=helm")
    return sorted(each["metadata"]["name"] for each in listing.items)


async def word(kube: clients_kube.Client, namespace: str) -> Any:
    return (await kube.get("v1", "ConfigMap", "shop", namespace=namespace))["data"]["word"]


async def test_a_chart_is_installed_left_alone_upgraded_and_mended(
    kube: clients_kube.Client, namespace: str, world: World, tmp_path: Path
) -> None:
    beside = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "beside", "namespace": namespace},
              "data": {"a": "1"}}  # fmt: skip

    def task(**more: Any) -> work.Install:
        one = release(tmp_path, namespace, **more)
        return work.Install(releases=(one,), beside=(Object(beside),), manager="kustomize-controller")

    change = await actions_install.look_install(task(), world, "core/shop")
    assert change is not None
    title = f"release {namespace}/shop, version 1.0.0"
    assert change.writes == (f"install the {title}", f"create ConfigMap {namespace}/beside")
    await change.perform()
    assert await word(kube, namespace) == "a"
    live = await kube.get("v1", "ConfigMap", "shop", namespace=namespace)
    managers = {(each["manager"], each["operation"]) for each in live["metadata"]["managedFields"]}
    assert managers == {("helm", "Apply")}
    assert await actions_install.look_install(task(), world, "core/shop") is None

    change = await actions_install.look_install(task(version="1.1.0"), world, "core/shop")
    assert change is not None
    assert change.writes == (f"upgrade the release {namespace}/shop, version 1.1.0: it is 1.0.0",)
    change = await actions_install.look_install(task(values='{"word": "b"}'), world, "core/shop")
    assert change is not None
    assert change.writes == (f"upgrade the {title}: its values differ",)
    await change.perform()
    assert await word(kube, namespace) == "b"
    task_b = task(values='{"word": "b"}')
    assert await actions_install.look_install(task_b, world, "core/shop") is None
    once = dataclasses.replace(release(tmp_path, namespace), once=True)
    assert await actions_install.look_install(work.Install(releases=(once,)), world, "core/shop") is None

    await kube.delete("v1", "ConfigMap", "shop", namespace=namespace)
    change = await actions_install.look_install(task_b, world, "core/shop")
    assert change is not None
    assert change.writes == (f"upgrade the {title}: create ConfigMap {namespace}/shop",)
    await change.perform()
    assert await word(kube, namespace) == "b"
    assert await actions_install.look_install(task_b, world, "core/shop") is None


async def test_helm_is_the_same_manager_whatever_its_file_is_called(
    kube: clients_kube.Client, namespace: str, world: World, tmp_path: Path, helm_program: Path
) -> None:
    """What is Helm's and not in its manifest is seen only by who asks in Helm's name."""
    renamed = tmp_path / "helm-of-the-team"
    renamed.symlink_to(helm_program)
    world.programs = dataclasses.replace(world.programs, helm=renamed)
    task = work.Install(releases=(release(tmp_path, namespace),))
    change = await actions_install.look_install(task, world, "s")
    assert change is not None
    await change.perform()
    live = await kube.get("v1", "ConfigMap", "shop", namespace=namespace)
    assert {(each["manager"], each["operation"]) for each in live["metadata"]["managedFields"]} == {("helm", "Apply")}
    assert await actions_install.look_install(task, world, "s") is None

    kept = {name: live["metadata"][name] for name in ("name", "namespace", "labels", "annotations")}
    more = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept, "data": {**live["data"], "more": "1"}}
    await kube.apply(more, manager="helm")
    change = await actions_install.look_install(task, world, "s")
    assert change is not None
    await change.perform()

    assert (await kube.get("v1", "ConfigMap", "shop", namespace=namespace))["data"] == {"word": "a"}
    assert await actions_install.look_install(task, world, "s") is None


async def test_a_chart_of_another_content_is_another_chart(
    kube: clients_kube.Client, namespace: str, world: World, tmp_path: Path
) -> None:
    one = release(tmp_path, namespace)
    change = await actions_install.look_install(work.Install(releases=(one,)), world, "s")
    assert change is not None
    await change.perform()
    # Of charts in charts Helm keeps nothing, and of values that nobody reads nothing is seen in the cluster.
    other = dataclasses.replace(one, digest="0" * 64)
    change = await actions_install.look_install(work.Install(releases=(other,)), world, "s")
    assert change is not None
    assert change.writes[0].endswith("its chart differs")
    await change.perform()
    assert await actions_install.look_install(work.Install(releases=(other,)), world, "s") is None

    # As if somebody else had made it: then what Helm keeps of the chart is compared.
    name = (await secrets(kube, namespace))[-1]
    await kube.patch(
        "v1", "Secret", name, {"metadata": {"labels": {helm_storage.CHART: None}}}, manager="t", namespace=namespace
    )
    assert await actions_install.look_install(work.Install(releases=(other,)), world, "s") is None
    (other.chart.path / "values.yaml").write_text("word: none\nslow: false\nmore: 1\n")
    assert await actions_install.look_install(work.Install(releases=(other,)), world, "s") is not None


ARGO = "argocd.argoproj.io/tracking-id"


async def argocd_takes(kube: clients_kube.Client, namespace: str, name: str, **data: str) -> None:
    taken = {
        "apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": namespace, "annotations": {ARGO: f"app:/ConfigMap:{namespace}/{name}"}},
    }  # fmt: skip
    await kube.apply(taken, manager="argocd-controller", force=True)


async def test_what_argocd_has_of_a_release_is_neither_written_nor_deleted(
    kube: clients_kube.Client, namespace: str, world: World, tmp_path: Path, told: list[str]
) -> None:
    def config_map(name: str) -> str:
        return f"\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}}}\ndata: {{a: '1'}}\n"

    left = f"the release {namespace}/shop differs from the repo; it is left to argocd: Application app"
    first = work.Install(releases=(release(tmp_path, namespace, template=config_map("goes")),))
    change = await actions_install.look_install(first, world, "s")
    assert change is not None
    await change.perform()
    second = work.Install(releases=(release(tmp_path, namespace, version="2.0.0", template=config_map("comes")),))
    change = await actions_install.look_install(second, world, "s")
    assert change is not None

    await argocd_takes(kube, namespace, "goes", a="2")
    before = await secrets(kube, namespace)
    told.clear()
    await change.perform()  # taken after the look
    assert await actions_install.look_install(second, world, "s") is None
    assert told == [left, left]
    assert (await kube.get("v1", "ConfigMap", "goes", namespace=namespace))["data"] == {"a": "2"}
    assert await secrets(kube, namespace) == before

    # Not of a release yet, and Argo CD's already.
    await kube.delete("v1", "Secret", before[0], namespace=namespace)
    await kube.delete("v1", "ConfigMap", "goes", namespace=namespace)
    await argocd_takes(kube, namespace, "comes", a="2")
    told.clear()
    rendered = Object({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "comes"}})
    assert await actions_install.look_install(dataclasses.replace(second, objects=(rendered,)), world, "s") is None
    assert told == [left]
    beside = dataclasses.replace(second, objects=(rendered,), releases=second.releases, beside=(rendered,))
    change = await actions_install.look_install(beside, world, "s")
    assert change is not None, "what lies beside a release is not of it"


async def kill_helm(
    kube: clients_kube.Client, namespace: str, one: work.Installation, lab: running_lab.Lab, program: Path,
    *, labels: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    """Start Helm as bootstrap does, and kill it while it waits for a hook."""
    flags = [f"--labels={name}={value}" for name, value in (labels or {}).items()]
    argv = [
        str(program), "upgrade", "--install", "shop", str(one.chart.path), f"--namespace={namespace}",
        "--set=slow=true", "--wait=hookOnly", "--timeout=300s", f"--kubeconfig={lab.kubeconfig}", *flags,
    ]  # fmt: skip
    folder = one.chart.path.parent
    process = await command.spawn(argv, log=folder / "helm.log", cwd=folder)

    async def is_waiting() -> bool:
        assert process.returncode is None, (folder / "helm.log").read_text()
        return any(
            each["metadata"]["name"] == "slow"
            for each in (await kube.list("batch/v1", "Job", namespace=namespace)).items
        )

    await until(is_waiting, "helm to wait for its hook")
    os.kill(process.pid, signal.SIGKILL)
    await process.wait()


async def dead_holder() -> str:
    """The name of a bootstrap on this computer that is over."""
    process = await asyncio.create_subprocess_exec("true")
    await process.wait()
    return lease.holder_name("run").replace(f":{os.getpid()}:", f":{process.pid}:")


async def test_a_helm_that_was_killed_is_repaired_without_an_uninstall(
    kube: clients_kube.Client, namespace: str, world: World, tmp_path: Path, lab: running_lab.Lab, helm_program: Path
) -> None:
    one = release(tmp_path, namespace)
    labels = helm_storage.labels(holder=await dead_holder(), revision=1, digest=one.digest)
    await kill_helm(kube, namespace, one, lab, helm_program, labels=labels)
    kept = await helm_storage.last(kube, "shop", namespace)
    assert kept is not None
    assert kept.status == "pending-install"
    before = (await kube.get("v1", "ConfigMap", "shop", namespace=namespace))["metadata"]["uid"]

    change = await actions_install.look_install(work.Install(releases=(one,)), world, "s")
    assert change is not None
    assert change.writes == (
        f"remove revision 1 of release {namespace}/shop, which was left pending-install",
        f"install the release {namespace}/shop, version 1.0.0",
    )
    await change.perform()
    live = await kube.get("v1", "ConfigMap", "shop", namespace=namespace)
    assert (live["metadata"]["uid"], live["data"]) == (before, {"word": "a"}), "nothing was deleted"
    assert await secrets(kube, namespace) == ["sh.helm.release.v1.shop.v1"]
    assert await actions_install.look_install(work.Install(releases=(one,)), world, "s") is None

    # Somebody upgrades it: Helm carries the labels over, and that makes it nobody else's.
    await kube.delete("batch/v1", "Job", "slow", namespace=namespace)
    await kill_helm(kube, namespace, one, lab, helm_program)
    kept = await helm_storage.last(kube, "shop", namespace)
    assert kept is not None
    assert (kept.status, kept.maker, kept.digest) == ("pending-upgrade", "", "")
    with pytest.raises(errors.Refused, match=rf"release {namespace}/shop is pending-upgrade for \d+ s, by somebody"):
        await actions_install.look_install(work.Install(releases=(one,)), world, "s")


async def test_somebody_elses_pending_release_is_left_until_it_is_old(
    kube: clients_kube.Client, namespace: str, world: World, tmp_path: Path, lab: running_lab.Lab, helm_program: Path
) -> None:
    one = release(tmp_path, namespace)
    alive = helm_storage.labels(holder=f"{lease.holder_name('run')}-of-another", revision=1, digest=one.digest)
    await kill_helm(kube, namespace, one, lab, helm_program, labels=alive)
    odd = {"name": "odd", "namespace": namespace, "labels": {"owner": "helm", "name": "shop", "version": "abc"}}
    await kube.apply({"apiVersion": "v1", "kind": "Secret", "metadata": odd}, manager="tests")

    with pytest.raises(
        errors.Refused, match=rf"release {namespace}/shop is pending-install for \d+ s, by somebody else"
    ):
        await actions_install.look_install(work.Install(releases=(one,)), world, "s")
    world.run = "run-of-another"
    assert await actions_install.look_install(work.Install(releases=(one,)), world, "s") is not None, "its own is over"
    world.run = ""
    old = dataclasses.replace(one, options=dataclasses.replace(OPTIONS, timeout=0.001))
    assert await actions_install.look_install(work.Install(releases=(old,)), world, "s") is not None


async def test_what_a_helm_release_has_is_only_read(
    kube: clients_kube.Client, namespace: str, world: World, tmp_path: Path, told: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    one = release(tmp_path, namespace)
    owner: Mapping[str, Any] = {
        "metadata": {"name": "shop", "namespace": namespace},
        "status": {"history": [{"name": "shop", "namespace": namespace}], "storageNamespace": namespace},
    }

    async def owned(client: clients_kube.Client) -> list[Mapping[str, Any]]:
        return [owner]

    # The shared lab has no helm-controller, and a CRD of its kind would be there for all.
    monkeypatch.setattr(actions_install, "_helm_releases", owned)
    assert await actions_install.look_install(work.Install(releases=(one,)), world, "s") is None
    assert told == [
        f"the release {namespace}/shop differs from the repo; it is left to flux: HelmRelease {namespace}/shop"
    ]
    assert await secrets(kube, namespace) == []

    # At rest it still has its release, whoever let it rest; unless the repo says that bootstrap keeps it.
    owner = {**owner, "spec": {"suspend": True}}
    assert await actions_install.look_install(work.Install(releases=(one,)), world, "s") is None
    change = await actions_install.look_install(work.Install(releases=(one,), is_kept=True), world, "s")
    assert change is not None
    await change.perform()
    assert await secrets(kube, namespace) == ["sh.helm.release.v1.shop.v1"]
    assert await actions_install.look_install(work.Install(releases=(one,), is_kept=True), world, "s") is None

    # What helm-controller has left its marks on is not bootstrap's so far; what only a hook has left says nothing.
    marks = {"helm.toolkit.fluxcd.io/name": "shop", "helm.toolkit.fluxcd.io/namespace": namespace}
    hook = {"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "hook", "namespace": namespace, "labels": marks,
                         "annotations": {"helm.sh/hook": "post-upgrade"}}}  # fmt: skip
    await kube.apply(hook, manager="helm-controller")
    other = release(tmp_path, namespace, values='{"word": "other"}')
    task = work.Install(releases=(other,), objects=(Object(hook),), is_kept=True)
    assert await actions_install.look_install(task, world, "s") is not None
    assert await actions_install.look_install(dataclasses.replace(task, is_kept=False), world, "s") is None
    body = {"metadata": {"labels": marks}}
    await kube.patch("v1", "ConfigMap", "shop", body, manager="helm-controller", namespace=namespace)
    assert await actions_install.look_install(task, world, "s") is None
