"""Talos forgets what the engine owns: on every control plane, in whatever order it is cut short, and for good."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
import yaml

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.verify import talos_inventory as verify_talos_inventory
from firstlight.execute.actions import talos_release
from firstlight.execute.handover import certification, talos_inventory
from firstlight.execute.handover.talos_state import TalosState
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.handover import Passing
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed
from firstlight.model.work import ReleaseFromTalos
from tests import machines
from tests.integration.execute.release_bench import (
    KEYS,
    LABELS,
    MANIFEST,
    OBJECTS,
    OLD_ONE,
    PLACE,
    STEP,
    STRAY,
    Bench,
    believe,
)
from tests.labs import until


class Killed(BaseException):
    """The end of a run, in the middle of a step."""


@pytest_asyncio.fixture(scope="module")
async def bench(cluster: machines.Cluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """Three control planes with a manifest that nobody has adopted so far."""
    async with kube.Client(kube.load(cluster.lab.kubeconfig)) as client:
        one = Bench(cluster, client, tmp_path_factory.mktemp("state"))
        await one.world.connect(kube.load(cluster.lab.kubeconfig))
        before = {each.name: await one.config(each.name) for each in one.planes}
        try:
            await one.give(*before)
            yield one
        finally:
            await one.clear(before)
            await one.world.close()


@pytest.fixture(autouse=True)
def proven(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Passing, ...]]:
    """What a provisional certificate was wanted of."""
    return believe(monkeypatch)


async def test_what_no_engine_has_is_not_released(bench: Bench) -> None:
    with pytest.raises(errors.Refused, match=r"does not belong to flux .*releasing it now would leave it to nobody"):
        await bench.look()

    state = await bench.talos()
    assert {*state.keys} == KEYS
    assert state.listing == ("cp-1", "cp-2", "cp-3")
    assert state.doomed == ()
    assert {*state.annotated} == {*state.managed} == {each.id for each in bench.passing}


async def test_a_machine_that_does_not_answer_holds_the_release_up(bench: Bench) -> None:
    await bench.adopt()
    gone = Machine(name="cp-4", role=MachineRole.CONTROL_PLANE, place=PLACE, address="127.0.0.1")

    with pytest.raises(errors.Refused, match="cp-4 does not say what it has"):
        await bench.look(control_planes=(*bench.planes, gone))
    with pytest.raises(errors.Refused, match="cp-3 is a control plane that is not declared"):
        await bench.look(control_planes=bench.planes[:2])


async def test_what_a_manifest_brings_besides_is_not_left_to_nobody(bench: Bench) -> None:
    daemon = bench.passing[2]
    await bench.client.apply(daemon.object.value, manager=daemon.manager, force=True)

    with pytest.raises(
        errors.Refused, match="also brings DaemonSet kube-system/net-agent, which no engine has"
    ) as told:
        await bench.look(passing=bench.passing[:2])

    await bench.adopt()
    assert "let talosctl upgrade-k8s delete it" in told.value.hint


async def test_a_config_that_waits_on_one_machine_stops_it_before_anything_is_written(bench: Bench) -> None:
    """Else the first machine would be without the manifest, and the reboot of the last would put the keys back."""
    ready = await bench.look()
    async with bench.waiting("cp-3"):
        with pytest.raises(errors.Refused, match="cp-3 has a config that waits for its next reboot") as told:
            await bench.look()
        assert ready is not None
        with pytest.raises(errors.Refused, match="cp-3 has a config that waits"):
            await ready.perform()
        state = await bench.talos()

    assert "talosctl reboot" in told.value.hint
    assert "upgrade-k8s" not in told.value.hint, "nothing is in danger"
    assert {*state.keys} == KEYS
    assert state.listing == ("cp-1", "cp-2", "cp-3")


async def test_it_is_cut_short_again_and_again_and_nothing_is_ever_in_danger(
    bench: Bench, proven: list[tuple[Passing, ...]]
) -> None:
    before = await bench.live()
    seen: list[tuple[int, int]] = []
    moments = ["taken out of the inventory", "cp-1: its config", "after the release"]

    for moment in moments:

        def watch(text: str, moment: str = moment) -> None:
            if moment in text:
                raise Killed

        bench.watch = watch
        with pytest.raises(Killed):
            await bench.perform()
        bench.watch = lambda _: None
        state = await bench.talos()
        seen.append((len(state.keys), len(state.listing)))
        assert state.doomed == (), "an upgrade in this moment would delete the CNI"

    assert seen == [(0, 3), (0, 2), (0, 0)]
    assert bench.told.count(talos_release.WARNING) == 1, "between the first config and the last"
    assert proven == [bench.passing] * 3, "each time the engine was proven to have it before"
    assert any(each.startswith("before the release: talosctl upgrade-k8s would write") for each in bench.told)
    assert any("ConfigMap default/net-config" in each for each in bench.told if each.startswith("before"))
    assert bench.told[-1] == "after the release: talosctl upgrade-k8s would touch nothing"

    assert await bench.perform() is None, "a second run finds nothing"
    after = await bench.live()
    assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
    assert after[2]["metadata"]["generation"] == before[2]["metadata"]["generation"]
    for each in after:
        assert talos_inventory.ANNOTATION not in each["metadata"].get("annotations", {})
        owners = {entry["manager"] for entry in each["metadata"]["managedFields"] if not entry.get("subresource")}
        assert owners == {"kustomize-controller"}
    assert "default_greeting__ConfigMap" in (await bench.client.get(
        "v1", "ConfigMap", talos_inventory.NAME, namespace="kube-system"
    ))["data"], "what was not released stays"  # fmt: skip


async def test_one_machine_that_has_it_again_undoes_the_release_and_is_seen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.give("cp-2")

    state = await bench.talos()

    assert not state.is_released
    assert state.configs == {"cp-1": (), "cp-2": (MANIFEST,), "cp-3": ()}
    assert {*state.keys} == {*state.doomed} == KEYS, "upgraded through cp-1 it would all be deleted"
    assert state.left[0].startswith("upgrade-k8s would delete ")
    assert f"the config of cp-2 still has {MANIFEST}" in state.left
    async with bench.waiting("cp-2"):
        with pytest.raises(errors.Refused, match="cp-2 has a config that waits") as told:
            await bench.look()
    assert "without --manifests-no-prune until firstlight has run again" in told.value.hint

    async def unproven(*_: object, **__: object) -> None:
        raise errors.Refused("it is not proven")

    with monkeypatch.context() as patched:
        patched.setattr(talos_release, "require_provisional", unproven)
        with pytest.raises(errors.Refused, match="not proven") as told:
            await bench.perform()
    assert talos_release.WARNING in told.value.hint
    assert await bench.keys() == set(), "what would be deleted is saved in any case"
    change = await bench.perform()
    assert change is not None
    assert change.danger == ""
    assert change.writes[0] == f"apply the config of cp-2 without {MANIFEST}"
    assert (await bench.talos()).is_released


async def test_what_somebody_took_out_of_the_configs_by_hand_is_repaired(
    bench: Bench, proven: list[tuple[Passing, ...]]
) -> None:
    """The order that deletes a CNI: released from the configs, still in the inventory; Git never had some of it."""
    for id, labels in ((OLD_ONE, LABELS), (STRAY, {})):
        metadata = {"name": id.name, "namespace": id.namespace, "labels": labels}
        await bench.client.apply({"apiVersion": "v1", "kind": id.kind, "metadata": metadata}, manager="tests")
    keys = [*KEYS, talos_inventory.key(OLD_ONE), talos_inventory.key(STRAY)]
    await bench.client.patch(
        "v1", "ConfigMap", talos_inventory.NAME, {"data": dict.fromkeys(keys, "")}, manager="tests",
        namespace="kube-system",
    )  # fmt: skip

    async def look(task: ReleaseFromTalos) -> TalosState:
        return await bench.talos()

    red = await verify_talos_inventory.check_release(bench.task, look)
    change = await bench.perform()
    green = await verify_talos_inventory.check_release(bench.task, look)

    assert red.verdict == Failed("the next talosctl upgrade-k8s deletes ConfigMap net-config and 3 more")
    assert "--manifests-no-prune" in red.detail[-1]
    assert green.verdict == Passed("3 control planes, nothing left")
    assert change is not None
    assert change.writes == ("take 4 objects out of Talos's inventory",)
    assert proven == [], "nothing holds this up"
    assert any("deletes what was taken out of configs too early" in each for each in bench.told)
    assert await bench.keys() == set()
    left = await talos_inventory.read(bench.client)
    assert left is not None
    assert left.of([OLD_ONE]) == (), "an object of the engine, whether Git lists it today or not"
    assert left.of([STRAY]) == (talos_inventory.key(STRAY),)
    assert bench.told[-1].startswith("after the release: talosctl upgrade-k8s would delete ")
    assert bench.told[-1].endswith("net-stray, which is Talos's own")
    assert len(await bench.live()) == 3


async def test_the_same_object_under_another_name_is_seen_and_nothing_is_said_to_be_released(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name says nothing of what is in a manifest: what counts is what a machine applies, and an upgrade would."""
    before = await bench.config("cp-1")
    agent = OBJECTS.rpartition("---\n")[2].replace("net:1", "evil:1")
    patch = Secret(yaml.safe_dump({"cluster": {"inlineManifests": [{"name": "net-again", "contents": agent}]}}))
    await bench.lab.talos.apply_config(bench.lab.at("cp-1"), await bench.lab.talos.patch_config(before, [patch]))
    try:

        async def state() -> TalosState | None:
            found = await bench.talos()
            return found if found.again else None

        await until(state, "cp-1 to have the manifest")
        found = await bench.talos()
        id = bench.passing[2].id
        assert found.again == {"cp-1": {"net-again": (id,)}}
        proofs = certification.talos_proofs(found)
        assert next(each.machine for each in proofs if not each.is_proven) == "cp-1"
        with pytest.raises(errors.Refused, match="cp-1 also brings DaemonSet kube-system/net-agent by the manifest"):
            await bench.look()
        # And whatever is not seen of a manifest, an upgrade that would write is no release.
        clean = TalosState(configs={"cp-1": (), "cp-2": (), "cp-3": ()}, has_inventory=found.has_inventory)

        async def nothing(*_: object, **__: object) -> TalosState:
            return clean

        monkeypatch.setattr(talos_release, "talos_state", nothing)
        with pytest.raises(errors.Refused, match="would write DaemonSet kube-system/net-agent, although it was rel"):
            await talos_release._require_done(bench.task, [], bench.world, STEP)
    finally:
        monkeypatch.undo()
        await bench.lab.talos.apply_config(bench.lab.at("cp-1"), before)
        await talos_inventory.forget([each.id for each in bench.passing], bench.client, manager="tests")

    async def is_clean() -> bool:
        return not (await bench.talos()).again

    await until(is_clean, "cp-1 to be without it")
    await talos_inventory.forget([each.id for each in bench.passing], bench.client, manager="tests")
