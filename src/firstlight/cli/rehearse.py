"""``firstlight rehearse``: the same run in the lab, on the user's own repo, before it touches a machine."""

import asyncio
import contextlib
import dataclasses
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from firstlight import errors
from firstlight.cli import allowing, output, which_repo
from firstlight.cli.up import PHASES
from firstlight.clients import program_path

if TYPE_CHECKING:
    from firstlight.execute.loop import Result
    from firstlight.lab.lab import Lab
    from firstlight.lab.settings import ActorName, Settings
    from firstlight.model.cluster import Cluster
    from firstlight.model.lab_status import LabStatus
    from firstlight.model.platform import Platform
    from firstlight.model.rehearsal import Rehearsal
    from firstlight.model.verification import Verification
    from firstlight.operate.means import Means, Wishes
    from firstlight.operate.rehearsal.charts_at_hand import AtHand
    from firstlight.operate.rehearsal.rehearsing import Kit
    from firstlight.operate.up import Prepared

EXIT_CODES = {"passed": 0, "failed": 1, "refused": 3}
INTERRUPTED = 130
_UNFIT = re.compile(r"[^a-z0-9]+")


@click.command()
@click.argument("cluster", default="")
@click.option(
    "--charts",
    type=click.Path(path_type=Path),
    default=None,
    metavar="DIRECTORY",
    help="Charts as files, .tgz or unpacked, taken before any is fetched.",
)
@click.option("--offline", is_flag=True, help="Fetch nothing: charts come from the cache, or from --charts.")
@click.option("--until", type=click.Choice(PHASES), default=None, help="The last phase to rehearse.")
@click.option("--verify", is_flag=True, help="Then verify, and prove that a second run writes nothing.")
@allowing.option
@click.option("--yes", is_flag=True, help="Do not ask before commands are allowed.")
@click.option("--keep", is_flag=True, help="Leave the lab running, to look around in it.")
@click.option("--markdown", type=click.Path(path_type=Path), default=None, help="Also write the report here, for CI.")
@click.option("--everything", is_flag=True, help="The whole mapping, where else some stand for many.")
@which_repo.option
@output.option
def rehearse(
    cluster: str, charts: Path | None, offline: bool, until: str | None, verify: bool, allow_commands: bool, yes: bool,
    keep: bool, markdown: Path | None, everything: bool, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Run `up` against virtual machines and a real control plane on this computer, with your own repo.

    Addresses, disks, Git and charts lead to the lab, foundation secrets are dummies; the report says what stood for
    what and what could not be tried. Exit code 1 means that the real run would have failed, 3 that it was refused.
    """
    from firstlight.model.component import Phase
    from firstlight.operate import up
    from firstlight.operate.means import Wishes
    from firstlight.operate.rehearsal import executing
    from firstlight.report.rehearsal import verdict_of

    platform = which_repo.platform(root)
    chosen = up.cluster_of(platform, cluster)
    wishes = Wishes(cluster=chosen.name, until=Phase(until) if until else None)
    if allow_commands:
        allowing.allow(platform, chosen, yes=yes, also=executing.wanted(platform, chosen))
    try:
        told, verified = asyncio.run(
            _rehearse(platform, chosen, wishes, charts=charts, offline=offline, keep=keep, verify=verify)
        )
    except KeyboardInterrupt:
        return interrupted(lab_name(chosen.name), keep=keep)
    show(told, verified, markdown=markdown, everything=everything, form=form)
    return EXIT_CODES[verdict_of(told, verified)]


async def _rehearse(
    platform: "Platform", cluster: "Cluster", wishes: "Wishes", *, charts: Path | None, offline: bool, keep: bool,
    verify: bool,
) -> "tuple[Rehearsal, Verification | None]":  # fmt: skip
    from firstlight.operate.rehearsal import charts_at_hand, mapping, rehearsing, verifying

    given = charts_at_hand.read(charts) if charts else ()
    one = await fresh_lab(lab_name(cluster.name))
    tools = await kit(one, actors=mapping.actors(platform, cluster), given=given, offline=offline, keep=keep)
    try:
        played = await rehearsing.rehearse(platform, cluster, wishes, tools)
        # There is nothing to prove of a run that did not get to its end.
        is_over = verify and played.told.verdict == "passed" and wishes.until is None
        verified = await verifying.verify(one, played) if is_over else None
        return dataclasses.replace(played.told, is_kept=keep), verified
    finally:
        await clean_up(one, keep=keep)


async def fresh_lab(name: str) -> "Lab":
    """The lab for a rehearsal, without anything of an earlier one.

    Raises:
        errors.Refused: One of that name runs.
    """
    from firstlight.lab import lab as labs

    one = labs.named(name)
    if one.is_running():
        raise errors.Refused(
            f"a lab named {name} runs already", hint=f"Look at it, or take it down: firstlight lab down -n {name}"
        )
    await one.down()
    return one


async def kit(
    one: "Lab",
    *,
    actors: "tuple[ActorName, ...]",
    given: "tuple[AtHand, ...]" = (),
    offline: bool = False,
    keep: bool = False,
) -> "Kit":
    """Everything that a rehearsal works with; what is missing is installed."""
    from firstlight.cli import installing, up
    from firstlight.cli import lab as lab_command
    from firstlight.lab import actors as lab_actors
    from firstlight.lab import control_plane, machines
    from firstlight.operate.rehearsal import operator_kinds, rehearsing
    from firstlight.render.charts import credentials
    from firstlight.render.charts.fetching import Means as Fetching
    from firstlight.tools import cache

    # The operator's kinds are in the catalogue, beside its chart.
    needed = [*control_plane.COMPONENTS, machines.PROGRAM, "talosctl", "helm", "kustomize", operator_kinds.CONTENT]
    programs = await installing.ensure([*needed, *lab_actors.installed(actors)])
    git = program_path.find("git")
    plain = frozenset(os.environ.get("FIRSTLIGHT_PLAIN_HTTP", "").split())

    async def bring_up(settings: "Settings") -> "LabStatus":
        return await lab_command.bring_up(one, settings, owner=0 if keep else os.getpid())

    async def carry_out(prepared: "Prepared", wishes: "Wishes", means: "Means") -> "Result":
        # Standard output is for the report alone: the summary of the run is progress here.
        with contextlib.redirect_stdout(sys.stderr):
            return await up.carry_out(prepared, wishes, means, yes=True, form="text")

    return rehearsing.Kit(
        lab=one, programs=programs, home=cache.locate(os.environ).root,
        fetching=Fetching(programs["helm"], Path(git) if git else None, credentials.load(os.environ), plain),
        bring_up=bring_up, carry_out=carry_out, say=lambda text: print(text, file=sys.stderr, flush=True),
        given=given, offline=offline, kinds=operator_kinds.read(programs[operator_kinds.CONTENT]),
        allowed=allowing.known(),
    )  # fmt: skip


async def clean_up(one: "Lab", *, keep: bool) -> None:
    """Take the lab down, or say how to use it."""
    if not keep:
        await one.down()
        return
    name = one.home.name
    print(f"the lab stays: export KUBECONFIG=$(firstlight lab kubeconfig -n {name})", file=sys.stderr)
    print(f"               firstlight lab down -n {name}", file=sys.stderr)


def interrupted(name: str, *, keep: bool) -> int:
    """Say what is left of a rehearsal that somebody ended; the exit code. No other goes on where it was.

    Args:
        name: Of the lab.
        keep: Whether that stays.
    """
    left = f"the lab stays as it is: firstlight lab down -n {name}" if keep else "the lab is gone"
    print(f"\ninterrupted; {left}; run again to begin anew", file=sys.stderr)
    return INTERRUPTED


def show(
    told: "Rehearsal", verified: "Verification | None" = None, *, markdown: Path | None, everything: bool, form: str
) -> None:
    """Print the report, and write it where that is wanted."""
    from firstlight.report import rehearsal as report
    from firstlight.report import rehearsal_data, table
    from firstlight.report import verify as verification

    if markdown is not None:
        markdown.write_text(report.markdown(told, verified))
    if form == "json":
        output.write_json(rehearsal_data.data(told, verified))
    else:
        columns = table.terminal_columns()
        print(report.text(told, columns=columns, everything=everything))
        if verified is not None:
            print(f"\n{verification.text(verified, columns=columns)}")


def lab_name(cluster: str) -> str:
    """The name of the lab in which a cluster is rehearsed."""
    return f"rehearsal-{_UNFIT.sub('-', cluster.lower()).strip('-')}"[:32].rstrip("-")
