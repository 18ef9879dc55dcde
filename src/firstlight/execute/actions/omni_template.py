"""Gives Omni a cluster template, if it would change anything there. What Omni does then is not rehearsed."""

from collections.abc import Iterator, Mapping, Sequence

from firstlight.execute import cluster_access
from firstlight.execute.world import PendingChange, World
from firstlight.model.omni_status import OmniVerb, ResourceChange, ResourceFieldChange
from firstlight.model.work import SyncTemplate

NOT_REHEARSED = "Omni: not rehearsed; it configures machines and bootstraps etcd by itself"

_KINDS = {
    "Clusters": "cluster",
    "MachineSets": "machine set",
    "MachineSetNodes": "machine",
    "ConfigPatches": "config patch",
    "ExtensionsConfigurations": "extensions",
    "KernelArgs": "kernel arguments",
}
_VERSIONS = {"kubernetesversion": "Kubernetes", "talosversion": "Talos"}
_REBOOTING = frozenset({"ConfigPatches", "ExtensionsConfigurations", "KernelArgs"})


async def look(task: SyncTemplate, world: World, step: str) -> PendingChange | None:
    """What a sync would change in Omni.

    Raises:
        errors.Refused: It is another cluster than before.
        errors.ClientError: omnictl refuses the template, or Omni does not answer.
    """
    world.tell(step, NOT_REHEARSED)
    omni = cluster_access.omnictl_program(world)
    await omni.validate(task.template, directory=task.directory)
    await cluster_access.check_omni_id(task.cluster, world)
    changes = await omni.diff(task.template, directory=task.directory)
    if not changes:
        return None
    names = {each.id: each.name for each in world.cluster.machines if each.id}

    async def perform() -> None:
        await omni.sync(task.template, directory=task.directory)
        world.tell(step, "Omni has the template, and goes on by itself")

    return PendingChange(
        writes=tuple(f"{each.verb} the {_named(each, names)} in Omni" for each in changes),
        perform=perform,
        danger="; ".join(dangers(changes, names)),
    )


def dangers(changes: Sequence[ResourceChange], names: Mapping[str, str]) -> Iterator[str]:
    """What of a sync cannot be undone, or takes something down."""
    for each in changes:
        if each.verb is OmniVerb.REMOVE and each.kind in ("Clusters", "MachineSets", "MachineSetNodes"):
            yield f"Omni removes the {_named(each, names)}, and wipes what was installed"
        elif each.verb is OmniVerb.UPDATE:
            yield from _turned(each)
    is_new = any(each.verb is OmniVerb.CREATE and each.kind == "Clusters" for each in changes)
    if not is_new and (others := [each for each in changes if each.kind in _REBOOTING]):
        patches = ", ".join(_named(each, names) for each in others[:3])
        more = f" and {len(others) - 3} more" if len(others) > 3 else ""
        yield f"Omni may reboot machines, one after the other, for the {patches}{more}"


def _turned(change: ResourceChange) -> Iterator[str]:
    for turn in change.turns:
        if turn.field in _VERSIONS:
            yield f"{_VERSIONS[turn.field]} {turn.was} becomes {turn.becomes}: Omni upgrades machine by machine"
    sizes = [each for each in change.turns if each.field not in _VERSIONS]
    if change.kind == "MachineSets" and any(_shrinks(each) for each in sizes):
        how = ", ".join(f"{each.was or 'none'} becomes {each.becomes or 'none'}" for each in sizes)
        yield f"Omni may remove machines from the set {change.id} ({how})"


def _shrinks(turn: ResourceFieldChange) -> bool:
    """Whether a set may lose machines; one that takes machines in another way may, too."""
    if turn.field == "machinecount" and turn.was.isdecimal() and turn.becomes.isdecimal():
        return int(turn.becomes) < int(turn.was)
    return bool(turn.was)


def _named(change: ResourceChange, names: Mapping[str, str]) -> str:
    return f"{_KINDS.get(change.kind, change.kind)} {names.get(change.id, change.id)}"
