"""The JSON of ``firstlight override``."""

import dataclasses
from typing import TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.model.override import AppliedChange, Override


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverrideData(Override):
    """An override."""

    expired: bool
    over: bool


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverrideStatusData(OverrideData):
    """An override as it stands; what Git has is null where it was not compared."""

    awake: tuple[str, ...]
    aligned_in_git: bool | None
    not_in_git: tuple[str, ...]
    is_copy: bool
    next: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class EndedOverrideData(OverrideData):
    """An override that is over, and where its incident record is."""

    incident: str


class IncidentData(TypedDict):
    """An incident record of this computer."""

    id: str
    cluster: str
    day: str
    path: str
    reviewed: bool


class IncidentsData(TypedDict):
    """The incident records of a cluster."""

    cluster: str
    incidents: list[IncidentData]


class OverridesData(TypedDict):
    """Every override of a cluster."""

    cluster: str
    overrides: list[OverrideStatusData]


class AppliedChangesData(TypedDict):
    """What was just changed past Git."""

    id: str
    changes: list[AppliedChange]


class RouteAnswerData(TypedDict):
    """A question of the flowchart, and its answer."""

    question: str
    yes: bool
    seen: str


class RouteData(TypedDict):
    """The flowchart as it was walked."""

    path: str
    answers: list[RouteAnswerData]


class BegunData(TypedDict):
    """The override that was begun."""

    begun: OverrideData


class NotBegunData(TypedDict):
    """Nothing was begun, since another way is right."""

    begun: None
    route: RouteData


class AlignedData(TypedDict):
    """A field that the repo will say."""

    object: str
    field: str
    file: str
    line: int
    says: str


class AlignmentChoiceData(TypedDict):
    """One way of saying it."""

    choose: str
    says: str


class OpenFieldData(TypedDict):
    """A field for which the place is not clear."""

    object: str
    field: str
    why: str
    choices: list[AlignmentChoiceData]
    obstacles: list[str]


class AlignmentData(TypedDict):
    """The edits that make Git say what was overridden."""

    override: str | None
    aligned: list[AlignedData]
    open: list[OpenFieldData]
    patch: str
    written: bool
    commit: str | None


OUTPUTS = {
    "override abort": OutputForm(1, (EndedOverrideData,)),
    "override align": OutputForm(1, (AlignmentData,)),
    "override apply": OutputForm(1, (AppliedChangesData,)),
    "override begin": OutputForm(1, (BegunData, NotBegunData)),
    "override delete": OutputForm(1, (AppliedChangesData,)),
    "override end": OutputForm(1, (EndedOverrideData,)),
    "override review": OutputForm(1, (IncidentsData,)),
    "override status": OutputForm(1, (OverridesData,)),
}
