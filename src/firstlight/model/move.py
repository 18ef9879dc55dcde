"""A component that changes sides: where it is and where it goes, what speaks against it, what is edited for it."""

import dataclasses
import enum

from firstlight.model.component import Phase
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.finding import FileEdit
from firstlight.model.place import Place


class Seat(enum.StrEnum):
    """Who brings a component, and who has it in the end."""

    GITOPS = "gitops"
    """The engine brings it, and owns it."""
    HANDED_OVER = "bootstrap, then gitops"
    """Bootstrap brings it in a cold start, and the engine takes it over."""
    KEPT = "bootstrap"
    """Bootstrap brings it and keeps it; what Git's engine has of it rests."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MoveRequest:
    """What was asked for."""

    component: str
    seat: Seat
    cluster: str = ""
    """Only there; everywhere that has it, if it is empty."""
    phase: Phase = Phase.CORE
    """In which phase of bootstrap, where it goes there."""
    why: str = ""
    """Why it is in bootstrap."""
    home: str = ""
    """The directory for what Git gets of it, where it has nothing yet."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """What a person must write, since it cannot be done without touching more than is meant."""

    place: Place
    text: str
    """What to write there; a sentence, or lines of a file."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MoveProposal:
    """How the repo says what is wished."""

    edits: tuple[FileEdit, ...] = ()
    by_hand: tuple[Instruction, ...] = ()
    notes: tuple[str, ...] = ()
    """What is good to know of it."""
    eased: tuple[str, ...] = ()
    """Components that do not name it as a need any more."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapDependent:
    """What in bootstrap needs a component."""

    name: str
    why: str
    place: Place | None = None
    is_fact: bool = False
    """It cannot work without; else the repo only says so, or a script has that order."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MoveAnalysis:
    """What a move means for a cold start of one cluster."""

    cluster: str
    before: Seat
    after: Seat
    is_needed: bool
    """Whether the engine cannot start without it."""
    users: tuple[BootstrapDependent, ...] = ()
    """What in bootstrap needs it now."""
    new: tuple[Diagnostic, ...] = ()
    """What stands in the way of a cold start that did not before, or may go wrong."""
    solved: tuple[Diagnostic, ...] = ()
    """What does not any more."""
    is_rendered: bool = False

    @property
    def is_deadlocked(self) -> bool:
        """Whether a cold start would not come to its end any more."""
        return any(each.severity == "error" for each in self.new)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Relocation:
    """That objects pass from one Kustomization or Application to another."""

    what: str
    """A component, or a file or directory that a kustomization lists."""
    into: str
    """Who is to have it: the component, or the name of the Kustomization or Application."""
    cluster: str = ""
    """Only there; wherever it is, if it is empty."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class OwnerSplit:
    """That a part of what an owner applies gets an owner of its own, as the settings of a hybrid beside its core."""

    component: str
    name: str
    """Of the new owner."""
    only: tuple[str, ...] = ()
    """Files or directories that pass; without any all that configures the component."""
    cluster: str = ""
    """Only there; wherever it is, if it is empty."""

    @property
    def what(self) -> str:
        """What is split."""
        return self.component

    @property
    def into(self) -> str:
        """Who gets the part."""
        return self.name
