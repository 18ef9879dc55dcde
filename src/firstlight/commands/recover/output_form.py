"""The JSON of ``firstlight recover``; most of what ``--do`` carries out prints events."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.commands.doctor.output_form import CauseData


class BrokenPartData(TypedDict):
    """A part of a cluster, and how it is."""

    name: str
    condition: str
    says: str


class BrokenData(CauseData):
    """Something that is broken, in which part of the cluster, and what follows from it."""

    part: str


class OptionNeedData(TypedDict):
    """What a way back needs; null where it is not known whether it is there."""

    says: str
    met: bool | None


class OptionData(TypedDict):
    """A way back."""

    name: str
    on: str
    does: str
    risk: str
    needs: list[OptionNeedData]
    possible: bool
    byHand: bool
    answers: list[str]
    commands: list[str]


class AssessmentData(TypedDict):
    """What is broken, and the ways back; blind means that nothing answered."""

    cluster: str
    fine: bool
    blind: bool
    parts: list[BrokenPartData]
    broken: list[BrokenData]
    options: list[OptionData]
    looked: list[str]
    unseen: list[str]
    seconds: float


class WouldWriteData(TypedDict):
    """With ``--do kubeconfig`` or ``talosconfig`` and ``--dry-run``."""

    cluster: str
    option: str
    would: list[str]


class WrittenData(TypedDict):
    """With ``--do kubeconfig`` or ``talosconfig``."""

    cluster: str
    option: str
    written: list[str]


class DrillData(TypedDict):
    """With ``--drill``: what came of it."""

    cluster: str
    scenario: str
    fine: bool
    option: str
    diagnosed: float
    repaired: float
    compared: int
    lost: list[str]
    code: int
    untried: str
    recorded: str


class ScenarioData(TypedDict):
    """A scenario that can be practised."""

    id: str
    what: str
    how: str
    option: str


OUTPUTS = {
    "recover": OutputForm(
        2, (AssessmentData, WouldWriteData, WrittenData, DrillData, list[ScenarioData]), has_events=True
    ),
}
