"""What happens in a run: the lines of its journal, and what a screen is drawn from.

No event ever holds a secret: texts come masked, objects as names.
"""

import dataclasses

from firstlight.model.component import Phase


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepBrief:
    """As much of a step as is needed to tell of a run without its plan."""

    id: str
    phase: Phase
    name: str
    what: str = ""
    needs: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """A run begins."""

    at: float
    """Seconds since the epoch, here and in every event."""
    run: str
    """Its id: the time and a few letters."""
    cluster: str
    steps: tuple[StepBrief, ...]
    revision: str = ""
    """The commit that was rendered."""
    version: str = ""
    """Firstlight's own."""
    who: str = ""
    """``user@host``, and the process."""
    is_rehearsal: bool = False
    is_dry_run: bool = False
    command: str = "up"
    """The one that began it, and goes on with it: ``up``, ``handover``, ``node upgrade``."""
    again: str = ""
    """What else has to be typed to go on with it: ``infra --talos v1.13.1``; empty for the cluster alone."""

    @property
    def is_walk(self) -> bool:
        """Whether it is work on a cluster that lives, and has no phases."""
        return self.command not in ("up", "handover")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepStarted:
    """A step has all that it needs, and looks at the world."""

    at: float
    step: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """A step is about to write, and what; said before it happens."""

    at: float
    step: str
    writes: tuple[str, ...]
    """``create Deployment kube-system/cilium-operator``, ``apply the config of cp-1``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """How far a step is: ``cp-1: installs, and boots``."""

    at: float
    step: str
    text: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The verdict of a step's gates has changed."""

    at: float
    step: str
    gate: str
    """``workload cert-manager/cert-manager-webhook``."""
    verdict: str
    """passed, waiting, failed or skipped."""
    reason: str = ""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepEnded:
    """A step has its outcome."""

    at: float
    step: str
    verdict: str
    """passed, failed, skipped, or waiting for one that was given up."""
    reason: str = ""
    hint: str = ""
    """What to try next."""
    writes: int = 0
    """How many things it wrote."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RunEnded:
    """The run is over; one that was killed has none of these."""

    at: float
    verdict: str
    reason: str = ""
    writes: int = 0


Event = RunStarted | StepStarted | Writing | Told | Judged | StepEnded | RunEnded
