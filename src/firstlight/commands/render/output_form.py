"""The JSON of ``firstlight render``."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from firstlight.cli.output_form import DiagnosticData, ObjectData, OutputForm
from firstlight.model.rendition import VersionPin

RenditionData = TypedDict(
    "RenditionData",
    {
        "component": str,
        "cluster": str,
        "side": str,
        "from": str,
        "pins": Sequence[VersionPin],
        "seconds": float,
        "cached": bool,
        "objects": list[Mapping[str, Any]] | int,
        "crds": int,
        "whole": bool,
        "diagnostics": list[DiagnosticData],
    },
)
RenditionData.__doc__ = "One side of a component, rendered; of several components the objects are only counted."


class RenditionsData(TypedDict):
    """What was rendered."""

    renditions: list[RenditionData]


class CrdData(TypedDict):
    """A CRD, and the components that bring it."""

    name: str
    cluster: str
    components: Sequence[str]
    versions: Sequence[str]
    object: Mapping[str, Any]


class CrdsData(TypedDict):
    """With ``--crds``: the CRDs of what was rendered."""

    crds: list[CrdData]
    diagnostics: list[DiagnosticData]


class BytesData(TypedDict):
    """The size of an inline manifest."""

    before: int
    after: int


class InlineChangeData(ObjectData):
    """An object of an inline manifest that changes."""

    what: str
    diff: list[str]


class LeftOutData(ObjectData):
    """An object that is not embedded."""

    reason: str


class SinceData(TypedDict):
    """A commit that changed what a stale inline manifest is made from."""

    commit: str
    subject: str


class InlineData(TypedDict):
    """With ``--inline``: an inline manifest, compared with what its component renders to."""

    component: str
    cluster: str
    path: str
    name: str
    line: int
    omni: bool
    state: str
    stale: bool
    since: list[SinceData]
    refused: bool
    written: bool
    bytes: BytesData
    objects: list[ObjectData]
    changes: list[InlineChangeData]
    leftOut: list[LeftOutData]
    addedCrds: list[str]
    kept: list[str]
    diagnostics: list[DiagnosticData]


OUTPUTS = {"render": OutputForm(2, (RenditionsData, CrdsData, InlineData))}
