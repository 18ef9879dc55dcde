"""What the next ``talosctl upgrade-k8s`` would do to some objects, told by its own dry run."""

import dataclasses
import re
from collections.abc import Collection, Sequence

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.document.within import text
from firstlight.execute import cluster_access, machine_configs
from firstlight.execute.handover import talos_inventory
from firstlight.execute.handover.talos_state import TalosState
from firstlight.execute.world import World
from firstlight.model import versions
from firstlight.model.cluster import Machine
from firstlight.model.component import ObjectId
from firstlight.model.upgrade_plan import KubernetesUpgrade
from firstlight.observe.machine_survey import MachineAccess

TIMEOUT = 120.0
"""Seconds; every object of all manifests is tried."""
SHOWN = 3
_SUBJECT = re.compile(r"(?:[^/]*/)?(?:[^/]*\.)?(?P<kind>[A-Z]\w*)/(?:(?P<namespace>[^/]+)/)?(?P<name>[^/]+)")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class UpgradePreview:
    """What it would do."""

    written: tuple[ObjectId, ...] = ()
    deleted: tuple[ObjectId, ...] = ()
    besides: tuple[str, ...] = ()
    """What else it would delete, as it names it: objects of manifests that are gone, and of no engine."""
    unknown: str = ""
    """Why it does not say; empty where it does."""

    def __str__(self) -> str:
        if self.unknown:
            return f"what talosctl upgrade-k8s would do is not known: {self.unknown}"
        done = [f"{verb} {_named(ids)}" for verb, ids in (("write", self.written), ("delete", self.deleted)) if ids]
        if self.besides:
            done.append(f"delete {_first(self.besides)}, which is Talos's own")
        return f"talosctl upgrade-k8s would {' and '.join(done) or 'touch nothing'}"


async def of(
    control_planes: Sequence[Machine], ids: Collection[ObjectId], *, state: TalosState, world: World
) -> UpgradePreview:
    """What an upgrade would do to objects, told by the first control plane that can be asked.

    Args:
        control_planes: Every one that is declared.
        ids: The objects of interest; those of an engine that Talos has besides are as well.
        state: What Talos has; a machine in maintenance mode, or one that is silent, is not asked.
        world: The run.

    Raises:
        errors.ClientError: The API does not answer.
    """
    asked = next((each for each in control_planes if each.name in state.configs and each.name not in state.bare), None)
    if asked is None:
        return UpgradePreview(unknown="no control plane can be asked")
    way = await cluster_access.ensure(world)
    every = [*dict.fromkeys((*ids, *state.besides))]
    return await preview(asked, every, way=way, world=world, has_inventory=state.has_inventory)


async def preview(
    machine: Machine, ids: Collection[ObjectId], *, way: MachineAccess, world: World, has_inventory: bool
) -> UpgradePreview:
    """What an upgrade to the version that runs would do to objects: that only brings Talos's manifests into force.

    Args:
        machine: The control plane that is asked; its manifests are taken.
        ids: The objects of interest.
        way: How machines are reached.
        world: The run.
        has_inventory: Whether there is one: from Talos 1.13 on even a dry run would make it.

    Raises:
        errors.ClientError: The API does not answer.
    """
    try:
        version = await _kubernetes(machine, way, world)
        talos = versions.minor(versions.release((await way.admin.version(way.at(machine))).tag))
        if not has_inventory and (talos is None or talos >= (1, 13)):
            return UpgradePreview(unknown="Talos has no inventory")
        done = await way.admin.upgrade_k8s(
            way.at(machine), to=version, dry_run=True, endpoint=world.reach.kubernetes, kubelets=False,
            pull_first=False, timeout=TIMEOUT,
        )  # fmt: skip
    except talosctl.TalosError as error:
        return UpgradePreview(unknown=error.detail)
    except errors.UsageError as error:
        return UpgradePreview(unknown=error.message)
    return read(done, ids, await talos_inventory.cluster_wide(world.kube))


def read(upgrade: KubernetesUpgrade, ids: Collection[ObjectId], wide: Collection[tuple[str, str]]) -> UpgradePreview:
    """What an upgrade that was tried says of some objects.

    Args:
        upgrade: What it said.
        ids: The objects of interest.
        wide: Groups and kinds that are in no namespace.
    """
    known = {(each.kind, each.namespace, each.name): each for each in (talos_inventory.placed(id, wide) for id in ids)}
    found: dict[bool, list[ObjectId]] = {True: [], False: []}
    besides = []
    for change in upgrade.manifests:
        match = _SUBJECT.fullmatch(change.subject)
        # A manifest that names no namespace means the default one, where its kind is in one.
        places = ([match["namespace"]] if match["namespace"] else ["", "default"]) if match is not None else []
        those = [id for each in places if match and (id := known.get((match["kind"], each, match["name"])))]
        if change.action != "unchanged":
            found[change.action == "pruned"] += those
        if change.action == "pruned" and not those:
            besides.append(change.subject)
    return UpgradePreview(written=tuple(found[False]), deleted=tuple(found[True]), besides=tuple(besides))


async def _kubernetes(machine: Machine, way: MachineAccess, world: World) -> str:
    """The version that the machine's config has: that it is what runs makes an upgrade one of manifests alone."""
    for document in machine_configs.documents(await way.admin.machine_config(way.at(machine))):
        is_apart = document.get("kind") == "KubeAPIServerConfig"
        image = text(document, "image") if is_apart else text(document, "cluster", "apiServer", "image")
        if found := versions.release_of_image(image):
            return found
    return versions.release(str((await world.kube.version()).get("gitVersion") or "")) or "unknown"


def _named(ids: Collection[ObjectId]) -> str:
    return _first([str(each) for each in ids])


def _first(names: Sequence[str]) -> str:
    first = ", ".join(names[:SHOWN])
    return f"{first} and {len(names) - SHOWN} more" if len(names) > SHOWN else first
