"""The JSON of ``firstlight down``."""

from typing import TypedDict

from firstlight.cli.output_form import OutputForm


class WipedData(TypedDict):
    """A machine that was wiped."""

    name: str
    address: str


class LeftAloneData(TypedDict):
    """A machine that was left alone."""

    name: str
    standing: str
    why: str


class DownData(TypedDict):
    """The machines of a cluster, wiped or left alone."""

    cluster: str
    wiped: list[WipedData]
    left: list[LeftAloneData]


OUTPUTS = {"down": OutputForm(1, (DownData,))}
