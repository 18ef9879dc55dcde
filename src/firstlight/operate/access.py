"""The ways to a cluster and to its machines, kept as soon as its API was reached: a run that waits leaves them, too."""

import datetime
from collections.abc import Callable

from firstlight import errors
from firstlight.execute import user_files
from firstlight.execute.world import World
from firstlight.operate.means import Means


def keeping(world: World, means: Means, *, tell: Callable[[str], None]) -> Callable[[], None]:
    """What keeps them, once in a run, however often it is called.

    Args:
        world: The run, which knows them once the API was reached and is this cluster's.
        means: Where they are kept.
        tell: Told where they cannot be.
    """
    is_done = False

    def keep() -> None:
        nonlocal is_done
        if not is_done:
            is_done = True
            _keep(world, means, tell)

    return keep


def _keep(world: World, means: Means, tell: Callable[[str], None]) -> None:
    """Beside the journal, and where the user has asked for them."""
    own = means.state / world.cluster.name
    now = datetime.datetime.fromtimestamp(means.now(), datetime.UTC)
    for kubeconfig, talosconfig in filter(None, [(own / "kubeconfig", own / "talosconfig"), means.merged_into]):
        # What Omni gives a person runs a program; none is run from a file that lies in the repo's directory.
        is_of_use = kubeconfig.parent != own or not world.is_exec
        try:
            if kubeconfig.parent == own:
                # Of the cluster that had this name before: that one is gone, or would have been refused.
                kubeconfig.unlink(missing_ok=True)
                talosconfig.unlink(missing_ok=True)
            if world.kubeconfig is not None and is_of_use:
                user_files.merge_kubeconfig(kubeconfig, world.kubeconfig, now=now)
            if world.talosconfig is not None:
                user_files.merge_talosconfig(talosconfig, world.talosconfig, now=now)
        except errors.FirstlightError as error:
            tell(f"access is not kept: {error.message}")
        except OSError as error:
            tell(f"access is not kept: {kubeconfig.parent}: {error.strerror or error}")
