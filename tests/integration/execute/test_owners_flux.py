"""Objects passed to a Flux that is real: one that is at work already, and the one upgrade of helm-controller."""

import asyncio
import contextlib
import dataclasses
import functools
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight import errors
from firstlight.clients import command, kube
from firstlight.drawing import handover_text
from firstlight.execute import loop
from firstlight.execute.actions import migrate_owners
from firstlight.execute.handover import engine_suspend, migration, prediction
from firstlight.execute.world import RunPrograms, World
from firstlight.gates.gate_parts import GateContext
from firstlight.model import event
from firstlight.model import work as model_work
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.handover import MARK, Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.plan import Action, Plan, Step
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.work import MigrateOwners
from firstlight.tools import install
from tests.flux import OFTEN, Flux, chart, config
from tests.labs import until

TEMPLATE = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "registry.example.org/web:1", resources: {requests: {cpu: 0.1}}}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: web, annotations: {example.org/note: x}}
data: {word: {{ .Values.word | quote }}}
"""


async def unresolved(reference: str) -> Secret:
    raise AssertionError(reference)


def world(flux: Flux, tmp_path: Path) -> tuple[World, list[str]]:
    told: list[str] = []
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    made = World(cluster=cluster, programs=RunPrograms(), resolve=unresolved, state=tmp_path)
    made.tell = lambda step, text: told.append(text)
    made._kube = flux.kube
    return made, told


def placed(value: dict[str, Any], space: str) -> dict[str, Any]:
    return {**value, "metadata": {**value["metadata"], "namespace": space}}


def task(owner: str, manager: str, *values: dict[str, Any]) -> MigrateOwners:
    of = ObjectOwner(Party.FLUX, owner)
    return MigrateOwners(
        passing=tuple(Passing(object=Object(each), component="web", manager=manager, owner=of) for each in values)
    )


async def managers(flux: Flux, kind: str, name: str, space: str) -> set[tuple[str, str]]:
    api = "apps/v1" if kind == "Deployment" else "v1"
    live = await flux.kube.get(api, kind, name, namespace=space)
    entries = live["metadata"]["managedFields"]
    return {(each["manager"], each["operation"]) for each in entries if "subresource" not in each}


async def adopted(flux: Flux, space: str, value: dict[str, Any]) -> MigrateOwners:
    """What Talos applied and Flux took over before anybody migrated anything: both own it."""
    await flux.kube.apply(placed(value, space), manager="talos")
    commit = await flux.repository(space, space, {"apps/one.yaml": value})
    spec = {"path": "./apps", "prune": True, "targetNamespace": space, "deletionPolicy": "Orphan"}
    source = {"sourceRef": {"kind": "GitRepository", "name": space}}
    await flux.apply("Kustomization", "apps", space, {**spec, **source, **OFTEN})
    await flux.ready("Kustomization", "apps", space, revision=commit)
    assert await managers(flux, "ConfigMap", "one", space) == {("talos", "Apply"), ("kustomize-controller", "Apply")}
    return task(f"Kustomization {space}/apps", "kustomize-controller", placed(value, space))


async def test_an_engine_at_work_rests_meanwhile(flux: Flux, space: str, tmp_path: Path) -> None:
    value = config("one", a="1", b="2")
    wanted = await adopted(flux, space, value)
    here, _ = world(flux, tmp_path)

    change = await migrate_owners.look(wanted, here, "owners")

    assert change is not None
    name = f"Kustomization {space}/apps"
    assert change.writes == (
        f"suspend {name}",
        f"pass what talos owns of ConfigMap {space}/one to kustomize-controller",
        f"resume {name}",
    )
    await change.perform()

    live = await flux.get("Kustomization", "apps", space)
    assert "suspend" not in live["spec"]
    assert MARK not in live["metadata"].get("annotations", {})
    assert engine_suspend.MANAGER not in {each["manager"] for each in live["metadata"]["managedFields"]}
    assert await managers(flux, "ConfigMap", "one", space) == {("kustomize-controller", "Apply")}
    assert await migrate_owners.look(wanted, here, "owners") is None
    # And so a field that is removed in Git goes.
    commit = await flux.commit(space, {"apps/one.yaml": config("one", a="1")})
    await flux.reconcile("GitRepository", space, space)
    await flux.ready("Kustomization", "apps", space, revision=commit)
    await flux.holds("one", space, {"a": "1"})


async def test_an_engine_that_a_killed_run_left_suspended_is_found_and_goes_on(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    wanted = await adopted(flux, space, config("one", a="1"))
    here, _ = world(flux, tmp_path)
    owners = {each.owner for each in wanted.passing}
    await engine_suspend.suspend(await engine_suspend.find(owners, flux.kube), flux.kube)
    assert (await flux.get("Kustomization", "apps", space))["spec"]["suspend"] is True

    change = await migrate_owners.look(wanted, here, "owners")

    assert change is not None
    assert change.writes[-1] == f"resume Kustomization {space}/apps"
    assert not any(each.startswith("suspend") for each in change.writes)
    # Killed once more, after the migration.
    found = await prediction.find(wanted.passing, flux.kube)
    await migration.migrate(found, flux.kube, rules=migration.MigrationRules(cluster="lab"))
    change = await migrate_owners.look(wanted, here, "owners")
    assert change is not None
    assert change.writes == (f"resume Kustomization {space}/apps",)
    await change.perform()
    assert await migrate_owners.look(wanted, here, "owners") is None
    live = await flux.get("Kustomization", "apps", space)
    assert "suspend" not in live["spec"]


async def test_whom_somebody_else_has_suspended_stays_so_and_a_refusal_lets_go(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    value = config("one", a="1")
    wanted = await adopted(flux, space, value)
    here, _ = world(flux, tmp_path)
    change = await migrate_owners.look(wanted, here, "owners")
    assert change is not None
    # What would be lost came only after the look.
    await flux.kube.apply(placed(config("one", a="1", gone="2"), space), manager="talos")
    with pytest.raises(errors.Refused, match=r"data\.gone"):
        await change.perform()
    assert "suspend" not in (await flux.get("Kustomization", "apps", space))["spec"]
    await flux.kube.apply(placed(value, space), manager="talos")

    patch = {"spec": {"suspend": True}}
    await flux.kube.patch(
        "kustomize.toolkit.fluxcd.io/v1", "Kustomization", "apps", patch, manager="kubectl-patch", namespace=space
    )
    change = await migrate_owners.look(wanted, here, "owners")
    assert change is not None
    assert len(change.writes) == 1
    await change.perform()
    assert (await flux.get("Kustomization", "apps", space))["spec"]["suspend"] is True


async def rests(flux: Flux, space: str) -> bool:
    """Whether it is suspended, or anything tells that it was."""
    live = await flux.get("Kustomization", "apps", space)
    entries = {each["manager"] for each in live["metadata"]["managedFields"]}
    is_marked = MARK in (live["metadata"].get("annotations") or ()) or engine_suspend.MANAGER in entries
    assert live["spec"].get("suspend", False) is is_marked
    return bool(is_marked)


@pytest.mark.parametrize("moment", ["while it is suspended", "while objects pass", "while it is resumed"])
async def test_an_engine_goes_on_when_the_run_is_cancelled(
    flux: Flux, space: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    wanted = await adopted(flux, space, config("one", a="1"))
    here, _ = world(flux, tmp_path)
    change = await migrate_owners.look(wanted, here, "owners")
    assert change is not None
    module, name = {
        "while it is suspended": (engine_suspend, "suspend"),
        "while objects pass": (migration, "migrate"),
        "while it is resumed": (engine_suspend, "_resume"),
    }[moment]
    original, there, arrived = getattr(module, name), asyncio.Event(), asyncio.Event()

    async def told(*arguments: Any, **more: Any) -> None:
        there.set()
        if module is migration:
            await asyncio.Event().wait()
        await original(*arguments, **more)
        arrived.set()

    monkeypatch.setattr(module, name, told)
    writing = asyncio.ensure_future(change.perform())
    await there.wait()
    writing.cancel()
    await asyncio.sleep(0)
    writing.cancel()  # somebody is impatient

    with pytest.raises(asyncio.CancelledError):
        await writing
    if module is engine_suspend:
        await asyncio.wait_for(arrived.wait(), 10)
    assert not await rests(flux, space)


async def test_an_engine_goes_on_when_another_one_cannot_be_suspended(flux: Flux, space: str) -> None:
    wanted = await adopted(flux, space, config("one", a="1"))
    engines = await engine_suspend.find({each.owner for each in wanted.passing}, flux.kube)
    gone = dataclasses.replace(engines[0], name="gone", uid="4f1d7f0a-0000-0000-0000-000000000000")

    with pytest.raises(kube.ApiError):
        async with engine_suspend.resting([*engines, gone], flux.kube, run="one", tell=pytest.fail):
            pytest.fail("nothing is written while one of them is at work")

    assert not await rests(flux, space)
    with pytest.raises(kube.NotFound):
        await flux.get("Kustomization", "gone", space)


async def test_a_run_leaves_alone_whom_another_one_has_taken_over(flux: Flux, space: str) -> None:
    wanted = await adopted(flux, space, config("one", a="1"))
    find = functools.partial(engine_suspend.find, {each.owner for each in wanted.passing}, flux.kube)
    seen = await find()
    await engine_suspend.suspend(seen, flux.kube, run="one")
    (held,) = await find()
    assert held.mark == "one"
    await engine_suspend.suspend([held], flux.kube, run="two")

    await engine_suspend.let_go(seen, flux.kube, run="one")

    assert await rests(flux, space)
    await engine_suspend.let_go([held], flux.kube, run="two")
    assert not await rests(flux, space)


@pytest.mark.parametrize("end", ["refused", "cancelled"])
async def test_an_engine_that_a_killed_run_left_goes_on_though_the_next_run_does_not_get_there(
    flux: Flux, space: str, tmp_path: Path, end: str
) -> None:
    wanted = await adopted(flux, space, config("one", a="1"))
    engines = await engine_suspend.find({each.owner for each in wanted.passing}, flux.kube)
    await engine_suspend.suspend(engines, flux.kube, run="killed")
    here, _ = world(flux, tmp_path)
    told: list[event.Event] = []
    begun = asyncio.Event()

    async def look(task: model_work.Task, world: World, step: str) -> None:
        begun.set()
        if end == "cancelled":
            await asyncio.Event().wait()
        raise errors.Refused("a machine is not what it was")

    step = Step(id="machines", phase=Phase.CORE, name="machines", action=Action.APPLY_OBJECTS)
    work = model_work.Work(
        cluster=here.cluster, plan=Plan(cluster="lab", steps=(step,)), tasks={"machines": model_work.Watch()}
    )  # fmt: skip

    def made(**more: bool) -> loop.Loop:
        return loop.Loop(
            work, here, ground=GateContext(cluster=here.cluster, revision="", objects={}), tell=told.append,
            options=loop.RunOptions(holder=f"tests-{space}", **more), confirm=lambda danger: False, look=look,
        )  # fmt: skip

    if end == "refused":
        await made(is_dry_run=True).run()
        assert await rests(flux, space), "a dry run writes nothing"
    running = asyncio.ensure_future(made().run())
    await begun.wait()
    if end == "cancelled":
        running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        assert (await running).is_refused

    assert not await rests(flux, space)
    said = [each.text for each in told if isinstance(each, event.Told)]
    assert f"resumed Kustomization {space}/apps, which rested for a handover" in said


async def test_the_one_upgrade_of_helm_controller_is_predicted_and_replaces_no_pod(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    helm = (await install.ensure(["helm"]))["helm"]
    archive = tmp_path / "web.tgz"
    archive.write_bytes(chart("web", "1.0.0", {"all.yaml": TEMPLATE}, "word: one\n"))
    await command.run(
        [str(helm), "install", "web", str(archive), "-n", space, "--kubeconfig", str(flux.lab.kubeconfig)]
    )

    async def pods() -> list[str]:
        return [each["metadata"]["uid"] for each in (await flux.kube.list("v1", "Pod", namespace=space)).items]

    before = await until(pods, "a pod")
    printed = await command.run([str(helm), "template", "web", str(archive), "-n", space])
    values = [placed(each, space) for each in yaml.safe_load_all(printed.stdout) if each]
    wanted = task(f"HelmRelease {space}/web", "helm-controller", *values)
    here, told = world(flux, tmp_path)

    change = await migrate_owners.look(wanted, here, "owners")

    assert change is not None
    assert not change.danger
    assert told == [
        f"HelmRelease {space}/web: helm-controller upgrades the release once: 2 objects get 2 labels, "
        "no pod is replaced"
    ]
    assert [each.changed for each in await prediction.predict(wanted.passing, flux.kube)] == [(), ()]
    await change.perform()

    url = (await flux.sources.create_charts(space)).url
    await flux.sources.push_chart(space, archive.read_bytes())
    await flux.apply("HelmRepository", "here", space, {"url": url, **OFTEN})
    of = {"spec": {"chart": "web", "version": "1.x", "sourceRef": {"kind": "HelmRepository", "name": "here"}}}
    await flux.apply("HelmRelease", "web", space, {"interval": "1m", "releaseName": "web", "chart": of})
    release = await flux.ready("HelmRelease", "web", space)

    assert release["status"]["history"][0]["version"] == 2, "one upgrade"
    assert await pods() == before
    assert await managers(flux, "ConfigMap", "web", space) == {("helm-controller", "Apply")}
    assert ("helm", "Apply") not in await managers(flux, "Deployment", "web", space)
    assert await migrate_owners.look(wanted, here, "owners") is None
    assert handover_text.prediction_sentences(await prediction.predict(wanted.passing, flux.kube)) == [
        f"HelmRelease {space}/web: helm-controller upgrades the release once: nothing of 2 objects changes, "
        "no pod is replaced"
    ]
