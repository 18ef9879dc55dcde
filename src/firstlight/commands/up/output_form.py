"""The JSON of ``firstlight up --check``; a run prints events."""

from typing import TypedDict

from firstlight.cli.output_form import DiagnosticData, OutputForm


class CheckedData(TypedDict):
    """What stands in the way of a run."""

    cluster: str
    blocked: bool
    problems: list[DiagnosticData]


OUTPUTS = {"up": OutputForm(2, (CheckedData,), has_events=True)}
