"""Objects applied to a real API server: what is equal is not written, what is others' is not touched."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.execute.actions import install
from firstlight.execute.apply import server_side_apply
from firstlight.execute.apply.object_survey import ObjectDifference
from firstlight.model.rendition import Object
from tests.integration.execute.things_to_apply import MANAGER, config_map, deployment, others, task, world, written


async def test_what_is_applied_is_equal_and_a_second_look_finds_nothing(
    kube: clients_kube.Client, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, _ = world(kube, tmp_path)
    values = [config_map(namespace, a="1"), deployment(namespace), *others(namespace)]

    change = await install.look_apply(task(*values), here, "core/main")
    assert change is not None
    assert change.writes[0] == f"create ConfigMap {namespace}/settings"
    await change.perform()
    before = await written(kube, values)
    tried: list[str] = []
    really = kube.apply

    async def counted(obj: Mapping[str, Any], **more: Any) -> Any:
        tried.append(obj["kind"])
        return await really(obj, **more)

    monkeypatch.setattr(kube, "apply", counted)
    assert await install.look_apply(task(*values), here, "core/main") is None
    assert sorted(tried) == [], "all of it is told without a dry run"
    monkeypatch.undo()
    # The server agrees: an apply leaves even the times in place.
    await server_side_apply.apply([ObjectDifference(object=Object(each), manager=MANAGER) for each in values[:2]], kube)
    assert await written(kube, values) == before


async def test_drift_is_found_and_repaired(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    here, _ = world(kube, tmp_path)
    wanted = task(config_map(namespace, a="1", b="2"), deployment(namespace))
    change = await install.look_apply(wanted, here, "s")
    assert change is not None
    await change.perform()
    await kube.patch(
        "v1", "ConfigMap", "settings", {"data": {"a": "x", "extra": "y"}}, manager="kubectl-edit", namespace=namespace
    )
    await kube.patch("apps/v1", "Deployment", "main", {"spec": {"paused": True}}, manager="person", namespace=namespace)

    change = await install.look_apply(wanted, here, "s")
    assert change is not None
    assert change.writes == (f"apply ConfigMap {namespace}/settings",)
    await change.perform()
    live = await kube.get("v1", "ConfigMap", "settings", namespace=namespace)
    assert live["data"] == {"a": "1", "b": "2", "extra": "y"}, "what somebody added stays"
    assert await install.look_apply(wanted, here, "s") is None


async def test_a_field_that_git_no_longer_has_goes(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    here, _ = world(kube, tmp_path)
    first = await install.look_apply(task(config_map(namespace, a="1", b="2")), here, "s")
    assert first is not None
    await first.perform()

    change = await install.look_apply(task(config_map(namespace, a="1")), here, "s")
    assert change is not None
    assert change.writes == (f"change ConfigMap {namespace}/settings (data.b)",)
    await change.perform()
    assert (await kube.get("v1", "ConfigMap", "settings", namespace=namespace))["data"] == {"a": "1"}


async def test_what_an_engine_has_is_only_read(kube: clients_kube.Client, namespace: str, tmp_path: Path) -> None:
    here, told = world(kube, tmp_path)
    theirs = config_map(namespace, a="1")
    labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    await kube.apply({**theirs, "metadata": {**theirs["metadata"], "labels": labels}}, manager=MANAGER)
    before = await written(kube, [theirs])

    assert await install.look_apply(task(theirs), here, "s") is None
    assert told == []
    assert await install.look_apply(task(config_map(namespace, a="2")), here, "s") is None
    whose = "it is left to flux: Kustomization flux-system/apps"
    assert told == [f"ConfigMap {namespace}/settings differs from the repo in data.a; {whose}"]
    assert await written(kube, [theirs]) == before


@pytest.mark.parametrize("is_there", [False, True])
async def test_what_an_engine_takes_between_the_look_and_the_write_is_left_to_it(
    kube: clients_kube.Client, namespace: str, tmp_path: Path, is_there: bool
) -> None:
    here, told = world(kube, tmp_path)
    if is_there:
        await kube.apply(config_map(namespace, a="0"), manager=MANAGER)
    change = await install.look_apply(task(config_map(namespace, a="1"), config_map(namespace, "b", a="1")), here, "s")
    assert change is not None
    theirs = config_map(namespace, a="2", added="by Git")
    labels = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    await kube.apply({**theirs, "metadata": {**theirs["metadata"], "labels": labels}}, manager=MANAGER)

    await change.perform()

    live = await kube.get("v1", "ConfigMap", "settings", namespace=namespace)
    assert (live["metadata"].get("labels"), live["data"]) == (labels, theirs["data"])
    assert len(told) == 1
    assert told[0].endswith("it is left to flux: Kustomization flux-system/apps")
    assert await kube.get("v1", "ConfigMap", "b", namespace=namespace), "the rest goes on"


async def test_what_somebody_writes_between_the_look_and_the_write_is_looked_at_again(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    here, _ = world(kube, tmp_path)
    names = ["new", "old", "gone", "once"]
    await kube.apply(config_map(namespace, "old", a="0"), manager=MANAGER)
    await kube.apply(config_map(namespace, "gone", a="0"), manager=MANAGER)
    wanted = [config_map(namespace, each, a="1") for each in names]
    change = await install.look_apply(task(*wanted, once=frozenset({Object(wanted[3]).id})), here, "s")
    assert change is not None
    await kube.apply(config_map(namespace, "new", b="2"), manager="person")
    await kube.apply(config_map(namespace, "old", b="2"), manager="person")
    await kube.apply(config_map(namespace, "once", b="2"), manager="person")
    await kube.delete("v1", "ConfigMap", "gone", namespace=namespace)

    await change.perform()

    live = {each: (await kube.get("v1", "ConfigMap", each, namespace=namespace))["data"] for each in names}
    both = {"a": "1", "b": "2"}
    assert live == {"new": both, "old": both, "gone": {"a": "1"}, "once": {"b": "2"}}


async def test_fields_of_strangers_are_refused_and_own_ones_are_taken(
    kube: clients_kube.Client, namespace: str, tmp_path: Path
) -> None:
    here, _ = world(kube, tmp_path)
    await kube.apply(config_map(namespace, a="1"), manager=MANAGER)
    await kube.apply(config_map(namespace, a="2"), manager="autoscaler", force=True)
    await kube.apply(config_map(namespace, "ours", a="2"), manager="talos")

    wanted = [config_map(namespace, a="3"), config_map(namespace, "ours", a="3")]
    change = await install.look_apply(task(wanted[1]), here, "s")
    assert change is not None
    await change.perform()
    assert (await kube.get("v1", "ConfigMap", "ours", namespace=namespace))["data"] == {"a": "3"}
    change = await install.look_apply(task(*wanted), here, "s")
    assert change is not None
    with pytest.raises(errors.Refused, match=r"settings are owned by others.*\.data\.a by autoscaler"):
        await change.perform()
    assert (await kube.get("v1", "ConfigMap", "settings", namespace=namespace))["data"] == {"a": "2"}
