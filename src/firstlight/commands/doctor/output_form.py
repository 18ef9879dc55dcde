"""The JSON of ``firstlight doctor``."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm


class SeenData(TypedDict):
    """What shows it."""

    where: str
    text: str
    at: str


class NextData(TypedDict):
    """A command to run next."""

    command: str
    why: str


class SymptomData(TypedDict):
    """Something that does not work."""

    rule: str
    layer: str
    subject: str
    says: str
    title: str
    remedy: str
    since: str
    evidence: list[SeenData]
    next: list[NextData]
    because: list[str]


class CauseData(SymptomData):
    """A cause, with everything that only follows from it."""

    explains: list[SymptomData]


class DiagnosisData(TypedDict):
    """Why a cluster does not work; blind means that nothing could be looked at."""

    cluster: str
    asked: str
    fine: bool
    blind: bool
    causes: list[CauseData]
    looked: list[str]
    unseen: list[str]
    seconds: float


OUTPUTS = {"doctor": OutputForm(1, (DiagnosisData,))}
