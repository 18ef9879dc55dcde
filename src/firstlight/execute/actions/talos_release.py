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
import dataclasses
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.drawing import certificate_text
from firstlight.execute import cluster_access, machine_configs
from firstlight.execute.gate_wait import POLL, settle
from firstlight.execute.handover import certificate_store, release_checks, talos_inventory, upgrade_preview
from firstlight.execute.handover import talos_state as handover_talos_state
from firstlight.execute.handover.certification import certify
from firstlight.execute.handover.talos_state import TalosState, talos_state
from firstlight.execute.world import PendingChange, World
from firstlight.model.certificate import OF_THE_MOMENT, Certificate, CertificateStage
from firstlight.model.cluster import Machine
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.secret import Secret
from firstlight.model.work import Certify, ReleaseFromTalos
from firstlight.observe.machine_survey import MachineAccess

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


async def look(task: ReleaseFromTalos, world: World, step: str) -> PendingChange | None:
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
                await require_provisional(task.passing, world, step=step)
            await _take_out(task, world, step, bare=state.bare, extra=extra, begun=begun)
        await _finish(task, world, step, extra=extra)

    return PendingChange(writes=_writes(state), perform=perform)


async def _checked(task: ReleaseFromTalos, state: TalosState, world: World) -> dict[ObjectId, str]:
    """Everything that may refuse; the apiVersions of what Talos has besides and an engine owns."""
    await release_checks.require_owned(task.passing, world)
    release_checks.require_answers(state)
    release_checks.require_declared(state)
    release_checks.require_no_other(state, task.control_planes)
    extra = await release_checks.require_nothing_else(state, [each.id for each in task.passing], world)
    way = await cluster_access.ensure(world)
    await require_accepted(_planes(task, state.bare), task.manifests, way=way, world=world)
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


async def _seen(task: ReleaseFromTalos, ids: Collection[ObjectId], world: World) -> TalosState:
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


def _planes(task: ReleaseFromTalos, bare: Collection[str]) -> list[Machine]:
    """A machine in maintenance mode has nothing, and gets what all of the others have."""
    return [each for each in task.control_planes if each.name not in bare]


async def _take_out(
    task: ReleaseFromTalos,
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
    way = await cluster_access.ensure(world)
    await require_accepted(planes, task.manifests, way=way, world=world)  # some time has passed since the look
    await _forget(ids, world, step)
    for machine in planes:
        wanted = await config_without(machine, task.manifests, way=way, world=world)
        if wanted is None:
            continue
        begun.append(machine)
        try:
            await way.admin.apply_config(way.at(machine), wanted, mode="no-reboot")
        except talosctl.TalosRejected as error:
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


async def _finish(task: ReleaseFromTalos, world: World, step: str, *, extra: Mapping[ObjectId, str]) -> None:
    """Take Talos's marks from the objects, and look at everything once more."""
    for each in task.passing:
        await talos_inventory.unmark(each.id, str(each.object.value["apiVersion"]), world.kube, manager=each.manager)
    for id, version in extra.items():
        await talos_inventory.unmark(id, version, world.kube, manager=MANAGER, with_fields=False)
    await _require_done(task, [*extra], world, step)


async def _has_run(machine: Machine, manifests: Collection[str], way: MachineAccess, *, timeout: float = PASS) -> None:
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


async def _require_done(task: ReleaseFromTalos, extra: Sequence[ObjectId], world: World, step: str) -> None:
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


# Machine configs without the manifests that are released, and whether machines take them.
#
# Who has written one config and is refused by the next machine leaves a cluster where ``talosctl upgrade-k8s`` deletes
# what was released, as soon as that machine boots. So all machines are asked before the first one is written.


async def require_accepted(
    machines: Iterable[Machine], manifests: Collection[str], *, way: MachineAccess, world: World
) -> None:
    """Every machine must take its config without the manifests, as it is now; nothing is written.

    Raises:
        errors.Refused: One does not.
        talosctl.TalosError: One does not answer.
    """
    for machine in machines:
        await config_without(machine, manifests, way=way, world=world)


async def config_without(
    machine: Machine, manifests: Collection[str], *, way: MachineAccess, world: World
) -> Secret | None:
    """A machine's config without manifests, which it says that it would take at once; None if it lists none of them.

    Raises:
        errors.Refused: A reboot would be needed, or a config waits for one.
        talosctl.TalosError: The machine does not answer.
    """
    found = await handover_talos_state.configs(machine, way)
    if not any(machine_configs.manifests(each).names & {*manifests} for each in found.values()):
        return None
    config = found[handover_talos_state.IN_FORCE]
    if any(machine_configs.documents(each) != machine_configs.documents(config) for each in found.values()):
        raise errors.Refused(
            f"{machine.name} has a config that waits for its next reboot, which would be lost",
            hint=f"Reboot it: talosctl reboot --nodes {machine.address}. Then run firstlight again.",
        )
    held = machine_configs.manifests(config)
    rest = machine_configs.kept_manifests(held, held.names - {*manifests})
    wanted = await machine_configs.listing(config, rest, world)
    try:
        await way.admin.apply_config(way.at(machine), wanted, mode="no-reboot", dry_run=True)
    except talosctl.TalosRejected as error:
        raise errors.Refused(f"{machine.name} does not take its config without a reboot: {error.detail}") from error
    return wanted


# The provisional certificate: before Talos lets go of anything, the engine must be proven to hold it.


async def require_provisional(passing: Sequence[Passing], world: World, *, step: str = "") -> Certificate:
    """Prove that the engine holds objects, and keep that in a file; called before Talos is touched.

    That pods were replaced on the way does not stop a release, which replaces none; the final certificate tells.

    Args:
        passing: What Talos is to release.
        world: The run.
        step: Who is told what is waited for.

    Raises:
        errors.Refused: The engine does not hold all of it.
        errors.ClientError: The API does not answer.
    """
    made = await certify(Certify(passing=tuple(passing)), world, stage=CertificateStage.PROVISIONAL, step=step)
    path = certificate_store.keep_provisional(made, world.state / world.cluster.name)
    if failures := certificate_text.failures(_lasting(made)):
        more = f"; and {len(failures) - _SHOWN} more" if len(failures) > _SHOWN else ""
        raise errors.Refused(
            f"Talos keeps everything, since the engine does not hold it: {'; '.join(failures[:_SHOWN])}{more}",
            hint=f"Everything that was seen is in {path}. Who owns what: firstlight owners {world.cluster.name}",
        )
    return made


def _lasting(certificate: Certificate) -> Certificate:
    """With nothing but what must be so now."""
    objects = [
        dataclasses.replace(each, proofs=tuple(one for one in each.proofs if one.claim not in OF_THE_MOMENT))
        for each in certificate.objects
    ]
    return dataclasses.replace(certificate, objects=tuple(objects))
