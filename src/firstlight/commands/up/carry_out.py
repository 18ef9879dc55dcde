"""Carry a run out from the command line: with its journal and screen, what blocks it, and its certificate."""

import asyncio
import sys
from pathlib import Path

from firstlight import errors
from firstlight.cli import allow_commands as cli_allow_commands
from firstlight.cli import diagnostic_data, follow_run, output, screen, which_cluster, which_repo
from firstlight.cli import means as cli_means
from firstlight.cli.output import Form
from firstlight.cli.screen import agreed
from firstlight.commands.plan import text
from firstlight.commands.up import up
from firstlight.commands.up.up import PreparedRun, reached
from firstlight.drawing import handover_text, table
from firstlight.errors import ExitCode
from firstlight.execute import walk
from firstlight.execute.handover import certificate_store, certification
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.journal import journal_writer, state_files
from firstlight.model.certificate import Certificate
from firstlight.model.event import RunStarted
from firstlight.model.plan import Action
from firstlight.model.platform import Platform
from firstlight.model.verdict import Failed, Passed


def command(
    root: Path | None,
    wishes: RunRequest,
    *,
    check: bool,
    yes: bool,
    allow_commands: bool,
    pins: dict[str, str],
    kubeconfig: Path | None,
    merge: bool,
    offline: bool,
    form: Form,
) -> int:
    """Bring a cluster of a repo up; return the exit code."""
    platform = which_repo.platform(root)
    if allow_commands:
        cli_allow_commands.allow(platform, which_cluster.cluster_of(platform, wishes.cluster), yes=yes)

    async def run() -> int:
        means = await cli_means.user_means(
            platform,
            offline=offline,
            fingerprints=pins,
            keep=not (check or wishes.is_dry_run),
            merge=merge,
            kubeconfig=kubeconfig,
        )
        try:
            return await prepare_and_run(platform, wishes, means, is_check=check, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


async def prepare_and_run(
    platform: Platform, wishes: RunRequest, means: Means, *, is_check: bool, yes: bool, form: Form
) -> int:
    """Prepare a run, carry it out unless something blocks it, and say how it ended; return the exit code."""
    with screen.doing(is_shown=form == "text") as say:
        prepared = await up.prepare(platform, wishes, means, say=say)
    if is_check or prepared.is_blocked:
        tell_problems(prepared, form)
        return ExitCode.BLOCKED if prepared.is_blocked else 0
    begun = means.now()
    try:
        result = await carry_out(prepared, wishes, means, yes=yes, form=form)
    except asyncio.CancelledError:
        _show_way(prepared, wishes, means, form)
        return ExitCode.INTERRUPTED  # the summary has said it already
    if form == "text" and not wishes.is_dry_run:
        for line in await lines_after(prepared, means, result, since=begun):
            print(line)
    _show_way(prepared, wishes, means, form)
    return result.exit_code


def _show_way(prepared: PreparedRun, wishes: RunRequest, means: Means, form: Form) -> None:
    """The way in, where the API was reached; whoever has to mend something needs it most."""
    kept = means.state / prepared.cluster.name / "kubeconfig"
    if form == "text" and not wishes.is_dry_run and kept.exists():
        print(f"  reach    export KUBECONFIG={kept}")


async def carry_out(prepared: PreparedRun, wishes: RunRequest, means: Means, *, yes: bool, form: Form) -> RunResult:
    """Run what was prepared, with its journal and its screen.

    Raises:
        errors.Refused: Another run works on this cluster.
    """
    begun = up.started(prepared, wishes, means)
    with walk.alone(prepared.cluster, means, who=begun.who):
        return await _followed(prepared, wishes, means, begun=begun, yes=yes, form=form)


async def _followed(
    prepared: PreparedRun, wishes: RunRequest, means: Means, *, begun: RunStarted, yes: bool, form: Form
) -> RunResult:
    async with follow_run.RunFollower(
        journal_writer.Journal.start(means.journals or means.state, begun), form
    ) as progress:

        def confirm(danger: str) -> bool:
            if yes:
                return True
            with progress.paused():
                return agreed(danger)

        return await up.run(prepared, wishes, means, begun=begun, tell=progress.tell, confirm=confirm)


def tell_problems(prepared: PreparedRun, form: str) -> None:
    """Print what stands in the way, or that nothing does."""
    if form == "json":
        found = diagnostic_data.of_all(prepared.problems)
        output.write_json({"cluster": prepared.cluster.name, "blocked": prepared.is_blocked, "problems": found})
        return
    shown = ["\n".join(each) for each in text.problems(prepared.problems, columns=table.terminal_columns())]
    if not prepared.is_blocked:
        steps = len(prepared.work.plan.steps)
        shown.append(f"nothing stands in the way of {prepared.cluster.name}: {steps} steps could begin")
    print("\n\n".join(shown))
    if prepared.is_blocked:
        print("\nnothing was written", file=sys.stderr)


# What is said of a certificate at the end: what was proven in short, where it is, and how to try it again.


def certificate_lines(made: Certificate, path: Path, *, cluster: str, lost: int = 0) -> list[str]:
    """In a few lines.

    Args:
        made: The certificate.
        path: The file that has it.
        cluster: Its name.
        lost: How many fields have disappeared, as somebody agreed.
    """
    return [
        *handover_text.certificate_lines(made, lost=lost, columns=table.terminal_columns()),
        f"  in       {path}, as a page in {path.with_suffix('.html').name}",
        f"  again    firstlight handover {cluster} --verify {path}",
    ]


async def lines_after(prepared: PreparedRun, means: Means, result: RunResult, *, since: float) -> list[str]:
    """The same of a run that is over; nothing where it did not get that far.

    Args:
        prepared: What was run.
        means: How the world is reached.
        result: What came of it.
        since: When it began, in seconds since the epoch.
    """
    try:
        found = await certificate(prepared, means, result, since=since)
    except errors.FirstlightError as error:  # the run has its result, whatever becomes of this
        return [f"  note     the certificate was not read again: {error.message}"]
    return certificate_lines(found[0], found[1], cluster=prepared.cluster.name) if found is not None else []


async def certificate(
    prepared: PreparedRun, means: Means, result: RunResult, *, since: float
) -> tuple[Certificate, Path] | None:
    """The certificate that a run has made, or found, and the file that has it; None if it did not get that far.

    Args:
        prepared: What was run.
        means: How the world is reached.
        result: What came of it.
        since: When it began, in seconds since the epoch.

    Raises:
        errors.ClientError: The API does not answer.
        errors.FirstlightError: The file cannot be written.
    """
    steps = [each.id for each in prepared.work.plan.steps if each.action == Action.CERTIFY]
    outcome = result.outcomes.get(steps[0]) if steps else None
    directory = means.state / prepared.cluster.name
    if isinstance(outcome, Failed):
        path = directory / certificate_store.INCOMPLETE
        made = certificate_store.read(path).certificate if state_files.is_file(path) else None
        return (made, path) if made is not None and made.at >= int(since) else None
    if not isinstance(outcome, Passed):
        return None
    # What counts is what the cluster has: the file may be older, another cluster's, or changed by somebody.
    async with reached(prepared, means) as world:
        found = await certificate_store.load_kept(world.kube, uid=await certification.uid_of(world.kube))
    return (found.certificate, certificate_store.keep_copy(found, directory)) if found is not None else None
