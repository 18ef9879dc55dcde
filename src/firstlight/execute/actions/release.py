"""Makes Talos forget what the engine owns: its inventory, the configs of all control planes, its marks on objects.

The order keeps ``talosctl upgrade-k8s`` from deleting anything in the moment when the release is cut short. What is in
the inventory and not in the manifests of the machine that it asks is deleted, the CNI too. So the keys go first, while
all configs still have the manifest: who upgrades then brings bootstrap's values back until the engine reconciles, and
deletes nothing. Then the configs, one machine after the other; a machine that runs its manifests meanwhile may put
keys back, so that they are looked for after each. Talos's own procedure begins with the configs, and until its next
step everything is in danger. Last come annotation and managers, which neither keep nor delete anything.

Between the first config and the last a boot is enough: a machine that still has the manifest puts the keys back, and an
upgrade through one that has it no more deletes. So everything that may refuse is asked of all machines before, and
whoever is stopped there all the same is told how not to upgrade.

Keys without a manifest, which somebody left who took it out of the configs by hand, are what is repaired first.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys
from firstlight.execute.change import Change
from firstlight.execute.handing import (
    config_release,
    provisional,
    release_checks,
    talos_inventory,
    unmarking,
    upgrade_preview,
)
from firstlight.execute.handing.releasing import TalosState, talos_state
from firstlight.execute.machine_gates import POLL, settle
from firstlight.execute.world import World
from firstlight.model.cluster import Machine
from firstlight.model.component import ObjectId
from firstlight.model.work import Release
from firstlight.observe.machines import Way

MANAGER = "firstlight"
"""As whom the inventory is written; what is removed is nobody's."""
PATIENCE = 60.0
"""Seconds for which a control plane that is silent is waited for."""
PASS = 60.0
"""Seconds for a machine to run its manifests once after it got another config."""
_SHOWN = 3
WARNING = (
    "Do not run talosctl upgrade-k8s without --manifests-no-prune until firstlight has run again to the end: "
    "control planes may differ in their manifests, and then it deletes what is released"
)


async def look(task: Release, world: World, step: str) -> Change | None:
    """What Talos still has of it.

    Raises:
        errors.Refused: The engine does not have all of it, a control plane does not answer, is not declared, does not
            take its config at once or brings it by another manifest, or one brings more than passes; nothing was
            written.
    """
    ids = [each.id for each in task.passing]
    state = await _seen(task, ids, world)
    if state.is_released:
        return None
    if state.doomed:
        world.tell(step, f"the next upgrade-k8s deletes what was taken out of configs too early: {state.left[0]}")
    begun: list[Machine] = []

    def is_half() -> bool:
        return state.is_half or bool(begun)

    with _warned(world, step, is_half):
        extra = await _checked(task, state, world)
    before = await upgrade_preview.of(task.control_planes, [*ids, *extra], state=state, world=world)
    world.tell(step, f"before the release: {before}")
    for name, why in task.kept.items():
        world.tell(step, f"{name} stays with Talos: {why}; every upgrade-k8s makes it what its manifest says")

    async def perform() -> None:
        with _warned(world, step, is_half):
            if state.doomed:  # such keys go at once, whatever can be proven
                await _forget([*ids, *extra], world, step)
            if state.listing:
                await provisional.require(task.passing, world, step=step)
            await _take_out(task, world, step, bare=state.bare, extra=extra, begun=begun)
        await _finish(task, world, step, extra=extra)

    return Change(writes=_writes(state), perform=perform)


async def _checked(task: Release, state: TalosState, world: World) -> dict[ObjectId, str]:
    """Everything that may refuse; the apiVersions of what Talos has besides and an engine owns."""
    await release_checks.require_owned(task.passing, world)
    release_checks.require_answers(state)
    release_checks.require_declared(state)
    release_checks.require_no_other(state, task.control_planes)
    extra = await release_checks.require_nothing_else(state, [each.id for each in task.passing], world)
    way = await cluster_keys.ensure(world)
    await config_release.require(_planes(task, state.bare), task.manifests, way=way, world=world)
    return extra


@contextlib.contextmanager
def _warned(world: World, step: str, is_half: Callable[[], bool]) -> Iterator[None]:
    """Whoever is stopped when only some machines have the manifest learns what not to do until then."""
    try:
        yield
    except errors.FirstlightError as error:
        if is_half():
            error.hint = f"{error.hint} {WARNING}.".strip()
        raise
    except BaseException:
        if is_half():
            world.tell(step, WARNING)
        raise


async def _seen(task: Release, ids: Collection[ObjectId], world: World) -> TalosState:
    """What Talos has; a machine that is silent may be in the middle of a boot."""
    deadline = time.monotonic() + min(world.patience, PATIENCE)
    while True:
        state = await talos_state(task.control_planes, task.manifests, ids, world)
        if not state.silent or time.monotonic() >= deadline:
            return state
        await asyncio.sleep(POLL)


def _writes(state: TalosState) -> tuple[str, ...]:
    found = []
    if state.keys:
        found.append(f"take {_objects(state.keys)} out of Talos's inventory")
    found += [f"apply the config of {name} without {', '.join(state.configs[name])}" for name in state.listing]
    if marked := {*state.annotated, *state.managed}:
        found.append(f"take Talos's marks from {_objects(marked)}")
    return tuple(found)


def _planes(task: Release, bare: Collection[str]) -> list[Machine]:
    """A machine in maintenance mode has nothing, and gets what all of the others have."""
    return [each for each in task.control_planes if each.name not in bare]


async def _take_out(
    task: Release,
    world: World,
    step: str,
    *,
    bare: Collection[str],
    extra: Mapping[ObjectId, str],
    begun: list[Machine],
) -> None:
    """Take everything out of the inventory and all configs; the machines that are written are added to ``begun``."""
    planes = _planes(task, bare)
    ids = [*(each.id for each in task.passing), *extra]
    way = await cluster_keys.ensure(world)
    await config_release.require(planes, task.manifests, way=way, world=world)  # some time has passed since the look
    await _forget(ids, world, step)
    for machine in planes:
        wanted = await config_release.without(machine, task.manifests, way=way, world=world)
        if wanted is None:
            continue
        begun.append(machine)
        try:
            await way.admin.apply_config(way.at(machine), wanted, mode="no-reboot")
        except talosctl.Rejected as error:
            raise errors.Refused(f"{machine.name} does not take its config without a reboot: {error.detail}") from error
        await settle(machine, way, config=wanted)  # etcd does not hear of manifests
        world.tell(step, f"{machine.name}: its config is without {', '.join(task.manifests)}")
        await _forget(ids, world, step)
    for machine in begun:
        await _has_run(machine, task.manifests, way)
        await _forget(ids, world, step)


async def _forget(ids: Collection[ObjectId], world: World, step: str) -> None:
    if gone := await talos_inventory.forget(ids, world.kube, manager=MANAGER):
        world.tell(step, f"{_objects(gone)} taken out of the inventory")


async def _finish(task: Release, world: World, step: str, *, extra: Mapping[ObjectId, str]) -> None:
    """Take Talos's marks from the objects, and look at everything once more."""
    for each in task.passing:
        await unmarking.unmark(each.id, str(each.object.value["apiVersion"]), world.kube, manager=each.manager)
    for id, version in extra.items():
        await unmarking.unmark(id, version, world.kube, manager=MANAGER, with_fields=False)
    await _require_done(task, [*extra], world, step)


async def _has_run(machine: Machine, manifests: Collection[str], way: Way, *, timeout: float = PASS) -> None:
    """Wait until a machine has run its manifests as they are now: no earlier pass of it can write keys after that."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        applied = {
            each.partition("-")[2]
            for status in await way.admin.manifest_statuses(way.at(machine))
            for each in status.spec.manifests_applied
        }
        if not applied & {*manifests}:
            return
        await asyncio.sleep(POLL)


async def _require_done(task: Release, extra: Sequence[ObjectId], world: World, step: str) -> None:
    """Look at everything once more, and at what an upgrade would do now.

    Raises:
        errors.TimedOut: Something is left, or has come back; another look finds it.
        errors.Refused: An upgrade would delete or write something of it.
    """
    ids = [each.id for each in task.passing]
    state = await talos_state(task.control_planes, task.manifests, ids, world, beside=extra)
    after = await upgrade_preview.of(task.control_planes, [*ids, *extra], state=state, world=world)
    world.tell(step, f"after the release: {after}")
    if after.deleted:
        raise errors.Refused(
            f"{after}, although it was released",
            hint=f"{WARNING}. firstlight verify tells what Talos still has.",
        )
    if written := [each for each in after.written if each not in extra]:
        named = ", ".join(map(str, written[:_SHOWN]))
        more = f" and {len(written) - _SHOWN} more" if len(written) > _SHOWN else ""
        raise errors.Refused(
            f"talosctl upgrade-k8s would write {named}{more}, although it was released",
            hint="A manifest of another name brings it: talosctl get manifests shows those of a machine.",
        )
    if not state.is_released:
        raise errors.TimedOut(f"Talos has not let go of everything: {state.left[0]}", target="Talos")


def _objects(several: Collection[object]) -> str:
    return f"{len(several)} object{'s' if len(several) > 1 else ''}"
