"""Machine configs without the manifests that are released, and whether machines take them.

Who has written one config and is refused by the next machine leaves a cluster where ``talosctl upgrade-k8s`` deletes
what was released, as soon as that machine boots. So all machines are asked before the first one is written.
"""

from collections.abc import Collection, Iterable

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import config_manifests, machine_configs
from firstlight.execute.handing import releasing
from firstlight.execute.world import World
from firstlight.model.cluster import Machine
from firstlight.model.secret import Secret
from firstlight.observe.machines import Way


async def require(machines: Iterable[Machine], manifests: Collection[str], *, way: Way, world: World) -> None:
    """Every machine must take its config without the manifests, as it is now; nothing is written.

    Raises:
        errors.Refused: One does not.
        talosctl.TalosError: One does not answer.
    """
    for machine in machines:
        await without(machine, manifests, way=way, world=world)


async def without(machine: Machine, manifests: Collection[str], *, way: Way, world: World) -> Secret | None:
    """A machine's config without manifests, which it says that it would take at once; None if it lists none of them.

    Raises:
        errors.Refused: A reboot would be needed, or a config waits for one.
        talosctl.TalosError: The machine does not answer.
    """
    found = await releasing.configs(machine, way)
    if not any(machine_configs.manifests(each).names & {*manifests} for each in found.values()):
        return None
    config = found[releasing.IN_FORCE]
    if any(machine_configs.documents(each) != machine_configs.documents(config) for each in found.values()):
        raise errors.Refused(
            f"{machine.name} has a config that waits for its next reboot, which would be lost",
            hint=f"Reboot it: talosctl reboot --nodes {machine.address}. Then run firstlight again.",
        )
    held = machine_configs.manifests(config)
    rest = config_manifests.kept(held, held.names - {*manifests})
    wanted = await machine_configs.listing(config, rest, world)
    try:
        await way.admin.apply_config(way.at(machine), wanted, mode="no-reboot", dry_run=True)
    except talosctl.Rejected as error:
        raise errors.Refused(f"{machine.name} does not take its config without a reboot: {error.detail}") from error
    return wanted
