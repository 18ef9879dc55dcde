"""The JSON of ``firstlight tools``."""

from collections.abc import Mapping
from typing import TypedDict

from firstlight.cli.output_form import OutputForm


class FoundToolData(TypedDict):
    """What is used."""

    version: str | None
    path: str
    where: str


class PassedOverData(TypedDict):
    """What was found and does not do."""

    path: str
    where: str
    why: str


class ToolData(TypedDict):
    """A program, a lab component or content."""

    name: str
    kind: str
    summary: str
    needed: str
    version: str
    found: FoundToolData | None
    passedOver: list[PassedOverData]
    problem: str
    usedBy: list[str]
    sets: list[str]
    ways: list[str]
    buildSeconds: float
    byHand: str
    variable: str


class MissingLimitData(TypedDict):
    """A limit that the kernel does not grant."""

    what: str
    kind: str
    reason: str


class IsolationData(TypedDict):
    """How far programs can be limited."""

    missing: list[MissingLimitData]


class ToolsData(TypedDict):
    """What is needed, and what is there."""

    cache: str
    tools: list[ToolData]
    isolation: IsolationData


class InstalledData(TypedDict):
    """Where each tool is that was asked for."""

    tools: Mapping[str, str]


class ToolPathData(TypedDict):
    """Where a tool is."""

    name: str
    path: str


class DamagedData(TypedDict):
    """Something in the cache whose checksum is wrong."""

    path: str
    why: str
    removed: bool


class ToolsVerifiedData(TypedDict):
    """How many entries of the cache are sound, and which are damaged."""

    sound: int
    damaged: list[DamagedData]


class ToolsRemovedData(TypedDict):
    """What was removed from the cache."""

    removed: list[str]


OUTPUTS = {
    "tools": OutputForm(1, (ToolsData,)),
    "tools install": OutputForm(1, (InstalledData,)),
    "tools list": OutputForm(1, (ToolsData,)),
    "tools path": OutputForm(1, (ToolPathData,)),
    "tools remove": OutputForm(1, (ToolsRemovedData,)),
    "tools verify": OutputForm(1, (ToolsVerifiedData,)),
}
