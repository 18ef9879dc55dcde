"""How an engine's own objects are told to rest in Git: one line for each kind that can.

What rests applies nothing and prunes nothing, whatever becomes of it: so bootstrap may keep what it declares.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.component import Form, Origin
from firstlight.ownership import engine_marks


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """How one kind rests."""

    group: str
    """Of its API."""
    steps: tuple[str, ...]
    """Where it is said."""
    value: Any
    words: str
    """The same for people, as it is written."""


RESTS: Mapping[Form, Rest] = {
    Form.KUSTOMIZATION: Rest(
        group="kustomize.toolkit.fluxcd.io", steps=("spec", "suspend"), value=True, words="suspend: true"
    ),
    Form.HELM_RELEASE: Rest(
        group="helm.toolkit.fluxcd.io", steps=("spec", "suspend"), value=True, words="suspend: true"
    ),
    Form.APPLICATION: Rest(
        group="argoproj.io", steps=("metadata", "annotations", engine_marks.SKIP), value="true",
        words=f'the annotation {engine_marks.SKIP}: "true"',
    ),
}  # fmt: skip


def is_declared(origin: Origin) -> bool:
    """Whether Git lets what declares a component rest; an Application that only nobody syncs does not."""
    return engine_marks.is_suspended(origin.definition) if origin.definition else origin.suspended
