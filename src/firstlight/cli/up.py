"""``firstlight up``: from machines in maintenance mode to a running GitOps engine; run again it goes on."""

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import allowing, output, screen, which_repo

if TYPE_CHECKING:
    from firstlight.cli.following import Form
    from firstlight.execute.loop import Result
    from firstlight.model.event import RunStarted
    from firstlight.model.platform import Platform
    from firstlight.operate.means import Means, Wishes
    from firstlight.operate.up import Prepared

FAILED = 1
BLOCKED = 3
INTERRUPTED = 130
PHASES = ("machine", "inline", "crds", "core", "engine", "handover", "gitops")


@click.command()
@click.argument("cluster", default="")
@click.option("--check", is_flag=True, help="Only the checks before the first write, all problems at once.")
@click.option("--dry-run", is_flag=True, help="Look at everything, say what would be written, write nothing.")
@click.option("--until", type=click.Choice(PHASES), default=None, help="The last phase to run.")
@click.option("--only", multiple=True, metavar="COMPONENT", help="Only this component, or: secrets. May be repeated.")
@click.option("--parallel", type=click.IntRange(1, 64), default=8, show_default=True, help="How many steps at once.")
@click.option("--yes", is_flag=True, help="Do not ask before what cannot be undone.")
@allowing.option
@click.option("--pin", multiple=True, metavar="MACHINE=FINGERPRINT", help="The certificate of a machine's console.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="The way to a cluster of which the repo has no machines.",
)
@click.option("--merge", is_flag=True, help="Add the cluster to your own kubeconfig and talosconfig, too.")
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@which_repo.option
@output.option
def up(
    cluster: str, check: bool, dry_run: bool, until: str | None, only: tuple[str, ...], parallel: int, yes: bool,
    allow_commands: bool, pin: tuple[str, ...], kubeconfig: Path | None, merge: bool, offline: bool,
    root: Path | None, form: "Form",
) -> int:  # fmt: skip
    """Bring a cluster up: machines, inline manifests, CRDs, core components, the engine, and what Git brings.

    Run again it goes on where the world is, and writes nothing where everything is as it must be. Ctrl-C is safe.
    """
    from firstlight.cli import own_means
    from firstlight.model.component import Phase
    from firstlight.operate import up as operating
    from firstlight.operate.means import Wishes

    platform = which_repo.platform(root)
    wishes = Wishes(
        cluster=cluster, until=Phase(until) if until else None, only=only, is_dry_run=dry_run, parallel=parallel
    )
    pins = _pins(pin)
    if allow_commands:
        allowing.allow(platform, operating.cluster_of(platform, cluster), yes=yes)

    async def run() -> int:
        means = await own_means.means(
            platform,
            offline=offline,
            fingerprints=pins,
            keep=not (check or dry_run),
            merge=merge,
            kubeconfig=kubeconfig,
        )
        try:
            return await _up(platform, wishes, means, is_check=check, yes=yes, form=form)
        finally:
            await means.close()

    return asyncio.run(run())


async def _up(
    platform: "Platform", wishes: "Wishes", means: "Means", *, is_check: bool, yes: bool, form: "Form"
) -> int:
    from firstlight.operate import up as operating

    with screen.doing(is_shown=form == "text") as say:
        prepared = await operating.prepare(platform, wishes, means, say=say)
    if is_check or prepared.is_blocked:
        tell_problems(prepared, form)
        return BLOCKED if prepared.is_blocked else 0
    begun = means.now()
    try:
        result = await carry_out(prepared, wishes, means, yes=yes, form=form)
    except asyncio.CancelledError:
        _show_way(prepared, wishes, means, form)
        return INTERRUPTED  # the summary has said it already
    if form == "text" and not wishes.is_dry_run:
        from firstlight.cli import certificates

        for line in await certificates.after(prepared, means, result, since=begun):
            print(line)
    _show_way(prepared, wishes, means, form)
    return exit_code(result)


def _show_way(prepared: "Prepared", wishes: "Wishes", means: "Means", form: "Form") -> None:
    """The way in, where the API was reached; whoever has to mend something needs it most."""
    kept = means.state / prepared.cluster.name / "kubeconfig"
    if form == "text" and not wishes.is_dry_run and kept.exists():
        print(f"  reach    export KUBECONFIG={kept}")


async def carry_out(prepared: "Prepared", wishes: "Wishes", means: "Means", *, yes: bool, form: "Form") -> "Result":
    """Run what was prepared, with its journal and its screen.

    Raises:
        errors.Refused: Another run works on this cluster.
    """
    from firstlight.operate import up as operating

    begun = operating.started(prepared, wishes, means)
    with operating.alone(prepared.cluster, means, who=begun.who):
        return await _followed(prepared, wishes, means, begun=begun, yes=yes, form=form)


async def _followed(
    prepared: "Prepared", wishes: "Wishes", means: "Means", *, begun: "RunStarted", yes: bool, form: "Form"
) -> "Result":
    from firstlight.cli import following
    from firstlight.journal import writing
    from firstlight.operate import up as operating

    async with following.Following(writing.Journal.start(means.state, begun), form) as progress:

        def confirm(danger: str) -> bool:
            if yes:
                return True
            with progress.paused():
                return agreed(danger)

        return await operating.run(prepared, wishes, means, begun=begun, tell=progress.tell, confirm=confirm)


def agreed(danger: str) -> bool:
    """Ask a person at a terminal; nobody there means no."""
    return sys.stdin.isatty() and click.confirm(f"{danger}\nGo on?", default=False, err=True)


def exit_code(result: "Result") -> int:
    """What a run's result means to a shell."""
    if result.is_refused:
        return BLOCKED
    return 0 if result.is_complete else FAILED


def tell_problems(prepared: "Prepared", form: str) -> None:
    """Print what stands in the way, or that nothing does."""
    from firstlight.report import plan as report
    from firstlight.report import plan_data, table

    if form == "json":
        found = [plan_data.problem(each) for each in prepared.problems]
        output.write_json({"cluster": prepared.cluster.name, "blocked": prepared.is_blocked, "problems": found})
        return
    shown = ["\n".join(each) for each in report.problems(prepared.problems, columns=table.terminal_columns())]
    if not prepared.is_blocked:
        steps = len(prepared.work.plan.steps)
        shown.append(f"nothing stands in the way of {prepared.cluster.name}: {steps} steps could begin")
    print("\n\n".join(shown))
    if prepared.is_blocked:
        print("\nnothing was written", file=sys.stderr)


def _pins(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for each in given:
        machine, is_given, fingerprint = each.partition("=")
        if not is_given or not machine or not fingerprint:
            raise errors.UsageError(f"{each!r} is no pin", hint="Write --pin MACHINE=FINGERPRINT.")
        found[machine] = fingerprint
    return found
