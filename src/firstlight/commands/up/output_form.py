"""The JSON of ``firstlight up --check``; a run prints events."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.commands.plan.output_form import ProblemData


class CheckedData(TypedDict):
    """What stands in the way of a run."""

    cluster: str
    blocked: bool
    problems: list[ProblemData]


OUTPUTS = {"up": OutputForm(1, (CheckedData,), has_events=True)}
