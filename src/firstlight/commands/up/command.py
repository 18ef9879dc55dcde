"""``firstlight up``: from machines in maintenance mode to a running GitOps engine; run again it goes on."""

import asyncio
from pathlib import Path

import click

from firstlight import errors
from firstlight.cli import allow_commands as cli_allow_commands
from firstlight.cli import means as cli_means
from firstlight.cli import output, screen, which_cluster, which_repo
from firstlight.cli.exit_codes import exit_code
from firstlight.cli.follow_run import Form
from firstlight.cli.options import PHASES, repo_option
from firstlight.commands.up import certificate
from firstlight.commands.up import up as up_room
from firstlight.commands.up.carry_out import carry_out, tell_problems
from firstlight.commands.up.up import PreparedRun
from firstlight.errors import ExitCode
from firstlight.execute.means import Means, RunRequest
from firstlight.model.component import Phase
from firstlight.model.platform import Platform


@click.command()
@click.argument("cluster", default="")
@click.option("--check", is_flag=True, help="Only the checks before the first write, all problems at once.")
@click.option("--dry-run", is_flag=True, help="Look at everything, say what would be written, write nothing.")
@click.option("--until", type=click.Choice(PHASES), default=None, help="The last phase to run.")
@click.option("--only", multiple=True, metavar="COMPONENT", help="Only this component, or: secrets. May be repeated.")
@click.option("--parallel", type=click.IntRange(1, 64), default=8, show_default=True, help="How many steps at once.")
@click.option("--yes", is_flag=True, help="Do not ask before what cannot be undone.")
@cli_allow_commands.option
@click.option("--pin", multiple=True, metavar="MACHINE=FINGERPRINT", help="The certificate of a machine's console.")
@click.option(
    "--kubeconfig",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    default=None,
    help="The way to a cluster of which the repo has no machines.",
)
@click.option("--merge", is_flag=True, help="Add the cluster to your own kubeconfig and talosconfig, too.")
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache.")
@repo_option
@output.option
def up(
    cluster: str, check: bool, dry_run: bool, until: str | None, only: tuple[str, ...], parallel: int, yes: bool,
    allow_commands: bool, pin: tuple[str, ...], kubeconfig: Path | None, merge: bool, offline: bool,
    root: Path | None, form: Form,
) -> int:  # fmt: skip
    """Bring a cluster up: machines, inline manifests, CRDs, core components, the engine, and what Git brings.

    Run again it goes on where the world is, and writes nothing where everything is as it must be. Ctrl-C is safe.
    """
    platform = which_repo.platform(root)
    wishes = RunRequest(
        cluster=cluster, until=Phase(until) if until else None, only=only, is_dry_run=dry_run, parallel=parallel
    )
    pins = _pins(pin)
    if allow_commands:
        cli_allow_commands.allow(platform, which_cluster.cluster_of(platform, cluster), yes=yes)

    async def run() -> int:
        means = await cli_means.user_means(
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


async def _up(platform: Platform, wishes: RunRequest, means: Means, *, is_check: bool, yes: bool, form: Form) -> int:
    with screen.doing(is_shown=form == "text") as say:
        prepared = await up_room.prepare(platform, wishes, means, say=say)
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
        for line in await certificate.lines_after(prepared, means, result, since=begun):
            print(line)
    _show_way(prepared, wishes, means, form)
    return exit_code(result)


def _show_way(prepared: PreparedRun, wishes: RunRequest, means: Means, form: Form) -> None:
    """The way in, where the API was reached; whoever has to mend something needs it most."""
    kept = means.state / prepared.cluster.name / "kubeconfig"
    if form == "text" and not wishes.is_dry_run and kept.exists():
        print(f"  reach    export KUBECONFIG={kept}")


def _pins(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for each in given:
        machine, is_given, fingerprint = each.partition("=")
        if not is_given or not machine or not fingerprint:
            raise errors.UsageError(f"{each!r} is no pin", hint="Write --pin MACHINE=FINGERPRINT.")
        found[machine] = fingerprint
    return found
