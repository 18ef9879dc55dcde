"""The JSON of ``firstlight move``."""

from collections.abc import Sequence
from typing import TypedDict

from firstlight.cli.output_form import DiagnosticData, ObjectData, OutputForm


class InstructionData(TypedDict):
    """What a person must write."""

    file: str
    line: int
    text: str


class PassedOwnerData(TypedDict):
    """How many objects pass to an owner."""

    owner: str
    objects: int


class MoveRehearsalData(TypedDict):
    """A move that was rehearsed in the lab."""

    cluster: str
    fine: bool
    lab: str
    kept: bool
    broughtUp: float
    moved: float
    passing: bool
    passed: list[PassedOwnerData]
    certificate: str | None
    pods: int
    replaced: list[str]
    deleted: list[str]
    secondRun: str | None
    written: list[str]
    failed: str | None
    hint: str
    simulated: list[str]
    untried: list[str]


class EditsData(TypedDict):
    """The edits of the repo."""

    byHand: list[InstructionData]
    notes: Sequence[str]
    patch: str
    written: bool
    refused: str | None
    rehearsals: list[MoveRehearsalData]


class UserData(TypedDict):
    """Who needs the component."""

    name: str
    why: str
    place: str
    fact: bool


class MoveAnalysisData(TypedDict):
    """What a move means for a cluster."""

    cluster: str
    before: str
    after: str
    needed: bool
    users: list[UserData]
    deadlocked: bool
    new: list[DiagnosticData]
    solved: list[DiagnosticData]
    rendered: bool


class MoveData(EditsData):
    """A component that moves to the other side."""

    component: str
    to: str
    clusters: list[MoveAnalysisData]


PassedObjectData = TypedDict("PassedObjectData", {"cluster": str, "object": ObjectData, "from": str, "to": str})
PassedObjectData.__doc__ = "An object that passes from one owner to another."


class RelocationData(EditsData):
    """With ``--into`` or ``--split``: files that pass to another owner."""

    what: str
    into: str
    passed: list[PassedObjectData]
    new: list[DiagnosticData]


OUTPUTS = {"move": OutputForm(2, (MoveData, RelocationData))}
