"""The JSON of ``firstlight boundary``."""

from collections.abc import Sequence
from typing import Any, TypedDict

from firstlight.cli.output_form import DiagnosticData, OutputForm


class DifferenceData(TypedDict):
    """A field that bootstrap and GitOps write differently."""

    path: Sequence[str]
    bootstrap: Any
    gitops: Any
    words: str
    replacesPods: bool
    immutable: bool


class ConsequenceData(TypedDict):
    """What will happen, and when."""

    event: str
    effect: str
    severity: str


class ComparedData(TypedDict):
    """An object that one side or both apply."""

    group: str
    kind: str
    namespace: str
    name: str
    standing: str
    differences: list[DifferenceData]
    consequences: list[ConsequenceData]


class VersionsData(TypedDict):
    """The version on each side."""

    bootstrap: str
    gitops: str


class StaysData(TypedDict):
    """What stays with Talos, and what that means."""

    event: str
    effect: str


class BoundaryData(TypedDict):
    """A component that both sides apply."""

    component: str
    cluster: str
    versions: VersionsData
    equal: bool
    stays: StaysData | None
    objects: list[ComparedData]
    diagnostics: list[DiagnosticData]


class BoundariesData(TypedDict):
    """Every component that both sides apply."""

    equal: bool
    components: list[BoundaryData]


OUTPUTS = {"boundary": OutputForm(2, (BoundariesData,))}
