"""Whether the declared machines answer, and have the disks and interfaces that are declared for them.

What each of them is, its step finds out, and looks at its whole config. Here is only what a bare machine tells to
everybody, against what the repo says in clear.
"""

import asyncio
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.execute import machine_configs
from firstlight.gates import hardware
from firstlight.model import versions
from firstlight.model.cluster import AddressBook, Cluster, Machine, MachineRole
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.machine_config import MachineDraft
from firstlight.model.work import Configure, Work

TIMEOUT = 10.0
DISK = "/dev/sda"
"""What talosctl takes where no disk is declared."""


@dataclasses.dataclass(frozen=True)
class _Answer:
    """What a machine told."""

    silence: str = ""
    """Why it does not answer; empty where it does, even if only to say who it does not talk to."""
    lacks: tuple[str, ...] = ()
    talos: str = ""
    """The version that a bare machine runs."""
    is_bare: bool = False


async def machine_problems(
    work: Work, program: Path | None, reach: AddressBook, *, is_first: bool, lived: str = ""
) -> list[Diagnostic]:  # fmt: skip
    """The machines that do not answer, and what bare ones lack.

    Args:
        work: What is to be done.
        program: Where talosctl is.
        reach: Where machines are reached.
        is_first: Whether nothing was run here before. Later a machine may just be rebooting, and its step waits for it.
        lived: The UID of kube-system of the cluster that was brought up from here before; empty if none was.
    """
    wanted = [draft for each in work.tasks.values() if isinstance(each, Configure) for draft in each.drafts]
    if not wanted:
        return []
    if program is None:
        return [_without_program()]
    answers = await asyncio.gather(*(_asked(each, program, reach) for each in wanted))
    found = [_gone(work.cluster, lived)] if lived and _are_bare(wanted, answers) else []
    for draft, answer in zip(wanted, answers, strict=True):
        if answer.silence:
            is_control_plane = draft.machine.role == MachineRole.CONTROL_PLANE
            found.append(_problem(draft.machine, answer.silence, is_hard=is_first and is_control_plane))
        found += [_lacking(draft.machine, each) for each in answer.lacks]
    running = {draft.machine.name: answer.talos for draft, answer in zip(wanted, answers, strict=True)}
    skew = older_talosctl(
        await talosctl.Talosctl(program).client_version(), declared=work.cluster.talos, running=running
    )
    return [*found, *([_older(work.cluster, skew)] if skew else [])]


def older_talosctl(client: str, *, declared: str, running: Mapping[str, str]) -> str:
    """Return what talosctl is older than, for people; empty if it fits: one that is newer does.

    Args:
        client: The version of talosctl.
        declared: The Talos that the repo declares; may be empty.
        running: What bare machines run, by name; empty for those that do not say it.
    """
    line = versions.minor(client)
    said = {f"{name} ({talos})": versions.minor(talos) for name, talos in running.items()}
    said[f"the declared Talos {declared}"] = versions.minor(declared)
    newer = [what for what, other in said.items() if line and other and other > line]
    return f"talosctl {client} is older than {', '.join(newer)}" if newer else ""


async def _asked(draft: MachineDraft, program: Path, reach: AddressBook) -> _Answer:
    """What a machine tells to somebody whom it does not know: only a bare one tells more than that it is there."""
    stranger = talosctl.Talosctl(program, insecure=True)
    target = talosctl.MachineTarget.of(reach.machine(draft.machine.address))
    try:
        await stranger.machine_status(target, timeout=TIMEOUT)
        talos = (await stranger.version(target, timeout=TIMEOUT)).tag
        documents = declared(draft)
        if documents is None:
            return _Answer(talos=talos, is_bare=True)
        disks = [each.spec for each in await stranger.disks(target, timeout=TIMEOUT)]
        links = {each.id: each.spec for each in await stranger.links(target, timeout=TIMEOUT)}
    except (talosctl.TalosUnreachable, talosctl.TalosTimedOut) as error:
        return _Answer(silence=error.message)
    except talosctl.TalosError:
        return _Answer()
    return _Answer(lacks=hardware.missing(documents, disks=disks, links=links), talos=talos, is_bare=True)


def _are_bare(wanted: Sequence[MachineDraft], answers: Sequence[_Answer]) -> bool:
    """Whether no control plane has a config any more."""
    planes = [
        answer for draft, answer in zip(wanted, answers, strict=True) if draft.machine.role == MachineRole.CONTROL_PLANE
    ]
    return bool(planes) and all(each.is_bare for each in planes)


def _gone(cluster: Cluster, lived: str) -> Diagnostic:
    """A cluster that lived has lost all its control planes: another one of its name would begin."""
    return Diagnostic.error(
        "cluster-gone",
        f"{cluster.name} was brought up before (kube-system had the UID {lived}), and all its control planes "
        "are bare now",
        fix=f"See what can be done: firstlight recover {cluster.name}. With --do rebuild it comes back from Git.",
    )


def declared(draft: MachineDraft) -> tuple[Mapping[str, Any], ...] | None:
    """What the repo says of a machine's disk and interfaces, in its order; None where not all of it can be told yet."""
    found: list[Mapping[str, Any]] = []
    if draft.whole is None:
        found.append({"machine": {"install": {"disk": draft.install_disk or DISK}}})
    for each in (*([draft.whole] if draft.whole else []), *draft.patches):
        # What is encrypted is decrypted at the last moment, and only talosctl takes away what a patch takes away.
        if each.text is None or any(word in each.text.reveal() for word in (b"$patch", b"ignore:")):
            return None
        try:
            found += machine_configs.documents(each.text)
        except errors.Refused:
            return None
    return tuple(found)


def _lacking(machine: Machine, what: str) -> Diagnostic:
    return Diagnostic.error(
        "hardware-missing",
        f"{machine.name}: {what}",
        evidence=(Evidence("is declared", machine.place, where=machine.name),),
        fix="Correct the declaration, or look whether it is the machine that you mean.",
    )


def _problem(machine: Machine, why: str, *, is_hard: bool) -> Diagnostic:
    # A worker may come later; without every control plane nobody can tell whether etcd was bootstrapped before.
    noun = "control plane" if machine.role == MachineRole.CONTROL_PLANE else "worker"
    return Diagnostic(
        code="machine-silent", severity=Severity.ERROR if is_hard else Severity.WARNING,
        message=f"the {noun} {machine.name} does not answer at {machine.address}",
        evidence=(Evidence(why, machine.place, where=machine.name),),
        fix="Switch it on, boot it from the Talos medium, and look at address, cable and firewall (port 50000).",
    )  # fmt: skip


def _older(cluster: Cluster, skew: str) -> Diagnostic:
    return Diagnostic.warning(
        "talosctl-older",
        skew,
        evidence=(Evidence("declares the machines", cluster.place, where=cluster.name),),
        fix="Install a talosctl of their version, and put it on PATH or into FIRSTLIGHT_TALOSCTL.",
    )


def _without_program() -> Diagnostic:
    return Diagnostic.error(
        "program-missing",
        "machines are configured by talosctl, and it is missing",
        fix="firstlight tools install talosctl",
    )
