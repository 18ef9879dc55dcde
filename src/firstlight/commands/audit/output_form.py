"""The JSON of ``firstlight audit``."""

from collections.abc import Mapping
from typing import Annotated, TypedDict

from msgspec import Meta

from firstlight.cli.output_form import DiagnosticData, OutputForm, PlaceData
from firstlight.commands.decide.output_form import TestsData
from firstlight.model.finding import PatternStanding

StandingWord = Annotated[str, Meta(extra_json_schema={"enum": [*PatternStanding]})]


class FindingData(DiagnosticData):
    """One finding: its code is the rule, its subject a component; its key stays the same where lines move."""

    clusters: list[str]
    fixable: bool
    key: str


class ExcusedData(FindingData):
    """A finding that somebody has excused: by what, why, until when, and where that is written."""

    by: str
    reason: str
    until: str | None
    excuse: PlaceData | None


class CellData(TypedDict):
    """Whether a cluster follows a pattern."""

    standing: StandingWord
    why: str
    rules: list[str]


class RowData(TypedDict):
    """A pattern, and a cell for each column."""

    pattern: str
    title: str
    cells: list[CellData]


class MatrixData(TypedDict):
    """Patterns against clusters; the last columns are reference platforms."""

    columns: list[str]
    references: int
    rows: list[RowData]


class UnjudgedData(TypedDict):
    """Something that a rule could not judge, and why."""

    rule: str
    why: str
    clusters: list[str]
    place: PlaceData | None


class AuditData(TypedDict):
    """An audit. With ``--watch`` there is one on each line."""

    repo: str
    clusters: list[str]
    findings: list[FindingData]
    excused: list[ExcusedData]
    unjudged: list[UnjudgedData]
    reasons: Mapping[str, str]
    remedies: list[str]
    matrix: MatrixData | None
    rules: int
    files: int
    asked: list[str]
    skipped: list[str]


class AuditCardData(TypedDict):
    """With ``--explain RULE``: everything about a rule."""

    id: str
    title: str
    group: str
    severity: str
    why: str
    fix: str
    finds: list[str]
    sets: list[str]
    patterns: list[str]
    sources: list[str]
    own: bool


class AuditCardsData(TypedDict):
    """With ``--explain`` alone: every rule."""

    rules: list[AuditCardData]


class RemedyStepData(TypedDict):
    """One step of a remedy."""

    text: str
    command: str
    side: str | None


class RemedyAnswerData(TypedDict):
    """A question that ``--answer KEY=VALUE`` answers."""

    key: str
    form: str
    question: str


class RemedyData(TypedDict):
    """With ``--remedy``: what to do, in steps, and the patch that goes with it."""

    rule: str
    title: str
    refused: list[str]
    questions: list[str]
    answers: list[RemedyAnswerData]
    steps: list[RemedyStepData]
    patch: str


OUTPUTS = {"audit": OutputForm(2, (AuditData, AuditCardData, AuditCardsData, RemedyData, TestsData))}
