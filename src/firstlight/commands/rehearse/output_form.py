"""The JSON of ``firstlight rehearse``."""

from typing import TypedDict

from firstlight.cli.output_form import DiagnosticData, OutputForm
from firstlight.commands.verify.output_form import VerificationData


class RehearsedStepData(TypedDict):
    """A step as it went in the lab."""

    id: str
    phase: str
    name: str
    component: str
    verdict: str
    seconds: float
    writes: int
    reason: str
    hint: str
    needs: list[str]


class MappedData(TypedDict):
    """What the lab had instead of what is declared."""

    what: str
    declared: str
    lab: str


class SimulatedData(TypedDict):
    """What was simulated, and how."""

    name: str
    how: str


class UntriedData(TypedDict):
    """What could not be tried."""

    what: str
    why: str
    component: str
    hint: str


class RehearsalData(TypedDict):
    """The report of a rehearsal."""

    cluster: str
    verdict: str
    refused: str
    problems: list[DiagnosticData]
    causes: list[RehearsedStepData]
    unjudged: list[RehearsedStepData]
    revision: str
    labRevision: str
    changedFiles: int
    seconds: float
    lab: str
    kept: bool
    mapping: list[MappedData]
    simulated: list[SimulatedData]
    notes: list[str]
    untried: list[UntriedData]
    steps: list[RehearsedStepData]
    verification: VerificationData | None


OUTPUTS = {"rehearse": OutputForm(2, (RehearsalData,))}
