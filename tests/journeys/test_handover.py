"""The handover by itself, with real Flux: what bootstrap brought passes, nothing is harmed, and that is proven."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import kube, talosctl
from firstlight.commands.handover import canary, handover
from firstlight.commands.override import begin, session
from firstlight.commands.override.session import lease_held
from firstlight.observe import audit_log
from tests import handing, runs, stages
from tests.integration.commands.override import overriding
from tests.labs import until

FLUX = "kustomize.toolkit.fluxcd.io/v1"
INVENTORY = "talos-bootstrap-manifests-inventory"
CNI = "kube-system_kube-flannel-ds_apps_DaemonSet"
"""The key of the CNI in it."""


@pytest_asyncio.fixture(scope="module")
async def before(to_engine: runs.Stage) -> runs.Stage:
    """Everything is there but the root object, as 1.13 of Talos leaves it."""
    return to_engine


@pytest_asyncio.fixture(scope="module")
async def handed(before: runs.Stage) -> runs.Stage:
    """The same after the handover, which must have harmed nothing."""
    await _hand_over(before, former={("talos", "Apply")})
    return before


async def _hand_over(stage: runs.Stage, *, former: set[tuple[str, str]]) -> None:
    """Hand a cluster over, and look at everything that could have gone wrong."""
    async with handing.client(stage) as client:
        pods = await handing.pods(client)
        assert former <= handing.managers(await handing.get(client, handing.AGENT))
        begun = time.time()

        told = await stage.handover("-ojson")

        assert told.code == 0, told.err
        assert told.data["certificate"]["complete"] is True
        assert told.data["certificate"]["stage"] == "final"
        assert handing.deletions(stage, since=begun) == []
        now = await handing.pods(client)
        assert {name: now.get(name) for name in pods} == pods, "a pod was replaced or restarted"
        assert handing.managers(await handing.get(client, handing.AGENT)) == {("kustomize-controller", "Apply")}
        greeter = await handing.get(client, ("apps/v1", "Deployment", "greeter", "greeter"))
        assert handing.managers(greeter) == {("helm-controller", "Apply")}
        controller = await handing.get(client, ("apps/v1", "Deployment", "kustomize-controller", "flux-system"))
        assert handing.managers(controller) == {("kustomize-controller", "Apply")}


async def test_a_dry_run_tells_what_would_come_and_writes_nothing(before: runs.Stage) -> None:
    begun = time.time()

    told = await before.handover("--dry-run", "-ojson")

    assert told.code == 0, told.err
    found = {f"{each['kind']} {each['name']}": each for each in told.data["predictions"]}
    assert {"DaemonSet kube-flannel-ds", "ConfigMap greeter", "Deployment helm-controller"} <= found.keys()
    assert not [each for each in found.values() if each["lost"] or each["replacesPods"] or each["refused"]]
    assert audit_log.writes(before.lab.home.audit_log, since=begun, until=time.time()) == ()


async def test_a_component_alone_is_refused_while_nothing_points_the_engine_at_the_repo(before: runs.Stage) -> None:
    told = await before.handover("--component", "flannel")

    assert told.code == 3
    assert "Kustomization flux-system is not there" in told.err


async def test_a_second_handover_writes_nothing(handed: runs.Stage) -> None:
    file = Path(handed.certificate)
    made = file.read_text()
    file.write_text(made.replace('"revision"', '"run": "of somebody else",\n "revision"'))
    begun = time.time()

    told = await handed.handover()

    assert told.code == 0, told.err
    assert "complete" in told.out
    assert file.read_text() == made, "what counts is what the cluster has"
    assert audit_log.writes(handed.lab.home.audit_log, since=begun, until=time.time()) == ()


async def test_an_upgrade_of_kubernetes_leaves_alone_what_git_owns(handed: runs.Stage) -> None:
    async with handing.client(handed) as client:
        was = (await handing.get(client, handing.AGENT))["metadata"]["resourceVersion"]

        done = await _upgrade(handed)

        assert not [each for each in done.manifests if "flannel" in each.subject]
        assert done.pruned == ()
        assert (await handing.get(client, handing.AGENT))["metadata"]["resourceVersion"] == was


async def test_a_key_left_in_the_inventory_would_delete_the_cni_and_is_taken_out(handed: runs.Stage) -> None:
    async with handing.client(handed) as client:
        await client.patch("v1", "ConfigMap", INVENTORY, {"data": {CNI: ""}}, manager="t", namespace="kube-system")
        provisional = str(Path(handed.certificate).with_name("certificate.provisional.json"))
        would = await _upgrade(handed, dry_run=True)
        assert [each for each in would.pruned if "kube-flannel-ds" in each.subject], "the incident itself"

        early = await handed.handover("--verify", provisional)
        dry = await handed.handover("--dry-run")
        told = await handed.handover()
        late = await handed.handover("--verify", provisional)

        assert "DaemonSet kube-system/kube-flannel-ds" in dry.out + dry.err
        assert "delete" in dry.out + dry.err
        assert told.code == 0, told.err
        assert (early.code, late.code) == (2, 0), "a provisional one tells nothing while Talos has something left"
        assert "it is not in Talos's inventory" in early.out
        assert "holds (provisional)" in late.out
        assert f"certificate {json.loads(Path(provisional).read_text())['digest']} of " in late.out
        inventory = await client.get("v1", "ConfigMap", INVENTORY, namespace="kube-system")
        assert CNI not in inventory["data"]
    assert (await _upgrade(handed, dry_run=True)).pruned == ()


async def test_a_stale_co_owner_is_found_and_its_fields_pass_again(handed: runs.Stage) -> None:
    """As a kubectl apply --server-side in an emergency leaves one."""
    async with handing.client(handed) as client:
        live = await handing.get(client, handing.AGENT)
        note = {handing.NOTE: live["metadata"]["annotations"][handing.NOTE]}
        metadata = {"name": handing.AGENT[2], "namespace": handing.AGENT[3], "annotations": note}
        await client.apply(
            {"apiVersion": handing.AGENT[0], "kind": handing.AGENT[1], "metadata": metadata}, manager="kubectl"
        )

        failing = await handed.handover("--verify", handed.certificate)
        told = await handed.handover("--component", "flannel")
        again = await handed.handover("--verify", handed.certificate, "-ojson")

        assert failing.code == 2, failing.err
        assert "DaemonSet kube-system/kube-flannel-ds" in failing.out
        assert f"kubectl (Apply) owns metadata.annotations[{handing.NOTE}]" in failing.out
        assert told.code == 0, told.err
        assert (again.code, again.data["complete"]) == (0, True), again.out
        assert handing.managers(await handing.get(client, handing.AGENT)) == {("kustomize-controller", "Apply")}


async def test_a_label_comes_and_goes_through_git(handed: runs.Stage) -> None:
    file = Path(handed.certificate)
    made = json.loads(file.read_text())
    file.write_text(json.dumps({**made, "uid": "another", "objects": made["objects"][:1]}))

    told = await handed.handover("--canary", "--yes")

    assert told.code == 0, told.err
    certificate = json.loads(Path(handed.certificate).read_text())
    proofs = [each for one in certificate["machines"] for each in one["proofs"] if "came and went" in each["claim"]]
    assert [(each["holds"], each["is_tried"]) for each in proofs] == [(True, True)], proofs
    assert "the label has come into the cluster" in told.err
    assert "the label is gone from the cluster" in told.err
    assert "main is two commits ahead of clones that were made before, such as yours: git pull" in told.err
    assert (certificate["uid"], len(certificate["objects"])) == (made["uid"], len(made["objects"]))


async def test_a_canary_finishes_an_override_that_was_cut_off_since_the_run(handed: runs.Stage, tmp_path: Path) -> None:
    """Whoever is to bring the label rests for it."""
    means = runs.means(handed.place)
    prepared = await handover.prepare(handed.platform, handover.HandoverRequest(cluster=""), means, is_checked=False)
    bird = canary.choose(handover.passing(prepared), Path(handed.place.root))
    assert bird is not None
    said: list[str] = []
    async with handing.client(handed) as client:
        dying = overriding.ground(client, tmp_path, tell=overriding.killed_at("record open"))
        with pytest.raises(overriding.Killed):
            async with lease_held(dying):
                await begin.begin_override(overriding.wish(bird.passing.owner.name), dying)

        made, _ = await handover.fly_canary(prepared, means, key=None, confirm=lambda _: True, tell=said.append)

        assert all(each.is_over for each in await session.list_overrides(dying))
    assert made.is_complete
    assert any("was cut off while it began" in each for each in said)
    assert "the label has come into the cluster" in said


async def test_fields_that_are_removed_in_git_are_gone_from_the_cluster(handed: runs.Stage) -> None:
    root = Path(handed.place.root)
    for path, gone in (
        ("flannel/flannel.yaml", "  annotations: {example.org/note: a field that a test removes from Git}\n"),
        ("cluster/greeter.yaml", ", note: a field that a test removes from Git"),
    ):
        text = (root / path).read_text()
        assert gone in text
        (root / path).write_text(text.replace(gone, ""))
    async with handing.client(handed) as client:
        await handed.lab.sources().commit_directory("tests/light", root, message="without notes")
        await _reconcile(client)

        async def is_gone() -> bool:
            agent = await handing.get(client, handing.AGENT)
            greeter = await client.get("v1", "ConfigMap", "greeter", namespace="greeter")
            return handing.NOTE not in agent["metadata"].get("annotations", {}) and "note" not in greeter["data"]

        await until(is_gone, "the fields to be gone from the cluster")


@pytest.mark.long
async def test_it_is_the_same_with_what_talos_of_before_1_13_has_created(
    programs: dict[str, Path], tmp_path: Path
) -> None:
    async with stages.brought_up(programs, tmp_path / "home", talos="1.12") as stage:
        await _hand_over(stage, former={("talos", "Update")})


async def _upgrade(stage: runs.Stage, *, dry_run: bool = False) -> Any:
    """The real ``talosctl upgrade-k8s``, to the version that is there: Talos's manifests are synced."""
    async with handing.client(stage) as client:
        version = (await client.version())["gitVersion"]
    endpoint = stage.place.reach["10.9.0.11"]
    target = talosctl.MachineTarget.of(endpoint.partition(":")[0], endpoints=[endpoint])
    return await stage.talosctl().upgrade_k8s(
        target, to=version, dry_run=dry_run, endpoint=stage.place.api, kubelets=False, pull_first=False
    )


async def _reconcile(client: kube.Client) -> None:
    """What ``flux reconcile`` does, for everything at once."""
    now = {"metadata": {"annotations": {"reconcile.fluxcd.io/requestedAt": str(time.time())}}}
    await client.patch(
        "source.toolkit.fluxcd.io/v1", "GitRepository", "flux-system", now, manager="flux", namespace="flux-system"
    )
