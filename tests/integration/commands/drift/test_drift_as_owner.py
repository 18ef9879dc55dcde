"""``drift`` in the place of an engine that does not answer: what is written, and what stays others'."""

import dataclasses
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.drift import drift
from firstlight.commands.drift.correct import CorrectionOptions
from firstlight.model.drift import Drift, DriftKind
from tests.flux import Flux
from tests.integration.commands.drift.drifting import KUSTOMIZATION, STAND_IN, correct, edit, scene, silence, told
from tests.labs import until


async def test_an_engine_that_is_down_is_stood_in_for(flux: Flux, space: str, tmp_path: Path) -> None:
    one = await scene(flux, space, tmp_path)
    await silence(flux, space)
    await edit(flux, space, {"spec": {"replicas": 0}, "metadata": {"labels": {"by": "hand"}}}, kind="Deployment")
    found = await drift.look(one, flux.kube)
    assert told(found) == [("Deployment", DriftKind.CHANGED, ["spec.replicas", "metadata.labels.by"])]

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


async def test_what_was_scaled_and_scaled_back_becomes_the_engines_again(
    flux: Flux, space: str, tmp_path: Path
) -> None:
    one = await scene(flux, space, tmp_path)
    for replicas in (0, 2):
        await flux.kube.patch(
            "apps/v1", "Deployment", "web", {"spec": {"replicas": replicas}}, manager="kubectl", namespace=space,
            subresource="scale",
        )  # fmt: skip
    found = await drift.look(one, flux.kube)
    assert told(found) == [("Deployment", DriftKind.WRONG_OWNER, ["spec.replicas"])]

    said: list[str] = []
    wishes = CorrectionOptions(patience=1)
    asked = await correct(one, flux.kube, found, said=said, wishes=wishes)
    assert told(asked) == told(found), "the engine sees no difference, and applies nothing"
    assert asked.ways is not None
    assert asked.ways[0].startswith("firstlight drift lab --correct --as-owner makes the engine the owner")
    wishes = dataclasses.replace(wishes, as_owner=True)
    assert told(await correct(one, flux.kube, asked, said=said, wishes=wishes, confirm=lambda _: True)) == []
    assert told(await drift.look(one, flux.kube)) == []


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
    assert {each[1] for each in told(found)} == {DriftKind.MISSING}
    with pytest.raises(errors.Refused, match=f"Kustomization {space}/apps: not in this cluster"):
        await correct(one, flux.kube, found, said=[], wishes=STAND_IN, confirm=lambda _: True)
    assert await flux.config_map("settings", space) is None
