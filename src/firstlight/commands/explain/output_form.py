"""The JSON of ``firstlight explain``."""

from collections.abc import Sequence
from typing import TypedDict

from firstlight.cli.output_form import OutputForm, PlaceData


class SentenceData(TypedDict):
    """A sentence, with where it is written and the command that shows it."""

    text: str
    place: PlaceData | None
    command: str


class PartData(TypedDict):
    """A part of an explanation."""

    name: str
    sentences: list[SentenceData]


class MeaningData(TypedDict):
    """One meaning of the word."""

    sort: str
    name: str
    clusters: Sequence[str]
    parts: list[PartData]
    see: Sequence[str]


class MeaningsData(TypedDict):
    """Every meaning of the word."""

    meanings: list[MeaningData]


class LinkData(TypedDict):
    """A stage of the way from bare machines to the last application."""

    name: str
    says: str
    phase: str
    side: str
    level: int
    members: Sequence[str]


class ChainData(TypedDict):
    """The way of one cluster."""

    cluster: str
    engine: str
    url: str
    path: str
    links: list[LinkData]


class ChainsData(TypedDict):
    """The way of each cluster, from bare machines to the last application."""

    chains: list[ChainData]


OUTPUTS = {"explain": OutputForm(1, (MeaningsData, ChainsData))}
