"""The lab of a rehearsal: brought up fresh, named after the cluster, cleaned up in the end."""

import contextlib
import os
import re
import sys
from pathlib import Path

from firstlight import errors
from firstlight.cli import allow_commands as cli_allow_commands
from firstlight.cli import install_tools
from firstlight.clients import program_path
from firstlight.commands.lab import bring_up as lab_bring_up
from firstlight.commands.rehearse import rehearse, stand_ins
from firstlight.commands.rehearse.chart_copies import GivenChart
from firstlight.commands.rehearse.rehearse import RehearsalKit
from firstlight.commands.up import carry_out as up_carry_out
from firstlight.commands.up.up import PreparedRun
from firstlight.errors import ExitCode
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.lab import running_lab
from firstlight.lab.actors import actor_table
from firstlight.lab.control_plane import control_plane_parts
from firstlight.lab.lab_settings import ActorName, LabSettings
from firstlight.lab.lab_status import LabStatus
from firstlight.lab.machines import virtual_machines
from firstlight.lab.running_lab import Lab
from firstlight.render import chart_fetch
from firstlight.render.chart_fetch import FetchClients
from firstlight.tools import binary_cache

_UNFIT = re.compile(r"[^a-z0-9]+")


async def fresh_lab(name: str) -> Lab:
    """The lab for a rehearsal, without anything of an earlier one.

    Raises:
        errors.Refused: One of that name runs.
    """
    one = running_lab.named(name)
    if one.is_running():
        raise errors.Refused(
            f"a lab named {name} runs already", hint=f"Look at it, or take it down: firstlight lab down -n {name}"
        )
    await one.down()
    return one


def needed(actors: tuple[ActorName, ...]) -> list[str]:
    """What of the catalogue a rehearsal with these actors needs: programs, and content."""
    # The operator's kinds are in the catalogue, beside its chart.
    own = (virtual_machines.PROGRAM, "talosctl", "helm", "kustomize", stand_ins.CILIUM_CRDS)
    return list(dict.fromkeys([*control_plane_parts.COMPONENTS, *own, *actor_table.installed(actors)]))


async def kit(
    one: Lab,
    *,
    actors: tuple[ActorName, ...],
    given: tuple[GivenChart, ...] = (),
    offline: bool = False,
    keep: bool = False,
) -> RehearsalKit:
    """Everything that a rehearsal works with; what is missing is installed."""
    programs = await install_tools.ensure(needed(actors))
    git = program_path.find("git")
    plain = frozenset(os.environ.get("FIRSTLIGHT_PLAIN_HTTP", "").split())

    async def bring_up(settings: LabSettings) -> LabStatus:
        return await lab_bring_up.bring_up(one, settings, owner=0 if keep else os.getpid())

    async def carry_out(prepared: PreparedRun, wishes: RunRequest, means: Means) -> RunResult:
        # Standard output is for the report alone: the summary of the run is progress here.
        with contextlib.redirect_stdout(sys.stderr):
            return await up_carry_out.carry_out(prepared, wishes, means, yes=True, form="text")

    return rehearse.RehearsalKit(
        lab=one,
        programs=programs,
        home=binary_cache.locate(os.environ).root,
        fetching=FetchClients(
            programs["helm"], Path(git) if git else None, chart_fetch.load_credentials(os.environ), plain
        ),
        bring_up=bring_up,
        carry_out=carry_out,
        say=lambda text: print(text, file=sys.stderr, flush=True),
        given=given,
        offline=offline,
        kinds=stand_ins.cilium_crds(programs[stand_ins.CILIUM_CRDS]),
        allowed=cli_allow_commands.known(),
    )


async def clean_up(one: Lab, *, keep: bool) -> None:
    """Take the lab down, or say how to use it."""
    if not keep:
        await one.down()
        return
    name = one.home.name
    print(f"the lab stays: export KUBECONFIG=$(firstlight lab kubeconfig -n {name})", file=sys.stderr)
    print(f"               firstlight lab down -n {name}", file=sys.stderr)


def interrupted(name: str, *, keep: bool) -> int:
    """Say what is left of a rehearsal that somebody ended; the exit code. No other goes on where it was.

    Who interrupts more than once ends the cleaning up, too: only what is not there is said to be gone.

    Args:
        name: Of the lab.
        keep: Whether that stays.
    """
    if keep:
        left = f"the lab stays as it is: firstlight lab down -n {name}"
    elif running_lab.named(name).home.path.exists():
        left = f"the lab was not cleaned up: firstlight lab down -n {name}"
    else:
        left = "the lab is gone"
    print(f"\ninterrupted; {left}; run again to begin anew", file=sys.stderr)
    return ExitCode.INTERRUPTED


def lab_name(cluster: str) -> str:
    """The name of the lab in which a cluster is rehearsed."""
    return f"rehearsal-{_UNFIT.sub('-', cluster.lower()).strip('-')}"[:32].rstrip("-")
