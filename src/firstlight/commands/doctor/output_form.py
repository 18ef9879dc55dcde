"""The JSON of ``firstlight doctor``."""

from typing import TypedDict

from firstlight.cli.output_form import DiagnosticData, OutputForm


class NextData(TypedDict):
    """A command to run next."""

    command: str
    why: str


class SymptomData(DiagnosticData):
    """Something that does not work."""

    key: str
    layer: str
    since: str
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


OUTPUTS = {"doctor": OutputForm(2, (DiagnosisData,))}
