"""The JSON of ``firstlight status``; with ``--watch`` it prints events."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.commands.runs.output_form import RunData


class StatusData(TypedDict):
    """The newest run; null where none was made yet."""

    run: RunData | None


OUTPUTS = {"status": OutputForm(1, (StatusData,), has_events=True)}
