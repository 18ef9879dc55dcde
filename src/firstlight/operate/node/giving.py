"""A config given to a machine: what stands against it, how it is sent, and whether it is in force."""

import dataclasses

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.model.cluster import Machine
from firstlight.model.node import Equality
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe.machines import Way
from firstlight.operate.node import comparing
from firstlight.operate.node.coming_back import TIMEOUT
from firstlight.operate.node.comparing import Compared

_AGAIN = "Run again: if it must reboot, that is asked before."


@dataclasses.dataclass(frozen=True, kw_only=True)
class Asked:
    """What was asked for."""

    timeout: float = TIMEOUT
    """Seconds for a machine to be well again."""
    tried: float = 0.0
    """Seconds after which a machine takes a config back that is not kept by then; 0 applies for good."""


def refuse_pending(found: Compared) -> None:
    """Somebody tries another config on it, or has staged one: to apply now would keep or lose that.

    Raises:
        errors.Refused: So it is.
    """
    if found.sight.equality is Equality.PENDING:
        raise errors.Refused(
            f"{found.machine.name}: {found.sight.reason}",
            hint="Wait until the trial is over. What is staged needs a reboot: firstlight node maintain",
        )


async def give(found: Compared, way: Way) -> None:
    """Apply it for good; nobody has agreed to a reboot that was not foreseen.

    Raises:
        errors.Refused: It would need one.
    """
    target = way.at(found.machine)
    if found.sight.needs_reboot:
        await way.admin.apply_config(target, found.wanted)
        return
    try:
        await way.admin.apply_config(target, found.wanted, mode="no-reboot")
    except talosctl.Rejected as error:
        raise errors.Refused(
            f"{found.machine.name} does not take its config without a reboot: {error.detail}", hint=_AGAIN
        ) from error


async def in_force(machine: Machine, wanted: Secret, way: Way) -> Verdict:
    """Whether a machine runs with its config, for good: one that is about to reboot still answers as before."""
    try:
        if not await comparing.is_settled(machine, way):
            return Waiting(f"{machine.name} does not run with what it has on its disk yet")
        applied = await way.admin.apply_config(way.at(machine), wanted, dry_run=True)
    except talosctl.TalosError as error:
        return Waiting(f"{machine.name} does not tell its config: {error.detail}")
    return Passed() if applied.diff is None else Waiting(f"{machine.name} does not run with its new config yet")


def first_line(text: str) -> str:
    """The first line, without what Talos says after a colon at its end."""
    return text.splitlines()[0].strip().rstrip(":") if text.strip() else ""
