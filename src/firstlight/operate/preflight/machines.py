"""Whether the declared machines answer; what each of them is, its step finds out."""

import asyncio
from pathlib import Path

from firstlight.clients import talosctl
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.plan import Link, Problem, Severity
from firstlight.model.reach import Reach
from firstlight.model.work import Configure, Work

TIMEOUT = 10.0


async def machines(work: Work, program: Path | None, reach: Reach, *, is_first: bool) -> list[Problem]:
    """The machines that do not answer.

    Args:
        work: What is to be done.
        program: Where talosctl is.
        reach: Where machines are reached.
        is_first: Whether nothing was run here before. Later a machine may just be rebooting, and its step waits for it.
    """
    wanted = [draft.machine for each in work.tasks.values() if isinstance(each, Configure) for draft in each.drafts]
    if not wanted:
        return []
    if program is None:
        return [_without_program()]
    silent = await asyncio.gather(*(_silence(each, program, reach) for each in wanted))
    control_planes = [each for each in wanted if each.role == MachineRole.CONTROL_PLANE]
    return [
        _problem(machine, why, is_hard=is_first and machine in control_planes)
        for machine, why in zip(wanted, silent, strict=True)
        if why
    ]


async def _silence(machine: Machine, program: Path, reach: Reach) -> str:
    """Why a machine does not answer; empty where it does, even if only to say who it does not talk to."""
    stranger = talosctl.Talosctl(program, insecure=True)
    try:
        await stranger.machine_status(talosctl.Target.of(reach.machine(machine.address)), timeout=TIMEOUT)
    except (talosctl.Unreachable, talosctl.TimedOut) as error:
        return error.message
    except talosctl.TalosError:
        return ""
    return ""


def _problem(machine: Machine, why: str, *, is_hard: bool) -> Problem:
    # A worker may come later; without every control plane nobody can tell whether etcd was bootstrapped before.
    noun = "control plane" if machine.role == MachineRole.CONTROL_PLANE else "worker"
    return Problem(
        rule="machine-silent", severity=Severity.ERROR if is_hard else Severity.WARNING,
        message=f"the {noun} {machine.name} does not answer at {machine.address}",
        chain=(Link(machine.name, why, machine.place),),
        way_out="Switch it on, boot it from the Talos medium, and look at address, cable and firewall (port 50000).",
    )  # fmt: skip


def addresses(cluster: Cluster) -> list[Problem]:
    """Machines that are declared at one address: the second would get its config on top of the first."""
    first: dict[str, Machine] = {}
    found = []
    for each in cluster.machines:
        other = first.setdefault(each.address, each)
        if each.address and other is not each:
            found.append(
                Problem(
                    rule="address-twice",
                    severity=Severity.ERROR,
                    message=f"{other.name} and {each.name} are declared at the same address {each.address}",
                    chain=(Link(other.name, each.address, other.place), Link(each.name, each.address, each.place)),
                    way_out="Give each machine its own.",
                )
            )
    return found


def _without_program() -> Problem:
    return Problem(
        rule="program-missing",
        severity=Severity.ERROR,
        message="machines are configured by talosctl, and it is missing",
        way_out="firstlight tools install talosctl",
    )
