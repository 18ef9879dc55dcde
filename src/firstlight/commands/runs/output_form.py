"""The JSON of ``firstlight runs``."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm


class RunBriefData(TypedDict):
    """A run in the list."""

    run: str
    cluster: str
    outcome: str
    reason: str
    started: str
    seconds: float
    steps: int
    writes: int
    who: str
    rehearsal: bool
    dryRun: bool


class PhaseData(TypedDict):
    """How far a phase is."""

    phase: str
    state: str
    done: int
    total: int
    seconds: float


class GateRunData(TypedDict):
    """What is waited for, and the last verdict."""

    gate: str
    verdict: str
    reason: str
    seconds: float


class StepRunData(TypedDict):
    """How far a step is."""

    id: str
    phase: str
    name: str
    what: str
    needs: list[str]
    state: str
    since: str | None
    seconds: float
    reason: str
    hint: str
    told: str
    gaveUp: bool
    announced: list[str]
    writes: int
    gates: list[GateRunData]
    causes: list[str]


class WaitCauseData(TypedDict):
    """A step that failed, and the steps that it blocks."""

    step: str
    blocks: list[str]


class RunData(TypedDict):
    """A run: its phases, steps, gates and waits."""

    run: str
    cluster: str
    outcome: str
    reason: str
    started: str | None
    ended: str | None
    seconds: float
    writes: int
    notes: list[str]
    revision: str
    version: str
    who: str
    rehearsal: bool
    dryRun: bool
    phases: list[PhaseData]
    steps: list[StepRunData]
    causes: list[WaitCauseData]
    staysWithTalos: list[str]
    criticalPath: list[str]


class RunListData(TypedDict):
    """All runs, newest first."""

    runs: list[RunBriefData]


class OneRunData(TypedDict):
    """One run."""

    run: RunData


class TimelineData(TypedDict):
    """With ``--timeline``: which run was drawn, and where."""

    run: str
    timeline: str


OUTPUTS = {"runs": OutputForm(1, (RunListData, OneRunData, TimelineData))}
