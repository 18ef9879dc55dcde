"""``firstlight node reset``: a machine leaves its cluster and boots into maintenance mode, bare."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight.cli import node_departing, which_repo

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.execute.world import World
    from firstlight.model.cluster import Machine
    from firstlight.model.node_departure import Wipe


@click.command()
@node_departing.options
def reset(
    machine: str, cluster: str, wipe: "Wipe", dry_run: bool, yes: bool, scratch: bool, force: bool,
    accept_storage: bool, timeout: float, root: Path | None, form: "Form",
) -> int:  # fmt: skip
    """Let a machine leave its cluster, wipe it, and boot it into maintenance mode. What is on it is lost.

    It is drained and leaves etcd first, unless etcd would lose its quorum; its node is deleted. Killed, and run again,
    it goes on. firstlight node add brings it back.
    """
    from firstlight.model.draining import Drain
    from firstlight.operate.node import choosing
    from firstlight.operate.node.removing import Wishes

    platform = which_repo.platform(root)
    one, found = choosing.machine_of(platform, machine, cluster=cluster)
    wishes = Wishes(
        command="node reset", wipe=wipe, timeout=timeout, is_storage_accepted=accept_storage,
        drain=Drain(may_lose_scratch=scratch, is_forced=force),
    )  # fmt: skip

    async def find(world: "World") -> "Machine":
        return found

    return node_departing.run(platform, one, find, wishes, is_dry_run=dry_run, yes=yes, form=form)
