"""A config given to a machine: what stands against it, how it is sent, and whether it is in force."""

import asyncio
import dataclasses
import time

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.commands.node import declared_configs, machine_ready
from firstlight.commands.node.declared_configs import ConfigComparison, DeclaredConfigs
from firstlight.commands.node.machine_ready import TIMEOUT, ExpectedMachine
from firstlight.commands.node.node_rows import ConfigEquality
from firstlight.execute import cluster_access
from firstlight.execute.gate_wait import POLL
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.cluster import Machine
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.observe.machine_survey import MachineAccess

_AGAIN = "Run again: if it must reboot, that is asked before."


@dataclasses.dataclass(frozen=True, kw_only=True)
class NodeApplyOptions:
    """What was asked for."""

    timeout: float = TIMEOUT
    """Seconds for a machine to be well again."""
    tried: float = 0.0
    """Seconds after which a machine takes a config back that is not kept by then; 0 applies for good."""


def refuse_pending(found: ConfigComparison) -> None:
    """Somebody tries another config on it, or has staged one: to apply now would keep or lose that.

    Raises:
        errors.Refused: So it is.
    """
    if found.sight.equality is ConfigEquality.PENDING:
        raise errors.Refused(
            f"{found.machine.name}: {found.sight.reason}",
            hint="Wait until the trial is over. What is staged needs a reboot: firstlight node maintain",
        )


async def send_config(found: ConfigComparison, way: MachineAccess) -> None:
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
    except talosctl.TalosRejected as error:
        raise errors.Refused(
            f"{found.machine.name} does not take its config without a reboot: {error.detail}", hint=_AGAIN
        ) from error


async def in_force(machine: Machine, wanted: Secret, way: MachineAccess) -> Verdict:
    """Whether a machine runs with its config, for good: one that is about to reboot still answers as before."""
    try:
        if not await declared_configs.is_settled(machine, way):
            return Waiting(f"{machine.name} does not run with what it has on its disk yet")
        applied = await way.admin.apply_config(way.at(machine), wanted, dry_run=True)
    except talosctl.TalosError as error:
        return Waiting(f"{machine.name} does not tell its config: {error.detail}")
    return Passed() if applied.diff is None else Waiting(f"{machine.name} does not run with its new config yet")


def first_line(text: str) -> str:
    """The first line, without what Talos says after a colon at its end."""
    return text.splitlines()[0].strip().rstrip(":") if text.strip() else ""


# A config tried on a machine, which takes it back by itself, unless it is kept.
#
# Talos puts a config that is tried into force without writing it to the disk, and goes back after a time. Any other
# request for a config ends that time, also a dry run that is not one of the mode ``try``: then what is tried stays in
# force, and is lost with the next reboot. So nothing here asks in another mode, until the config is kept.


PART = 0.6
"""Of the time of a trial, in which the machine must be well; the rest is for the answer to whether it is kept."""
HOLDS = 10.0
"""Seconds for which it must be well without a break, or a quarter of the trial."""
LATE = 60.0
"""Seconds after its end in which a machine must have gone back."""


def trial_stages(machine: Machine, declared: DeclaredConfigs, asked: NodeApplyOptions) -> tuple[WalkStage, ...]:
    """It is tried, and kept if it is well with it."""
    one = _Trial(machine, declared, asked)
    return (
        WalkStage(id=f"{machine.name}:try", name=f"try on {machine.name}", look=one.look, wait=one.wait),
        WalkStage(id=f"{machine.name}:keep", name=f"keep on {machine.name}", look=one.keep, wait=one.kept),
    )


class _Trial:
    """One machine, and how long it still tries."""

    def __init__(self, machine: Machine, declared: DeclaredConfigs, asked: NodeApplyOptions) -> None:
        self._machine = machine
        self._declared = declared
        self._asked = asked
        self._begun = 0.0
        self._wanted: list[Secret] = []

    async def look(self, world: World) -> PendingChange | None:
        """What is to be tried; nothing where it is in force already, tried or kept."""
        way = await cluster_access.ensure(world)
        found = await self._compared(world, way)
        name = self._machine.name
        if found.is_equal:
            return None
        if await _is_active(found, way):
            # A run that was killed has begun it; how long ago is not known, and it may go back any time.
            self._begun = time.monotonic()
            return None
        refuse_pending(found)
        if found.sight.needs_reboot:
            why = first_line(found.sight.reason) or "Talos says so"
            raise errors.Refused(
                f"{name} cannot try it: it would reboot ({why}), and takes back only what needs no reboot",
                hint="Apply it without --try, on one machine first: --machine NAME",
            )
        if await declared_configs.persisted(self._machine, way) is None:
            raise errors.Refused(
                f"the Talos of {name} does not tell what it has on its disk", hint="Apply without --try."
            )

        async def perform() -> None:
            self._begun = time.monotonic()
            await way.admin.apply_config(way.at(self._machine), found.wanted, mode="try", try_timeout=self._asked.tried)

        return PendingChange(writes=(f"try the config of {name} for {self._asked.tried:g} s",), perform=perform)

    async def wait(self, world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        """Until it is well with it; else until it has gone back."""
        if not self._begun:
            return Passed("there is nothing to try"), ""
        tried = self._asked.tried
        verdict, _ = await machine_ready.wait_ready(
            self._machine,
            world,
            on_verdict,
            expected=ExpectedMachine(),
            timeout=tried * PART,
            holds=min(HOLDS, tried / 4),
        )
        if isinstance(verdict, Passed):
            return verdict, ""
        return await self._gone_back(world, on_verdict, why=verdict.reason)

    async def keep(self, world: World) -> PendingChange | None:
        """What is tried is kept, after a person has agreed."""
        way = await cluster_access.ensure(world)
        found = await self._compared(world, way)
        name = self._machine.name
        self._wanted = [] if found.is_equal else [found.wanted]
        if found.is_equal:
            return None
        if not await _is_active(found, way):
            raise errors.Refused(
                f"the trial is over: {name} has gone back to the config that it had", hint="Run again, with more time."
            )
        return PendingChange(
            writes=(f"keep the config of {name}",),
            perform=lambda: send_config(found, way),
            danger=f"{name} is well with its new config, and keeps it; without an answer it goes back by itself",
        )

    async def kept(self, world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        """Until it is in force for good, and the machine is well."""
        way = await cluster_access.ensure(world)
        return await machine_ready.wait_ready(
            self._machine, world, on_verdict, expected=ExpectedMachine(), timeout=self._asked.timeout,
            also=(lambda: in_force(self._machine, self._wanted[0], way)) if self._wanted else None,
        )  # fmt: skip

    async def _gone_back(self, world: World, on_verdict: OnVerdict, *, why: str) -> tuple[Verdict, str]:
        way = await cluster_access.ensure(world)
        name = self._machine.name
        on_verdict(Waiting(f"{name} is not well with it, and goes back by itself: {why}"))
        deadline = self._begun + self._asked.tried + LATE
        while not await _is_settled(self._machine, way):
            if time.monotonic() >= deadline:
                return Failed(f"{name} was not well with it ({why}), and cannot be seen to have gone back"), (
                    f"A reboot brings the config back that is on its disk: firstlight node maintain {name}"
                )
            await asyncio.sleep(POLL)
        return Failed(f"{name} was not well with it ({why}), and has gone back to the config that it had"), (
            "Nothing was kept, and no other machine was touched. Correct the config, and run again."
        )

    async def _compared(self, world: World, way: MachineAccess) -> ConfigComparison:
        return await declared_configs.compare(self._machine, self._declared, world, way)


async def _is_active(found: ConfigComparison, way: MachineAccess) -> bool:
    """Whether a machine that has not settled runs with the wanted config: then that is what it tries."""
    if found.sight.equality is not ConfigEquality.PENDING:
        return False
    try:
        applied = await way.admin.apply_config(way.at(found.machine), found.wanted, mode="try", dry_run=True)
    except talosctl.TalosRejected:
        return False
    return applied.diff is None


async def _is_settled(machine: Machine, way: MachineAccess) -> bool:
    """Whether a machine runs with what it has on its disk; one that does not answer is not known to."""
    try:
        return await declared_configs.is_settled(machine, way)
    except talosctl.TalosError:
        return False
