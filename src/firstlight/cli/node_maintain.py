"""``firstlight node maintain``: a machine drained, rebooted, waited for and given back."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import duration, output, which_repo

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.model.cluster import Cluster, Machine
    from firstlight.operate.means import Means
    from firstlight.operate.node.maintaining import Asked

BLOCKED = 3


@click.command()
@click.argument("machine")
@click.option("--cluster", default="", help="Of which cluster, where several have one of that name.")
@click.option("--no-reboot", is_flag=True, help="Leave it drained, for work on its hardware; --done ends it.")
@click.option("--done", is_flag=True, help="The work is done: wait until it is well, and give it back.")
@click.option("--dry-run", is_flag=True, help="Say what would go, and what stands in the way; write nothing.")
@click.option("--delete-emptydir-data", "scratch", is_flag=True, help="Also evict pods that have emptyDir volumes.")
@click.option("--force", is_flag=True, help="Also evict pods that have no controller: nobody makes them again.")
@click.option("--accept-storage", is_flag=True, help="Go on although the last healthy copy of something is on it.")
@click.option(
    "--drain-timeout", type=duration.SECONDS, default="15m", show_default=True, help="How long budgets may hold it up."
)
@click.option(
    "--timeout", type=duration.SECONDS, default="30m", show_default=True, help="How long it may take to come back."
)
@click.option("--yes", is_flag=True, help="Do not ask before it is drained and reboots.")
@which_repo.option
@output.option
def maintain(
    machine: str, cluster: str, no_reboot: bool, done: bool, dry_run: bool, scratch: bool, force: bool,
    accept_storage: bool, drain_timeout: float, timeout: float, yes: bool, root: Path | None, form: "Form",
) -> int:  # fmt: skip
    """Drain a machine, reboot it, wait until it is well, and give it back.

    Pods go by the Eviction API: disruption budgets are respected, and named while they hold it up. Killed, and run
    again, it goes on. A node that somebody else has cordoned stays cordoned.
    """
    from firstlight.model.draining import Drain
    from firstlight.operate.node import choosing
    from firstlight.operate.node.maintaining import Asked

    if done and (no_reboot or dry_run):
        raise errors.UsageError("--done ends it", hint="Give it without --no-reboot and --dry-run.")
    platform = which_repo.platform(root)
    one, found = choosing.machine_of(platform, machine, cluster=cluster)
    asked = Asked(
        drain=Drain(may_lose_scratch=scratch, is_forced=force, patience=drain_timeout),
        is_storage_accepted=accept_storage, is_rebooted=not no_reboot, is_done=done, timeout=timeout,
    )  # fmt: skip

    async def run() -> int:
        from firstlight.cli import own_means

        means = await own_means.means(platform, keep=False)
        try:
            if dry_run:
                return await _foreseen(one, found, asked, means, form=form)
            return await _maintained(one, found, asked, means, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


async def _maintained(
    cluster: "Cluster", machine: "Machine", asked: "Asked", means: "Means", *, yes: bool, form: "Form"
) -> int:
    from firstlight.cli import up
    from firstlight.cli.walked import walked
    from firstlight.operate import reaching
    from firstlight.operate.node import maintaining
    from firstlight.operate.walk import Walk

    again = f"{machine.name} --cluster {cluster.name}{_again(asked)}"
    stages = maintaining.stages(machine, asked)
    walk = Walk(cluster=cluster, command=maintaining.COMMAND, again=again, stages=stages)
    async with reaching.reached(cluster, means) as world:
        result = await walked(walk, world, means, yes=yes, form=form)
    if form == "text" and result.is_complete and not asked.is_rebooted:
        print(f"  next     when the work is done: firstlight node maintain {machine.name} --done")
    return up.exit_code(result)


def _again(asked: "Asked") -> str:
    chosen = {
        " --no-reboot": not asked.is_rebooted,
        " --done": asked.is_done,
        " --delete-emptydir-data": asked.drain.may_lose_scratch,
        " --force": asked.drain.is_forced,
        " --accept-storage": asked.is_storage_accepted,
    }
    return "".join(option for option, is_given in chosen.items() if is_given)


async def _foreseen(cluster: "Cluster", machine: "Machine", asked: "Asked", means: "Means", *, form: str) -> int:
    from firstlight.operate import reaching
    from firstlight.operate.node import maintaining
    from firstlight.report import node_maintain as report
    from firstlight.report import table

    async with reaching.reached(cluster, means) as world:
        found = await maintaining.foresee(machine, world, asked)
    output.answer(form, report.text(found, columns=table.terminal_columns()), report.data(found))
    return BLOCKED if report.is_refused(found, is_storage_accepted=asked.is_storage_accepted) else 0
