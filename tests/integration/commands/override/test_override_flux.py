"""Overrides under a Flux that is real: held against a parent that would wake what rests, ended, aborted, expired."""

import base64
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.override import apply, begin, end, git_agreement, session
from firstlight.commands.override.git_agreement import RenderedGit
from firstlight.commands.override.session import lease_held
from firstlight.execute import walk
from firstlight.execute.loop import RunOptions
from firstlight.execute.overrides import override_records
from firstlight.execute.world import RunPrograms, World
from firstlight.model import flux_names
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.event import Told
from firstlight.model.override import OverrideStanding
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed
from firstlight.tools import content
from tests.flux import OFTEN, Flux, config
from tests.integration.commands.override.overriding import (
    Killed,
    deployment,
    ground,
    is_marked,
    killed_at,
    managers,
    part,
    placed,
    web,
    web_id,
    wish,
)
from tests.labs import manifests, until

RESOURCE_SETS = "fluxcd.controlplane.io/v1"


async def unresolved(reference: str) -> Secret:
    raise AssertionError(reference)


async def shop(flux: Flux, space: str) -> str:
    """A Kustomization that says that it is not suspended, in one that applies it; the commit."""
    child = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "shop", "namespace": space},
        "spec": {
            **OFTEN, "path": "./shop", "prune": True, "targetNamespace": space, "suspend": False,
            "sourceRef": {"kind": "GitRepository", "name": space},
        },
    }  # fmt: skip
    commit = await flux.repository(
        space, space, {"apps/shop.yaml": child, "shop/web.yaml": web(), "shop/map.yaml": config("map", a="1")}
    )
    spec = {**OFTEN, "path": "./apps", "prune": True, "sourceRef": {"kind": "GitRepository", "name": space}}
    await flux.apply("Kustomization", "apps", space, spec)
    await flux.ready("Kustomization", "apps", space, revision=commit)
    await flux.ready("Kustomization", "shop", space, revision=commit)
    return commit


CHART = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: "registry.example.org/web:1"}]}
"""


async def release(flux: Flux, space: str) -> str:
    """A HelmRelease of a chart in Git, and the Kustomization that brings it; the commit."""
    files = {
        "apps/release.yaml": helm_release(space, replicas=1),
        "chart/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
        "chart/values.yaml": "replicas: 1\n",
        "chart/templates/web.yaml": CHART,
    }
    commit = await flux.repository(space, space, files)
    spec = {**OFTEN, "path": "./apps", "prune": True, "sourceRef": {"kind": "GitRepository", "name": space}}
    await flux.apply("Kustomization", "apps", space, spec)
    await flux.ready("Kustomization", "apps", space, revision=commit)
    await flux.ready("HelmRelease", "shop", space)
    return commit


def helm_release(space: str, *, replicas: int) -> dict[str, Any]:
    """A HelmRelease with one value."""
    source = {"kind": "GitRepository", "name": space}
    return {
        "apiVersion": "helm.toolkit.fluxcd.io/v2",
        "kind": "HelmRelease",
        "metadata": {"name": "shop", "namespace": space},
        "spec": {
            **OFTEN,
            "chart": {"spec": {"chart": "./chart", "sourceRef": source, "interval": "1m"}},
            "values": {"replicas": replicas},
        },
    }


async def is_rolled_out(flux: Flux, space: str) -> bool:
    live = await deployment(flux.kube, space)
    status, wanted = live.get("status", {}), live["spec"]["replicas"]
    is_seen = status.get("observedGeneration") == live["metadata"]["generation"]
    return bool(is_seen and status.get("updatedReplicas") == status.get("replicas") == wanted)


async def pods(flux: Flux, space: str) -> set[str]:
    return {each["metadata"]["uid"] for each in (await flux.kube.list("v1", "Pod", namespace=space)).items}


async def test_a_child_rests_through_its_parents_rounds_and_ends_when_git_has_the_fix(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    await shop(flux, space)
    at = ground(flux.kube, tmp_path)
    async with lease_held(at):
        override = await begin.begin_override(wish(f"Kustomization {space}/shop"), at)
        assert override.standing is OverrideStanding.OPEN
        assert [str(each) for each in override.held] == [f"Kustomization {space}/shop"]
        assert {each.name for each in override.objects} == {"web", "map"}
        override = await apply.apply_objects(override, [part(space, {"replicas": 3})], at)
        # A second one leaves the first as it is.
        more = {"template": {"spec": {"containers": [{"name": "main", "env": [{"name": "MODE", "value": "safe"}]}]}}}
        override = await apply.apply_objects(override, [part(space, more)], at)

    await flux.reconcile("GitRepository", space, space)
    await flux.reconcile("Kustomization", "apps", space)
    child = await flux.get("Kustomization", "shop", space)
    assert child["spec"]["suspend"] is True
    assert child["metadata"]["annotations"]["firstlight.dev/reason"] == "the shop is down"
    live = await deployment(flux.kube, space)
    assert live["spec"]["replicas"] == 3
    assert live["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "MODE", "value": "safe"}]

    await until(lambda: is_rolled_out(flux, space), "the change to be rolled out")
    running = await pods(flux, space)
    mended = web(3)
    with pytest.raises(errors.Refused, match=r"spec\.replicas: 3 in the cluster, 1 in Git"):
        async with lease_held(at):
            await end.end_override(override, at, git=RenderedGit(wanted={web_id(space): placed(web(), space)}))
    mended["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "MODE", "value": "safe"}]
    commit = await flux.commit(space, {"shop/web.yaml": mended})
    async with lease_held(at):
        over = await end.end_override(
            await session.read_override(at, override.id),
            at,
            git=RenderedGit(wanted={web_id(space): placed(mended, space)}, revision=commit),
        )
    assert (over.standing, over.notes) == (OverrideStanding.ENDED, ())
    live = await deployment(flux.kube, space)
    assert live["spec"]["replicas"] == 3
    assert not is_marked(live)
    assert managers(live) - {"kube-controller-manager"} == {"kustomize-controller"}
    assert await pods(flux, space) == running
    child = await flux.ready("Kustomization", "shop", space, revision=commit)
    assert child["spec"]["suspend"] is False
    assert not is_marked(child)
    told = override_records.incident_path(at.state, at.cluster, over.id).read_text()
    assert "| Deployment" in told
    assert "spec.replicas | 1 | 3 |" in told
    # What is removed from Git later disappears: the fields are the engine's alone.
    del mended["spec"]["template"]["spec"]["containers"][0]["env"]
    await flux.commit(space, {"shop/web.yaml": mended})
    await flux.reconcile("GitRepository", space, space)
    await flux.reconcile("Kustomization", "shop", space)
    live = await deployment(flux.kube, space)
    assert "env" not in live["spec"]["template"]["spec"]["containers"][0]


async def test_an_aborted_one_leaves_everything_as_it_was(flux: Flux, space: str, tmp_path: Path) -> None:
    await shop(flux, space)
    at = ground(flux.kube, tmp_path)
    before = await deployment(flux.kube, space)
    async with lease_held(at):
        override = await begin.begin_override(wish(f"Kustomization {space}/shop"), at)
        override = await apply.apply_objects(override, [part(space, {"replicas": 3, "paused": True})], at)
        override = await apply.apply_objects(override, [placed(config("new", x="1"), space)], at, is_more_allowed=True)
        # Applied anew without what it had: Git still has that, and abort brings it back.
        settings = ObjectId("", "ConfigMap", space, "map")
        override = await apply.delete_object(override, settings, at)
        override = await apply.apply_objects(override, [placed(config("map", b="2"), space)], at)
        wanted = {settings: placed(config("map", a="1", b="2"), space)}
        differing = [
            str(each) for each in await git_agreement.differences(override, at, wanted) if each.object == settings
        ]
        assert differing == [f"{settings} data.a: (not there) in the cluster, 1 in Git"]
        with pytest.raises(errors.Refused, match=r"has (Deployment|Kustomization)"):
            await begin.begin_override(wish(objects=(web_id(space),)), at)
        # Somebody else changes something beside it, and something of it.
        beside = {"metadata": {"annotations": {"example.org/note": "mine"}}, "spec": {"paused": False}}
        await flux.kube.patch("apps/v1", "Deployment", "web", beside, manager="somebody", namespace=space)
        over = await end.abort_override(override, at)
    assert over.standing is OverrideStanding.ABORTED
    assert any("spec.paused" in each and "somebody" in each for each in over.notes)
    live = await deployment(flux.kube, space)
    assert live["spec"]["replicas"] == 1
    assert live["metadata"]["annotations"]["example.org/note"] == "mine"
    assert managers(live) == managers(before) | {"somebody"}
    assert await flux.config_map("new", space) is None
    assert await flux.config_map("map", space) == {"a": "1"}
    child = await flux.ready("Kustomization", "shop", space)
    assert child["spec"].get("suspend") in (None, False)
    assert not is_marked(child)
    assert all(each.is_over for each in await session.list_overrides(at))
    secrets = await flux.kube.list("v1", "Secret", namespace="kube-system", labels="firstlight.dev/override-snapshot")
    assert not secrets.items


async def test_string_data_of_a_secret_is_applied_recorded_and_taken_back(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    await shop(flux, space)
    at = ground(flux.kube, tmp_path)
    login = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "namespace": space}}
    await flux.kube.apply({**login, "stringData": {"password": "old"}}, manager="somebody")
    id = ObjectId("", "Secret", space, "login")
    async with lease_held(at):
        override = await begin.begin_override(wish(objects=(id,)), at)
        override = await apply.apply_objects(override, [{**login, "stringData": {"password": "hunter2"}}], at)

        assert [each.fields for each in override.changes] == [("data.password",)]
        live = await flux.kube.get("v1", "Secret", "login", namespace=space)
        assert base64.b64decode(live["data"]["password"]) == b"hunter2"
        over = await end.abort_override(override, at)
    assert over.standing is OverrideStanding.ABORTED
    live = await flux.kube.get("v1", "Secret", "login", namespace=space)
    assert base64.b64decode(live["data"]["password"]) == b"old"


async def test_a_release_goes_on_with_the_values_that_git_has_now(flux: Flux, space: str, tmp_path: Path) -> None:
    await release(flux, space)
    at = ground(flux.kube, tmp_path)
    async with lease_held(at):
        override = await begin.begin_override(wish(objects=(web_id(space),)), at)
        assert [str(each) for each in override.held] == [f"HelmRelease {space}/shop"]
        override = await apply.apply_objects(override, [part(space, {"replicas": 3})], at)
    commit = await flux.commit(space, {"apps/release.yaml": helm_release(space, replicas=3)})
    mended = placed(web(3), space)
    mended["metadata"].pop("labels")
    async with lease_held(at):
        over = await end.end_override(override, at, git=RenderedGit(wanted={web_id(space): mended}, revision=commit))
    assert (over.standing, over.notes) == (OverrideStanding.ENDED, ())
    live = await deployment(flux.kube, space)
    assert live["spec"]["replicas"] == 3
    assert managers(live) - {"kube-controller-manager"} == {"helm-controller"}
    owner = await flux.ready("HelmRelease", "shop", space)
    assert owner["spec"]["values"] == {"replicas": 3}
    assert not is_marked(owner)


async def test_it_works_while_the_controllers_are_down_and_expires(flux: Flux, space: str, tmp_path: Path) -> None:
    commit = await shop(flux, space)
    at = ground(flux.kube, tmp_path, patience=1.0)
    stopped = ("kustomize-controller", "source-controller")
    for each in stopped:
        await flux.lab.process(each, "stop")
    try:
        async with lease_held(at):
            override = await begin.begin_override(wish(f"Kustomization {space}/shop", seconds=60), at)
            override = await apply.apply_objects(override, [part(space, {"replicas": 3})], at)
            late = dataclasses.replace(at, now=lambda: override.until + 1)
            with pytest.raises(errors.Refused, match="has expired"):
                await apply.apply_objects(override, [part(space, {"replicas": 4})], late)
            checks = await override_records.open_override_checks(flux.kube, now=late.now())
            (verdict,) = [each.verdict for each in checks if override.id in each.verdict.reason]
            assert isinstance(verdict, Failed)
            over = await end.end_override(override, dataclasses.replace(late, who="bob@desk"), discard=True)
    finally:
        for each in stopped:
            await flux.lab.process(each, "continue")
        await flux.running(*stopped)
    assert (over.standing, over.ended_by) == (OverrideStanding.ENDED, "bob@desk")
    assert any("has not been reconciled" in each for each in over.notes)
    assert (await deployment(flux.kube, space))["spec"]["replicas"] == 1
    await flux.ready("Kustomization", "shop", space, revision=commit)


async def test_whatever_was_cut_off_the_next_run_finishes(flux: Flux, space: str, tmp_path: Path) -> None:
    await shop(flux, space)
    at = ground(flux.kube, tmp_path, tell=killed_at("record open"))
    with pytest.raises(Killed):
        async with lease_held(at):
            await begin.begin_override(wish(f"Kustomization {space}/shop"), at)
    assert (await flux.get("Kustomization", "shop", space))["spec"]["suspend"] is True

    said: list[str] = []
    cluster = Cluster(name="lab", place=Place("firstlight.yaml"))
    world = World(cluster=cluster, programs=RunPrograms(), resolve=unresolved, state=tmp_path / ".firstlight")
    world._kube = flux.kube
    await walk.run_stages(
        [walk.WalkStage(id="one", name="one")], world, options=RunOptions(holder="tests"), confirm=lambda text: True,
        tell=lambda event: said.append(event.text) if isinstance(event, Told) else None,
    )  # fmt: skip
    assert any("was cut off while it began" in each for each in said)
    child = await flux.get("Kustomization", "shop", space)
    assert not child["spec"].get("suspend")
    assert not is_marked(child)
    assert all(each.is_over for each in await session.list_overrides(at))


@pytest.mark.long
async def test_a_resource_set_above_rests_too(flux: Flux, space: str, tmp_path: Path) -> None:
    folder = (await content.ensure(["flux-operator-manifests"]))["flux-operator-manifests"]
    for obj in filter(None, manifests(folder / "install.yaml")):
        await flux.kube.apply(obj, manager="tests")
    await flux.running("flux-operator")
    await flux.repository(space, space, {"shop/web.yaml": web()})
    spec = {
        **OFTEN, "path": "./shop", "prune": True, "targetNamespace": space, "suspend": False,
        "sourceRef": {"kind": "GitRepository", "name": space},
    }  # fmt: skip
    made = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "spec": spec}
    above = {
        "apiVersion": RESOURCE_SETS,
        "kind": "ResourceSet",
        "metadata": {"name": "sets", "namespace": space},
        "spec": {"resources": [{**made, "metadata": {"name": "shop", "namespace": space}}]},
    }
    await flux.kube.apply(above, manager="tests")
    await until(lambda: exists(flux, space), "the ResourceSet to make its Kustomization")
    await flux.ready("Kustomization", "shop", space)
    at = ground(flux.kube, tmp_path)
    async with lease_held(at):
        override = await begin.begin_override(wish(f"Kustomization {space}/shop"), at)
        assert [each.kind for each in override.held] == ["ResourceSet", "Kustomization"]
        override = await apply.apply_objects(override, [part(space, {"replicas": 3})], at)
        token = {"metadata": {"annotations": {flux_names.RECONCILE_REQUEST_ANNOTATION: "now"}}}
        await flux.kube.patch(RESOURCE_SETS, "ResourceSet", "sets", token, manager="tests", namespace=space)
        await flux.reconcile("GitRepository", space, space)
        assert (await flux.get("Kustomization", "shop", space))["spec"]["suspend"] is True
        over = await end.abort_override(override, at)
    assert (over.standing, over.notes) == (OverrideStanding.ABORTED, ())
    assert not is_marked(await flux.get("Kustomization", "shop", space))
    assert not is_marked(dict(await flux.kube.get(RESOURCE_SETS, "ResourceSet", "sets", namespace=space)))
    await flux.kube.delete(RESOURCE_SETS, "ResourceSet", "sets", namespace=space)


async def exists(flux: Flux, space: str) -> bool:
    try:
        await flux.get("Kustomization", "shop", space)
    except kube.NotFound:
        return False
    return True
