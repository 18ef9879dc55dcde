"""``firstlight node add``: a machine that the repo declares joins its cluster."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import duration, output, which_repo

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.model.cluster import Cluster, Machine
    from firstlight.model.platform import Platform
    from firstlight.operate.means import Means


@click.command()
@click.argument("machine")
@click.option("--cluster", default="", help="Of which cluster, where several have one of that name.")
@click.option("--pin", default="", metavar="FINGERPRINT", help="The certificate that its console shows.")
@click.option("--dry-run", is_flag=True, help="Look at everything, say what would be written, write nothing.")
@click.option(
    "--timeout", type=duration.SECONDS, default="30m", show_default=True, help="How long it may take to join."
)
@which_repo.option
@output.option
def add(machine: str, cluster: str, pin: str, dry_run: bool, timeout: float, root: Path | None, form: "Form") -> int:
    """Add a machine to a cluster that lives. It is declared in the repo, and waits in maintenance mode.

    It is configured as the others are, joins, is labelled and verified; nothing is ever bootstrapped. Run again it goes
    on, and does nothing where the machine is in the cluster already.
    """
    platform = which_repo.platform(root)
    one, found = _declared(platform, machine, cluster)

    async def run() -> int:
        from firstlight.cli import own_means

        pins = {machine: pin} if pin else {}
        means = await own_means.means(platform, fingerprints=pins, keep=False)
        try:
            return await _added(platform, one, found, means, is_dry_run=dry_run, timeout=timeout, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


def _declared(platform: "Platform", name: str, cluster: str) -> "tuple[Cluster, Machine]":
    from firstlight.operate import up as operating
    from firstlight.operate.node import adding, choosing

    if not any(each.name == name for one in platform.clusters for each in one.machines):
        one = operating.cluster_of(platform, cluster)
        choosing.refuse_omni(one)
        raise errors.UsageError(f"the repo declares no machine {name[:63]!r}", hint=adding.how_to_declare(one, name))
    return choosing.machine_of(platform, name, cluster=cluster)


async def _added(
    platform: "Platform", cluster: "Cluster", machine: "Machine", means: "Means", *, is_dry_run: bool, timeout: float,
    form: "Form",
) -> int:  # fmt: skip
    from firstlight.cli import up
    from firstlight.cli.walked import walked
    from firstlight.operate import reaching
    from firstlight.operate.node import adding
    from firstlight.operate.walk import Walk

    walk = Walk(
        cluster=cluster, command=adding.COMMAND, again=f"{machine.name} --cluster {cluster.name}",
        stages=adding.stages(platform, cluster, machine, timeout=timeout), is_dry_run=is_dry_run,
    )  # fmt: skip
    await adding.check(machine, cluster, means)
    async with reaching.reached(cluster, means) as world:
        return up.exit_code(await walked(walk, world, means, yes=True, form=form))
