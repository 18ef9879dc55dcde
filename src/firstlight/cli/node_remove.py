"""``firstlight node remove``: a machine is gone from its cluster, whether it answers or not."""

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
def remove(
    machine: str, cluster: str, wipe: "Wipe", dry_run: bool, yes: bool, scratch: bool, force: bool,
    accept_storage: bool, timeout: float, root: Path | None, form: "Form",
) -> int:  # fmt: skip
    """Take a machine out of its cluster: wiped if it answers, its member of etcd and its node gone.

    Refused where etcd would lose its quorum. What in the repo still declares it is said. Killed, and run again, it
    goes on; also where the repo does not declare the machine any more.
    """
    from firstlight.model.draining import Drain
    from firstlight.operate import up as operating
    from firstlight.operate.node import choosing, removing_survey
    from firstlight.operate.node.removing import Wishes

    platform = which_repo.platform(root)
    is_declared = any(each.name == machine for one in platform.clusters for each in one.machines)
    if is_declared:
        one, _ = choosing.machine_of(platform, machine, cluster=cluster)
    else:
        one = operating.cluster_of(platform, cluster)
        choosing.refuse_omni(one)
    wishes = Wishes(
        command="node remove", wipe=wipe, timeout=timeout, is_storage_accepted=accept_storage,
        drain=Drain(may_lose_scratch=scratch, is_forced=force),
    )  # fmt: skip

    async def find(world: "World") -> "Machine":
        """As it is declared, else as its node or its member of etcd tells."""
        declared = next((each for each in one.machines if each.name == machine), None)
        return declared if declared is not None else await removing_survey.undeclared(machine, world)

    return node_departing.run(platform, one, find, wishes, is_dry_run=dry_run, yes=yes, form=form)
