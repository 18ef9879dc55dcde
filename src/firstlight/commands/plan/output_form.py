"""The JSON of ``firstlight plan``."""

from collections.abc import Sequence
from typing import TypedDict

from firstlight.cli.output_form import DiagnosticData, ObjectData, OutputForm, PlaceData


class StepNeedData(TypedDict):
    """A step that must come first."""

    step: str
    why: str
    tie: str
    place: PlaceData | None


class GateData(TypedDict):
    """What is waited for after a step."""

    subject: str
    component: str
    object: ObjectData | None


class HookData(TypedDict):
    """A command of the repo that a step runs."""

    run: Sequence[str]
    unless: Sequence[str]
    timeout: float
    place: PlaceData | None


class StepData(TypedDict):
    """A step; its wave is null where it can never begin."""

    id: str
    phase: str
    action: str
    name: str
    component: str
    side: str
    what: str
    targets: Sequence[str]
    wave: int | None
    needs: list[StepNeedData]
    gates: list[GateData]
    hooks: list[HookData]
    creates: list[ObjectData] | None
    place: PlaceData | None


class SmallestData(TypedDict):
    """The components that bootstrap needs at least."""

    needed: Sequence[str]
    missing: Sequence[str]
    withoutNeed: Sequence[str]
    unknown: Sequence[str]


class PlanData(TypedDict):
    """The plan of one cluster."""

    cluster: str
    blocked: bool
    rendered: bool
    steps: list[StepData]
    waves: list[list[str]]
    criticalPath: list[str]
    stuck: list[str]
    smallestBootstrap: SmallestData
    problems: list[DiagnosticData]


class PlansData(TypedDict):
    """The plan of each cluster."""

    plans: list[PlanData]


OUTPUTS = {"plan": OutputForm(2, (PlansData,))}
