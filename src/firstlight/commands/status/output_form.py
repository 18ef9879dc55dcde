"""The JSON of ``firstlight status``; with ``--watch`` it prints events."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm
from firstlight.commands.runs.output_form import RunData


class OpenOverrideData(TypedDict):
    """An override that is not over."""

    id: str
    cluster: str
    reason: str
    until: str
    expired: bool


class StatusData(TypedDict):
    """The newest run, null where none was made yet; and the overrides that this computer knows to be open."""

    run: RunData | None
    overrides: list[OpenOverrideData]


OUTPUTS = {"status": OutputForm(2, (StatusData,), has_events=True)}
