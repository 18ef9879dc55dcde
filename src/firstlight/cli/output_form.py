"""The JSON that commands print, as types. Each room declares its own in ``output_form.py``; these are shared.

A version counts changes that break readers: a field that goes, or means something else. New fields do not.
"""

import dataclasses
from typing import Any, TypedDict

from firstlight.model.diagnostic import Severity
from firstlight.model.fact import Confidence, Standing


@dataclasses.dataclass(frozen=True, slots=True)
class OutputForm:
    """The JSON of one command."""

    version: int
    shapes: tuple[Any, ...]
    """What it may print, one type for each way of calling it."""
    has_events: bool = False
    """Whether it also prints events of a run, each on a line of its own."""


class PlaceData(TypedDict):
    """A place in a file of the repo; line and column are 0 for the whole file."""

    path: str
    line: int
    column: int


class ObjectData(TypedDict):
    """A Kubernetes object; the group is empty for core, the namespace for what is cluster-wide."""

    group: str
    kind: str
    namespace: str
    name: str


class EvidenceData(TypedDict):
    """One thing that shows a diagnostic to be true; ``at`` is a moment in ISO 8601, empty if it is not known."""

    text: str
    where: str
    place: PlaceData | None
    at: str


class BasisData(TypedDict):
    """What a diagnostic rests on: how its weakest fact is known, how far that can be relied upon, and why."""

    standing: Standing
    confidence: Confidence
    why: str


class DiagnosticData(TypedDict):
    """Something wrong, doubtful or not understood; ``firstlight explain CODE`` tells more about its code."""

    code: str
    severity: Severity
    message: str
    places: list[PlaceData]
    fix: str
    subject: str
    evidence: list[EvidenceData]
    basis: BasisData


class FailureData(TypedDict):
    """Why a command failed, and what to do about it."""

    message: str
    hint: str


class ErrorData(TypedDict):
    """What every command prints instead of its answer where it fails."""

    error: FailureData


ERROR = "error"
EVENT = "event"
"""The lines that commands print while they carry out or follow a run, one event each."""
