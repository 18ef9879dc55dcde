"""``firstlight down``: the machines of a test cluster wiped, after its name was typed."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import which_repo

if TYPE_CHECKING:
    from firstlight.model.platform import Platform


@click.command()
@click.argument("cluster")
@click.option("--confirm", default="", metavar="CLUSTER", help="The cluster's name once more, instead of typing it.")
@which_repo.option
def down(cluster: str, confirm: str, root: Path | None) -> int:
    """Wipe the machines of a test cluster, so that they boot into maintenance mode. All data on them is lost.

    Only machines that run with this cluster's own keys are touched.
    """
    return asyncio.run(_down(which_repo.platform(root), cluster, confirm))


async def _down(platform: "Platform", name: str, confirm: str) -> int:
    from firstlight.cli import own_means
    from firstlight.operate import down as operating
    from firstlight.operate import up
    from firstlight.report import safe

    means = await own_means.means(platform, keep=False)
    try:
        found = await operating.find(up.cluster_of(platform, name), means)
    finally:
        await means.close()
    for each in found.left:
        print(safe.text(f"  {each.machine.name:16} left alone: {each.standing}{f', {each.why}' if each.why else ''}"))
    for machine in found.ours:
        print(safe.text(f"  {machine.name:16} {machine.address:16} will be wiped: config, etcd, everything on it"))
    if not found.ours:
        print("there is nothing to wipe")
        return 0
    _confirmed(name, confirm)
    await operating.take_down(found, means, tell=lambda text: print(f"  {safe.text(text)}", flush=True))
    print(f"{len(found.ours)} machines are bare again; next: firstlight up {safe.text(found.cluster.name)}")
    return 0


def _confirmed(name: str, given: str) -> None:
    if not given and sys.stdin.isatty():
        given = click.prompt(f"Type the name of the cluster to wipe {name}'s machines", default="", show_default=False)
    if given != name:
        raise errors.Refused("not confirmed: nothing was wiped", hint=f"Type the name, or give --confirm {name}.")
