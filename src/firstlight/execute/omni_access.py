"""A cluster of Omni for one run: the program that talks to Omni, and the ways in that it gives."""

from firstlight import errors
from firstlight.clients import omnictl
from firstlight.execute import identity
from firstlight.execute.world import World
from firstlight.model.secret import Secret


def program(world: World) -> omnictl.Omnictl:
    """Omnictl, as the user has it.

    Raises:
        errors.ToolError: It is not there.
    """
    if world.programs.omnictl is None:
        raise errors.ToolError("omnictl is needed for clusters of Omni", hint="firstlight tools install omnictl")
    return omnictl.Omnictl(world.programs.omnictl)


async def check_id(cluster: str, world: World) -> str:
    """The id of the cluster in Omni, empty if it has none of that name.

    Raises:
        errors.Refused: It is another one than before, or is gone: another Omni may answer.
    """
    try:
        found = await program(world).cluster_id(cluster)
    except omnictl.NotFound:
        found = ""
    identity.check_omni(world, found)
    return found


async def fetch(cluster: str, world: World) -> Secret:
    """The kubeconfig, from the cluster that it was before; the talosconfig comes along.

    Raises:
        errors.Refused: It is another cluster, or Omni has none of that name.
    """
    id = await check_id(cluster, world)
    if not id:
        raise errors.Refused(
            f"Omni has no cluster {cluster}", hint="omnictl get clusters lists those that this account may see."
        )
    omni = program(world)
    kubeconfig = await omni.kubeconfig(cluster, service_account=omni.has_service_account)
    world.talosconfig = await omni.talosconfig(cluster)
    identity.keep_omni(world, id)
    return kubeconfig
