"""A kubeconfig or talosconfig that was lost, made again from the Talos secrets."""

import datetime
from collections.abc import Callable
from pathlib import Path

from firstlight import errors
from firstlight.execute import user_files
from firstlight.journal import directory
from firstlight.model.cluster import Cluster
from firstlight.operate import access, reaching
from firstlight.operate.means import Means


async def kubeconfig(cluster: Cluster, means: Means, *, tell: Callable[[str], None]) -> tuple[Path, ...]:
    """Fetch a kubeconfig, and keep it with the talosconfig where ``up`` does; the API need not answer.

    Raises:
        errors.Refused: There are no keys, or the machines are of another cluster.
        errors.Unreachable: No control plane gives one.
    """
    async with reaching.reached(cluster, means, is_api_needed=False) as world:
        if world.kubeconfig is None:
            raise errors.Unreachable(
                f"no control plane of {cluster.name} gives a kubeconfig",
                hint=f"See what is wrong with them: firstlight recover {cluster.name}",
            )
        access.keeping(world, means, tell=tell)()
    return _written(means.state / cluster.name, "kubeconfig", "talosconfig")


async def talosconfig(cluster: Cluster, means: Means) -> tuple[Path, ...]:
    """Make a talosconfig; no machine need answer.

    Raises:
        errors.Refused: There are no keys, or an entry of the same name is another cluster's.
    """
    async with reaching.unconnected(cluster, means) as world:
        found = (await reaching.way(world)).talosconfig
    own = means.state / cluster.name / "talosconfig"
    directory.check(own)
    own.unlink(missing_ok=True)
    now = datetime.datetime.fromtimestamp(means.now(), datetime.UTC)
    for path in (own, *([means.merged_into[1]] if means.merged_into else [])):
        user_files.merge_talosconfig(path, found, now=now)
    return _written(own.parent, "talosconfig")


def _written(folder: Path, *names: str) -> tuple[Path, ...]:
    return tuple(folder / each for each in names if (folder / each).is_file())
