"""``firstlight node apply``: the repo's machine configs, one machine first, then the rest."""

import asyncio
import contextlib
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, which_cluster, which_repo
from firstlight.cli.follow_run import follow_walk
from firstlight.cli.output import Form
from firstlight.clients import talosctl
from firstlight.commands.node import apply_config, declared_configs, machine_lookup, machine_ready
from firstlight.commands.node import text as node_text
from firstlight.commands.node.apply_config import NodeApplyOptions
from firstlight.commands.node.declared_configs import ConfigComparison, DeclaredConfigs
from firstlight.commands.node.machine_ready import ExpectedMachine
from firstlight.document import mistakes
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.execute import cluster_access, gate_wait, live_cluster
from firstlight.execute.gate_wait import POLL
from firstlight.execute.means import Means
from firstlight.execute.walk import OnVerdict, Walk, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.model.verdict import Verdict
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess


def apply(
    cluster: str, *, names: tuple[str, ...], every: bool, dry_run: bool, tried: float | None, revision: str, timeout:
    float, yes: bool, root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Give machines of a cluster that lives the configs of the repo, one after the other."""
    if bool(names) == every:
        raise errors.UsageError("which machines?", hint="Write --machine NAME, or --all.")
    if tried is not None and not 10 <= tried <= 3600:
        raise errors.UsageError("a trial takes from 10s to 1h", hint="Write --try 5m.")
    platform = which_repo.platform(root)
    one = which_cluster.cluster_of(platform, cluster)
    machine_lookup.refuse_omni(one)
    asked = NodeApplyOptions(timeout=timeout, tried=tried or 0.0)

    async def run() -> int:
        means = await cli_means.user_means(platform, keep=False)
        try:
            async with _declared(platform, one, means, revision) as declared:
                return await _applied(one, names, asked, declared, means, dry_run=dry_run, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


@contextlib.asynccontextmanager
async def _declared(
    platform: Platform, cluster: Cluster, means: Means, revision: str
) -> AsyncIterator[DeclaredConfigs]:
    """What the files say now, or at a commit."""
    if not revision:
        yield declared_configs.of(platform, cluster, means)
        return
    async with declared_configs.at_revision(platform, cluster, means, revision=revision) as found:
        yield found


async def _applied(
    cluster: Cluster, names: tuple[str, ...], asked: NodeApplyOptions, declared: DeclaredConfigs, means: Means, *,
    dry_run: bool, yes: bool, form: Form,
) -> int:  # fmt: skip
    machines = chosen_machines(cluster, names)
    async with live_cluster.reached(cluster, means) as world:
        found = {each.machine.name: each.sight for each in await compare_machines(machines, declared, world)}
        different = [each for each in machines if found[each.name].equality != "equal"]
        text = node_text.configs_text(found, columns=table.terminal_columns())
        if dry_run or not different:
            output.answer(form, text, node_text.configs_data(cluster.name, found, revision=declared.revision))
            return ExitCode.FINDINGS if different else 0
        if form == "text":
            print(text, file=sys.stderr, flush=True)
        walk = Walk(
            cluster=cluster, command=COMMAND, again=_again(cluster.name, names, asked, declared),
            stages=apply_stages(different, declared, asked), revision=declared.revision,
        )  # fmt: skip
        return (await follow_walk(walk, world, means, yes=yes, form=form)).exit_code


def _again(cluster: str, names: tuple[str, ...], asked: NodeApplyOptions, declared: DeclaredConfigs) -> str:
    which = " ".join(f"--machine {each}" for each in names) or "--all"
    tried = f" --try {asked.tried:g}s" if asked.tried else ""
    revision = f" --revision {declared.revision}" if declared.revision else ""
    return f"{cluster} {which}{tried}{revision}"


# The repo's configs given to machines that live: one first, and the next only when that one is well.


COMMAND = "node apply"


def chosen_machines(cluster: Cluster, names: Sequence[str]) -> tuple[Machine, ...]:
    """The machines that are meant, in the order in which they get their configs.

    Args:
        cluster: As declared.
        names: In the order that somebody wants; none for all, workers before control planes.

    Raises:
        errors.UsageError: There is none of a name.
    """
    by_name = {each.name: each for each in cluster.machines}
    if missing := [each for each in names if each not in by_name]:
        hint = mistakes.near(missing[0], list(by_name)) or "The repo declares no machines."
        raise errors.UsageError(f"{cluster.name} has no machine {missing[0]}", hint=hint)
    if names:
        return tuple(by_name[each] for each in dict.fromkeys(names))
    return tuple(sorted(cluster.machines, key=lambda each: each.role is MachineRole.CONTROL_PLANE))


async def compare_machines(
    machines: Sequence[Machine], declared: DeclaredConfigs, world: World
) -> tuple[ConfigComparison, ...]:
    """What each would do with its config; nothing is written.

    Raises:
        errors.Refused: A machine does not answer, or does not take its config, or the repo has none for it.
    """
    way = await cluster_access.ensure(world)
    if missing := [each.name for each in machines if each.name not in declared.drafts]:
        when = f" at {declared.revision[:12]}" if declared.revision else ""
        raise errors.Refused(f"the repo has no config for {', '.join(missing)}{when}", hint="Name other machines.")

    deadline = time.monotonic() + world.patience

    async def one(machine: Machine) -> ConfigComparison:
        while True:
            try:
                return await declared_configs.compare(machine, declared, world, way)
            except talosctl.TalosError as error:
                is_passing = isinstance(
                    error, talosctl.TalosNotReady | talosctl.TalosUnreachable | talosctl.TalosTimedOut
                )
                if not is_passing or time.monotonic() >= deadline:
                    raise errors.Refused(
                        f"{machine.name} does not tell its config: {error.detail}",
                        hint="Bring it back first, or name the others: --machine NAME",
                    ) from error
            await asyncio.sleep(POLL)  # a run that was killed may have sent it into a reboot

    return tuple(await asyncio.gather(*(one(each) for each in machines)))


def apply_stages(
    machines: Sequence[Machine], declared: DeclaredConfigs, asked: NodeApplyOptions
) -> tuple[WalkStage, ...]:
    """The stages for these machines, one after the other."""
    if not asked.tried:
        return tuple(_stage(each, declared, asked) for each in machines)
    return tuple(stage for each in machines for stage in apply_config.trial_stages(each, declared, asked))


def _stage(machine: Machine, declared: DeclaredConfigs, asked: NodeApplyOptions) -> WalkStage:
    """One machine gets its config, and is waited for until that is in force, and it is well."""
    id = f"{machine.name}:apply"
    wanted: list[Secret] = []

    async def look(world: World) -> PendingChange | None:
        way = await cluster_access.ensure(world)
        found = await declared_configs.compare(machine, declared, world, way)
        wanted[:] = [] if found.is_equal else [found.wanted]
        if found.is_equal:
            return None
        if found.is_staged:
            return await _reboot(found, world, way, id)
        apply_config.refuse_pending(found)
        danger = await _danger(found, world, way, id) if found.sight.needs_reboot else ""
        how = " (reboot)" if found.sight.needs_reboot else ""
        what = f"apply the config of {machine.name}{how}"
        return PendingChange(writes=(what,), perform=lambda: apply_config.send_config(found, way), danger=danger)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        way = await cluster_access.ensure(world)
        return await machine_ready.wait_ready(
            machine, world, on_verdict, expected=ExpectedMachine(), timeout=asked.timeout,
            also=(lambda: apply_config.in_force(machine, wanted[0], way)) if wanted else None,
        )  # fmt: skip

    return WalkStage(id=id, name=f"configure {machine.name}", look=look, wait=wait)


async def _reboot(found: ConfigComparison, world: World, way: MachineAccess, step: str) -> PendingChange | None:
    """It has the config on its disk: it is on its way to reboot into it, or somebody must send it there."""
    machine = found.machine
    if (await machine_survey.look_at(machine, way)).stage != "running":
        return None
    return PendingChange(
        writes=(f"reboot {machine.name} into the config that it has on its disk",),
        perform=lambda: way.admin.reboot(way.at(machine), wait=False),
        danger=await _danger(found, world, way, step),
    )


async def _danger(found: ConfigComparison, world: World, way: MachineAccess, step: str) -> str:
    """What a reboot means: asked of a person, and of etcd."""
    machine = found.machine
    said = [f"{machine.name} reboots{f' ({why})' if (why := apply_config.first_line(found.sight.reason)) else ''}"]
    if machine.role is MachineRole.CONTROL_PLANE:
        planes = gate_wait.control_planes(world, [machine])
        said.append(
            await gate_wait.require_quorum(
                machine, planes, way, patience=world.patience, tell=lambda text: world.tell(step, text)
            )
        )
    return "; ".join(said)
