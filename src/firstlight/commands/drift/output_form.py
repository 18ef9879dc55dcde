"""The JSON of ``firstlight drift``."""

from typing import Any, TypedDict

from firstlight.cli.output_form import ObjectData, OutputForm


class DriftedFieldData(TypedDict):
    """A field that differs, who wrote it and when."""

    path: str
    wanted: Any
    live: Any
    manager: str
    since: Any


class DriftedData(TypedDict):
    """An object that differs from Git."""

    object: ObjectData
    component: str
    owner: str
    difference: str
    says: str
    fields: list[DriftedFieldData]


class DriftData(TypedDict):
    """How a cluster differs from Git. With ``--watch`` there is one on each line."""

    cluster: str
    revision: str
    applied: list[str]
    drifted: list[DriftedData]
    compared: int
    dryRuns: int
    ignored: int
    unread: list[str]
    notes: list[str]


OUTPUTS = {"drift": OutputForm(1, (DriftData,))}
