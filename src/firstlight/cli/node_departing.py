"""What ``node reset`` and ``node remove`` share: what would go is shown, the name is typed, and then it goes."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import duration, output, which_repo

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.execute.world import World
    from firstlight.model.cluster import Cluster, Machine
    from firstlight.model.node_departure import Departure
    from firstlight.model.platform import Platform
    from firstlight.operate.means import Means
    from firstlight.operate.node.removing import Wishes

BLOCKED = 3

_OPTIONS = (
    click.argument("machine"),
    click.option("--cluster", default="", help="Of which cluster, where several have one of that name."),
    click.option(
        "--wipe", type=click.Choice(["partitions", "system-disk", "all"]), default="partitions", show_default=True,
        help="STATE and EPHEMERAL; or the system disk, after which it boots from elsewhere; or every disk.",
    ),
    click.option("--dry-run", is_flag=True, help="Say what would go, and what speaks against it; write nothing."),
    click.option("--yes", is_flag=True, help="Do not ask for the name once more."),
    click.option("--delete-emptydir-data", "scratch", is_flag=True, help="Also evict pods that have emptyDir volumes."),
    click.option("--force", is_flag=True, help="Also evict pods that have no controller: nobody makes them again."),
    click.option("--accept-storage", is_flag=True, help="Go on although the last healthy copy of something is on it."),
    click.option(
        "--timeout", type=duration.SECONDS, default="15m", show_default=True, help="How long it may take to be wiped."
    ),
    which_repo.option,
    output.option,
)  # fmt: skip


def options(command: Callable[..., int]) -> Callable[..., int]:
    """The argument and the options of both commands."""
    for each in reversed(_OPTIONS):
        command = each(command)
    return command


def run(
    platform: "Platform", cluster: "Cluster", find: "Callable[[World], Awaitable[Machine]]", wishes: "Wishes", *,
    is_dry_run: bool, yes: bool, form: "Form",
) -> int:  # fmt: skip
    """Let a machine leave; the exit code.

    Args:
        platform: The repo.
        cluster: The machine's.
        find: The machine, once the cluster is reached.
        wishes: What was asked for.
        is_dry_run: Only say what would go.
        yes: Do not ask.
        form: Text or JSON.

    Raises:
        errors.Refused: It was not confirmed.
    """

    async def done() -> int:
        from firstlight.cli import own_means
        from firstlight.operate import reaching

        means = await own_means.means(platform, keep=False)
        try:
            async with reaching.reached(cluster, means) as world:
                found = await find(world)
                return await _departed(found, world, means, wishes, is_dry_run=is_dry_run, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(done())


async def _departed(
    machine: "Machine", world: "World", means: "Means", wishes: "Wishes", *, is_dry_run: bool, yes: bool, form: "Form"
) -> int:
    from firstlight.cli import up, walked
    from firstlight.operate.node import removing, removing_survey
    from firstlight.operate.walk import Walk

    found = await removing_survey.survey(machine, world, is_storage_accepted=wishes.is_storage_accepted)
    found = removing.checked(found, wishes)
    _show(found, wishes, form, is_answer=is_dry_run or bool(found.refusals))
    if found.refusals:
        print("nothing was written", file=sys.stderr)
        return BLOCKED
    if is_dry_run:
        return 0
    _confirmed(machine.name, yes=yes)
    walk = Walk(
        cluster=world.cluster, command=wishes.command, stages=removing.stages(machine, wishes),
        again=f"{machine.name} --cluster {world.cluster.name}{again(wishes)}",
    )  # fmt: skip
    result = await walked.walked(walk, world, means, yes=yes, form=form)
    if form == "text" and result.is_complete and not wishes.is_answer_needed:
        from firstlight.report import node_departure as report

        print("\n".join(report.left(found)))
    return up.exit_code(result)


def again(wishes: "Wishes") -> str:
    """The options with which it means the same when it is run again."""
    chosen = {
        f" --wipe {wishes.wipe}": wishes.wipe != "partitions",
        " --delete-emptydir-data": wishes.drain.may_lose_scratch,
        " --force": wishes.drain.is_forced,
        " --accept-storage": wishes.is_storage_accepted,
    }
    return "".join(option for option, is_given in chosen.items() if is_given)


def _show(found: "Departure", wishes: "Wishes", form: "Form", *, is_answer: bool) -> None:
    from firstlight.report import node_departure as report

    shown = report.text(found, wipe=wishes.wipe)
    if is_answer:
        output.answer(form, shown, report.data(found))
    elif form == "text":
        print(shown, flush=True)


def _confirmed(name: str, *, yes: bool) -> None:
    if yes:
        return
    given = ""
    if sys.stdin.isatty():
        asked = f"Type the name of the machine to let {name} go"
        given = click.prompt(asked, default="", show_default=False, err=True)
    if given != name:
        raise errors.Refused("not confirmed: nothing was wiped", hint="Type the name, or give --yes.")
