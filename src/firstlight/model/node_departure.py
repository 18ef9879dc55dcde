"""A machine that is to leave its cluster: what it is now, what goes with it, and what speaks against it."""

import dataclasses
from typing import Literal

from firstlight.model.draining import Concern
from firstlight.model.machine_report import MachineReport
from firstlight.model.node_upgrade import Refusal

Wipe = Literal["partitions", "system-disk", "all"]
"""STATE and EPHEMERAL, so that the installed system boots into maintenance mode; the whole system disk; every disk."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """What was found before it."""

    cluster: str
    report: MachineReport
    members: tuple[str, ...] = ()
    """Ids of the members of etcd that are the machine's."""
    voting: int = 0
    """How many members vote now."""
    node: str = ""
    """Its node; empty where there is none."""
    concerns: tuple[Concern, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    warnings: tuple[str, ...] = ()
    declared: tuple[str, ...] = ()
    """What in the repo still declares it, with file and line."""
