"""What a check has to say, and how several things that it found become one answer."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.model.component import ObjectId
from firstlight.model.decision import ChangeCheck, CheckState
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

_ORDER = (CheckState.FAILED, CheckState.PERSON, CheckState.PASSED, CheckState.SKIPPED)
"""The worst first: what was skipped says nothing against what was looked at."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One thing that a check found."""

    state: CheckState
    says: str
    """A sentence without a full stop."""
    todo: str = ""
    """What to do next."""
    place: Place | None = None

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place is not None else ""
        return f"{place}{self.says}" + (f"; {self.todo}" if self.todo else "")


def failed(says: str, *, todo: str = "", place: Place | None = None) -> Note:
    """Something that is wrong."""
    return Note(state=CheckState.FAILED, says=says, todo=todo, place=place)


def person(says: str, *, todo: str = "", place: Place | None = None) -> Note:
    """Something that somebody has to look at."""
    return Note(state=CheckState.PERSON, says=says, todo=todo, place=place)


def passed(says: str, *, place: Place | None = None) -> Note:
    """Something that is as it must be."""
    return Note(state=CheckState.PASSED, says=says, place=place)


def skipped(says: str, *, todo: str = "") -> Note:
    """Something that could not be looked at, and why."""
    return Note(state=CheckState.SKIPPED, says=says, todo=todo)


def of_verdict(name: str, verdict: Verdict, *, todo: str = "", again: str = "") -> Note:
    """What a gate says of something.

    Args:
        name: What it is called.
        verdict: What the gate says.
        todo: What to do if it is not well.
        again: When to look once more at what may still become well.
    """
    match verdict:
        case Passed(reason):
            return passed(f"{name}: {reason}" if reason else f"{name} is well")
        case Skipped(reason):
            return skipped(f"{name}: {reason}")
        case Waiting(reason):
            return failed(f"{name} is not there yet: {reason}", todo=". ".join(each for each in (again, todo) if each))
        case Failed(reason):
            return failed(f"{name}: {reason}", todo=todo)


def together(check: ChangeCheck, notes: Sequence[Note]) -> ChangeCheck:
    """A check with its answer: the worst of what was found speaks, the rest stands below it.

    Args:
        check: With its id, moment and title.
        notes: What was found; without any it does not apply.
    """
    if not notes:
        return dataclasses.replace(check, state=CheckState.SKIPPED, says="nothing of this is in the change")
    ranked = sorted(notes, key=lambda each: _ORDER.index(each.state))
    state = ranked[0].state
    speaking = [each for each in ranked if each.state == state]
    rest = ranked[len(speaking) :]
    says = _says(speaking)
    is_said = len(speaking) == 1 or state in (CheckState.PASSED, CheckState.SKIPPED)
    lines = [str(each) for each in (() if is_said else speaking)] + [_line(each) for each in rest]
    place = next((each.place for each in speaking if each.place is not None), None)
    return dataclasses.replace(check, state=state, says=says, details=tuple(dict.fromkeys(lines)), place=place)


def _says(speaking: Sequence[Note]) -> str:
    """All that fits on one line; of what needs somebody, what to do first."""
    first = speaking[0]
    if first.state in (CheckState.PASSED, CheckState.SKIPPED):
        return "; ".join(dict.fromkeys(str(each) for each in speaking))
    more = f"; and {len(speaking) - 1} more" if len(speaking) > 1 else ""
    return f"{first.says}" + (f"; {first.todo}" if first.todo else "") + more


def _line(note: Note) -> str:
    word = {CheckState.SKIPPED: "not looked at: ", CheckState.PERSON: "to be looked at: "}.get(note.state, "")
    return f"{word}{note}"


# Objects as they were and as they will be: what most checks look at.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ObjectPair:
    """One object before and after a change; one of the two may be missing."""

    id: ObjectId
    place: Place
    """Where it is said, or what brings it."""
    before: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    after: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    cluster: str = ""
    component: str = ""
    """Empty where nothing says to which one it belongs."""

    @property
    def is_gone(self) -> bool:
        """Whether it goes with the change."""
        return self.before is not None and self.after is None

    def __str__(self) -> str:
        return str(self.id)
