"""``firstlight up``: from machines in maintenance mode to a running GitOps engine; run again it goes on."""

from pathlib import Path
from typing import Literal

import click

from firstlight import errors
from firstlight.cli import output
from firstlight.cli.options import PHASES, allow_commands_option, repo_option


@click.command()
@click.argument("cluster", default="")
@click.option("--check", is_flag=True, help="Only the checks before the first write, all problems at once.")
@click.option("--dry-run", is_flag=True, help="Look at everything, say what would be written, write nothing.")
@click.option("--until", type=click.Choice(PHASES), default=None, help="The last phase to run.")
@click.option("--only", multiple=True, metavar="COMPONENT", help="Only this component, or: secrets. May be repeated.")
@click.option("--parallel", type=click.IntRange(1, 64), default=8, show_default=True, help="How many steps at once.")
@click.option("--yes", is_flag=True, help="Do not ask before what cannot be undone.")
@allow_commands_option
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
    root: Path | None, form: Literal["text", "json"],
) -> int:  # fmt: skip
    """Bring a cluster up: machines, inline manifests, CRDs, core components, the engine, and what Git brings.

    Run again it goes on where the world is, and writes nothing where everything is as it must be. Ctrl-C is safe.
    """
    from firstlight.commands.up import carry_out
    from firstlight.execute.means import RunRequest
    from firstlight.model.component import Phase

    wishes = RunRequest(
        cluster=cluster, until=Phase(until) if until else None, only=only, is_dry_run=dry_run, parallel=parallel
    )
    return carry_out.command(
        root, wishes, check=check, yes=yes, allow_commands=allow_commands, pins=_pins(pin), kubeconfig=kubeconfig,
        merge=merge, offline=offline, form=form,
    )  # fmt: skip


def _pins(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for each in given:
        machine, is_given, fingerprint = each.partition("=")
        if not is_given or not machine or not fingerprint:
            raise errors.UsageError(f"{each!r} is no pin", hint="Write --pin MACHINE=FINGERPRINT.")
        found[machine] = fingerprint
    return found
