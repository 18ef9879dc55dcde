"""What becomes of a machine config: whether it is valid, and what applying it did."""

import dataclasses
from typing import Literal

from firstlight.model.secret import Secret

ApplyMode = Literal["auto", "no-reboot", "reboot", "staged", "try"]
Effect = Literal["at-once", "reboot", "staged", "tried", "unknown"]
Kind = Literal["controlplane", "worker", "talosconfig"]
"""What can be generated from a cluster's secrets."""
ValidationMode = Literal["metal", "cloud", "container"]


@dataclasses.dataclass(frozen=True)
class Applied:
    """What a machine did, or would do, with a config."""

    effect: Effect
    """``at-once``: without a reboot. ``tried``: as that, and taken back later. ``unknown``: in words not known here."""
    is_dry_run: bool
    reason: str = ""
    """Why a reboot is needed, if it is."""
    warnings: tuple[str, ...] = ()
    diff: Secret | None = None
    """What changes, which may show keys and tokens; None if nothing does, or if Talos did not say."""

    @property
    def needs_reboot(self) -> bool:
        """Whether the machine reboots for it, now or later; what is not known to do without does."""
        return self.effect not in {"at-once", "tried"}


@dataclasses.dataclass(frozen=True)
class Validation:
    """Whether a config would be accepted."""

    problems: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_valid(self) -> bool:
        """Whether there is no problem; warnings are none."""
        return not self.problems
