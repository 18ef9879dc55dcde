"""Makes Talos forget what the engine owns: its inventory, the configs of all control planes, its marks on objects.

The order keeps ``talosctl upgrade-k8s`` from deleting anything, wherever the release is cut short. What is in the
inventory and not in the manifests of the machine that it asks is deleted, the CNI too. So the keys go first, while all
configs still have the manifest: who upgrades then brings bootstrap's values back until the engine reconciles, and
deletes nothing. Then the configs, one machine after the other; a machine that runs its manifests meanwhile may put
keys back, so that they are looked for after each. Talos's own procedure begins with the configs, and until its next
step everything is in danger. Last come annotation and managers, which neither keep nor delete anything.

Keys without a manifest, which somebody left who took it out of the configs by hand, are what is repaired first.
"""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import cluster_keys, config_manifests, machine_configs
from firstlight.execute.change import Change
from firstlight.execute.handing import provisional, release_checks, releasing, talos_inventory, unmarking
from firstlight.execute.handing.releasing import TalosState, talos_state
from firstlight.execute.handing.upgrade_preview import Preview, preview
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


async def look(task: Release, world: World, step: str) -> Change | None:
    """What Talos still has of it.

    Raises:
        errors.Refused: The engine does not have all of it, a control plane does not answer or is not declared, or a
            manifest brings more than passes; nothing was written.
    """
    ids = [each.id for each in task.passing]
    state = await _seen(task, ids, world)
    if state.is_released:
        return None
    if state.doomed:
        world.tell(step, f"the next upgrade-k8s deletes what was taken out of configs too early: {state.left[0]}")
    await release_checks.require_owned(task.passing, world)
    release_checks.require_answers(state)
    await release_checks.require_declared(task.control_planes, world)
    extra = await release_checks.require_nothing_else(state, ids, world)
    way = await cluster_keys.ensure(world)
    world.tell(step, f"before the release: {await _previewed(task, [*ids, *extra], state, way=way, world=world)}")
    for name, why in task.kept.items():
        world.tell(step, f"{name} stays with Talos: {why}; every upgrade-k8s makes it what its manifest says")

    async def perform() -> None:
        await provisional.require(task.passing, world, step=step)
        await _release(task, world, step, way=way, bare=state.bare, extra=extra)

    return Change(writes=_writes(state), perform=perform)


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


async def _release(
    task: Release, world: World, step: str, *, way: Way, bare: Collection[str], extra: Mapping[ObjectId, str]
) -> None:
    # A machine in maintenance mode has nothing, and gets what all of the others have.
    planes = [each for each in task.control_planes if each.name not in bare]
    ids = [*(each.id for each in task.passing), *extra]

    async def forget() -> None:
        if gone := await talos_inventory.forget(ids, world.kube, manager=MANAGER):
            world.tell(step, f"{_objects(gone)} taken out of the inventory")

    await forget()
    changed = []
    for machine in planes:
        if await _reconfigured(machine, task.manifests, way=way, world=world):
            world.tell(step, f"{machine.name}: its config is without {', '.join(task.manifests)}")
            changed.append(machine)
            await forget()
    for machine in changed:
        await _has_run(machine, task.manifests, way)
        await forget()
    for each in task.passing:
        await unmarking.unmark(each.id, str(each.object.value["apiVersion"]), world.kube, manager=each.manager)
    for id, version in extra.items():
        await unmarking.unmark(id, version, world.kube, manager=MANAGER, with_fields=False)
    await _require_done(task, ids, world, step, way=way)


async def _reconfigured(machine: Machine, manifests: Collection[str], *, way: Way, world: World) -> bool:
    """Take manifests out of one machine's config without a reboot, and wait until it is well; whether there were any.

    Raises:
        errors.Refused: A reboot would be needed, or a config waits for one.
    """
    found = await releasing.configs(machine, way)
    if not any(machine_configs.manifests(each).names & {*manifests} for each in found.values()):
        return False
    config = found[releasing.IN_FORCE]
    if any(machine_configs.documents(each) != machine_configs.documents(config) for each in found.values()):
        raise errors.Refused(
            f"{machine.name} has a config that waits for its next reboot, which would be lost",
            hint=f"Reboot it first: talosctl reboot --nodes {machine.address}",
        )
    held = machine_configs.manifests(config)
    rest = config_manifests.kept(held, held.names - {*manifests})
    wanted = await machine_configs.listing(config, rest, world)
    try:
        await way.admin.apply_config(way.at(machine), wanted, mode="no-reboot")
    except talosctl.Rejected as error:
        raise errors.Refused(f"{machine.name} does not take its config without a reboot: {error.detail}") from error
    await settle(machine, way, config=wanted)  # etcd does not hear of manifests
    return True


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


async def _require_done(task: Release, ids: Sequence[ObjectId], world: World, step: str, *, way: Way) -> None:
    """Look at everything once more, and at what an upgrade would do now.

    Raises:
        errors.TimedOut: Something is left, or has come back; another look finds it.
        errors.Refused: An upgrade would delete something of it.
    """
    state = await talos_state(task.control_planes, task.manifests, ids, world)
    after = await _previewed(task, ids, state, way=way, world=world)
    world.tell(step, f"after the release: {after}")
    if after.deleted:
        raise errors.Refused(
            f"{after}, although it was released",
            hint="Do not upgrade Kubernetes now; firstlight verify tells what Talos still has.",
        )
    if not state.is_released:
        raise errors.TimedOut(f"Talos has not let go of everything: {state.left[0]}", target="Talos")


async def _previewed(task: Release, ids: Collection[ObjectId], state: TalosState, *, way: Way, world: World) -> Preview:
    first = next(each for each in task.control_planes if each.name not in state.bare)
    return await preview(first, ids, way=way, world=world, has_inventory=state.has_inventory)


def _objects(several: Collection[object]) -> str:
    return f"{len(several)} object{'s' if len(several) > 1 else ''}"
