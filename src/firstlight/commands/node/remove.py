"""What ``node reset`` and ``node remove`` share: what would go is shown, the name is typed, and then it goes."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import follow_run, output, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.cli.output import Form
from firstlight.commands.node import departure, machine_lookup, removal_stages, text
from firstlight.commands.node.departure import Departure, Wipe
from firstlight.commands.node.drain_rules import DrainOptions
from firstlight.commands.node.removal_stages import NodeRemovalOptions
from firstlight.errors import ExitCode
from firstlight.execute import live_cluster
from firstlight.execute.means import Means
from firstlight.execute.walk import Walk
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.platform import Platform


def run_departure(
    platform: Platform, cluster: Cluster, find: Callable[[World], Awaitable[Machine]], wishes: NodeRemovalOptions, *,
    is_dry_run: bool, yes: bool, form: Form,
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
        means = await cli_means.user_means(platform, keep=False)
        try:
            async with live_cluster.reached(cluster, means) as world:
                found = await find(world)
                return await _departed(found, world, means, wishes, is_dry_run=is_dry_run, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(done())


async def _departed(
    machine: Machine, world: World, means: Means, wishes: NodeRemovalOptions, *, is_dry_run: bool, yes: bool, form: Form
) -> int:
    found = await departure.survey_departure(machine, world, is_storage_accepted=wishes.is_storage_accepted)
    found = removal_stages.checked(found, wishes)
    _show(found, wishes, form, is_answer=is_dry_run or bool(found.refusals))
    if found.refusals:
        print("nothing was written", file=sys.stderr)
        return ExitCode.BLOCKED
    if is_dry_run:
        return 0
    _confirmed(machine.name, yes=yes)
    walk = Walk(
        cluster=world.cluster, command=wishes.command, stages=removal_stages.stages(machine, wishes),
        again=f"{machine.name} --cluster {world.cluster.name}{same_options(wishes)}",
    )  # fmt: skip
    result = await follow_run.follow_walk(walk, world, means, yes=yes, form=form)
    if form == "text" and result.is_complete and not wishes.is_answer_needed:
        print("\n".join(text.still_declared_text(found)))
    return result.exit_code


def same_options(wishes: NodeRemovalOptions) -> str:
    """The options with which it means the same when it is run again."""
    chosen = {
        f" --wipe {wishes.wipe}": wishes.wipe != "partitions",
        " --delete-emptydir-data": wishes.drain.may_lose_scratch,
        " --force": wishes.drain.is_forced,
        " --accept-storage": wishes.is_storage_accepted,
    }
    return "".join(option for option, is_given in chosen.items() if is_given)


def _show(found: Departure, wishes: NodeRemovalOptions, form: Form, *, is_answer: bool) -> None:
    shown = text.departure_text(found, wipe=wishes.wipe)
    if is_answer:
        output.answer(form, shown, text.departure_data(found))
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


# ``firstlight node remove``: a machine is gone from its cluster, whether it answers or not.


def remove(
    machine: str, *, cluster: str, wipe: Wipe, dry_run: bool, yes: bool, scratch: bool, force: bool, accept_storage:
    bool, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Take a machine out of its cluster: wiped if it answers, its member of etcd and its node gone."""
    platform = which_repo.platform(root)
    is_declared = any(each.name == machine for one in platform.clusters for each in one.machines)
    if is_declared:
        one, _ = machine_lookup.machine_of(platform, machine, cluster=cluster)
    else:
        one = which_cluster.cluster_of(platform, cluster)
        machine_lookup.refuse_omni(one)
    wishes = NodeRemovalOptions(
        command="node remove", wipe=wipe, timeout=timeout, is_storage_accepted=accept_storage,
        drain=DrainOptions(may_lose_scratch=scratch, is_forced=force),
    )  # fmt: skip

    async def find(world: World) -> Machine:
        """As it is declared, else as its node or its member of etcd tells."""
        declared = next((each for each in one.machines if each.name == machine), None)
        return declared if declared is not None else await departure.undeclared_machine(machine, world)

    return run_departure(platform, one, find, wishes, is_dry_run=dry_run, yes=yes, form=form)


# ``firstlight node reset``: a machine leaves its cluster and boots into maintenance mode, bare.


def reset(
    machine: str, *, cluster: str, wipe: Wipe, dry_run: bool, yes: bool, scratch: bool, force: bool, accept_storage:
    bool, timeout: float, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Let a machine leave its cluster, wipe it, and boot it into maintenance mode. What is on it is lost."""
    platform = which_repo.platform(root)
    one, found = machine_lookup.machine_of(platform, machine, cluster=cluster)
    wishes = NodeRemovalOptions(
        command="node reset", wipe=wipe, timeout=timeout, is_storage_accepted=accept_storage,
        drain=DrainOptions(may_lose_scratch=scratch, is_forced=force),
    )  # fmt: skip

    async def find(world: World) -> Machine:
        return found

    return run_departure(platform, one, find, wishes, is_dry_run=dry_run, yes=yes, form=form)
