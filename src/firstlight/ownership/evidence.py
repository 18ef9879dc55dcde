"""What was seen of an object after a handover: itself, and what the server answered to applies as the engine."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.ownership.field_set import FieldSet, Path


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What the server answered to an apply that was only tried."""

    after: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    """The object as it would be; None where the server would not."""
    is_same: bool = False
    changed: tuple[str, ...] = ()
    """Paths of fields that would change."""
    refusal: str = ""
    """Why the server would not take it."""
    is_possible: bool = True
    """False where it cannot be tried at all, such as for a webhook that does not take dry runs."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Repetition:
    """What a repeated apply did."""

    before: str
    after: str
    """Resource versions; equal where nothing was written."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Omission:
    """What became of a field that was left out, in a dry run."""

    path: Path
    is_gone: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that was seen of one object."""

    passing: Passing
    id: ObjectId
    """With the namespace that it is in."""
    live: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    has_holder: bool = True
    """Whether the engine's object that is to have it is there."""
    fault: str = ""
    """Why that one does not work on what it has: suspended, failing, being deleted; empty if it does."""
    is_listed: bool | None = None
    """Whether that one lists it as its own; None where it keeps no list."""
    fields: FieldSet = dataclasses.field(default_factory=FieldSet)
    """What Git has, with the marks of the engine, as the server sees it."""
    extra: FieldSet = dataclasses.field(default_factory=FieldSet)
    """What the engine adds by itself, and would stay as it is if it did not."""
    attempt: Attempt | None = None
    repetition: Repetition | None = None
    omission: Omission | None = None
    is_client_side: bool = False
    """Whether Helm or Argo CD wrote it without server-side apply."""
    left: tuple[str, ...] = ()
    """Fields that Git has and a controller is meant to write: they were left out of what was tried."""
    restless: str = ""
    """Why nothing could be told: somebody writes it all the time."""
