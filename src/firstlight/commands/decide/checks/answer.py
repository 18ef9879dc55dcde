"""What a check says of one thing, and how several of these become the answer of a whole check."""

import dataclasses
from collections.abc import Sequence

from firstlight.model.decision import ChangeCheck, CheckState
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

_ORDER = (CheckState.FAILED, CheckState.PERSON, CheckState.PASSED, CheckState.SKIPPED)
"""The worst first: what was skipped says nothing against what was looked at."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CheckAnswer:
    """What a check says of one thing."""

    state: CheckState
    message: str
    """A sentence without a full stop."""
    fix: str = ""
    """What to do next."""
    place: Place | None = None
    diagnostic: Diagnostic | None = None
    """What is wrong, or has to be looked at; None where all is well, or nothing was looked at."""

    def __str__(self) -> str:
        place = f"{self.place}: " if self.place is not None else ""
        return f"{place}{self.message}" + (f"; {self.fix}" if self.fix else "")


def failed(code: str, message: str, *, fix: str = "", at: Place | None = None) -> CheckAnswer:
    """Something is wrong."""
    return of_diagnostic(CheckState.FAILED, Diagnostic.error(code, message, at=at or (), fix=fix))


def person(code: str, message: str, *, fix: str = "", at: Place | None = None) -> CheckAnswer:
    """Somebody has to look at something."""
    return of_diagnostic(CheckState.PERSON, Diagnostic.unknown(code, message, at=at or (), fix=fix))


def of_diagnostic(state: CheckState, diagnostic: Diagnostic) -> CheckAnswer:
    """Something that a reader, a plan or a renderer has found."""
    place = diagnostic.place if diagnostic.places else None
    return CheckAnswer(
        state=state, message=diagnostic.message, fix=diagnostic.fix, place=place, diagnostic=diagnostic
    )  # fmt: skip


def passed(message: str, *, at: Place | None = None) -> CheckAnswer:
    """Something is as it must be."""
    return CheckAnswer(state=CheckState.PASSED, message=message, place=at)


def skipped(message: str, *, fix: str = "") -> CheckAnswer:
    """Something could not be looked at, and why."""
    return CheckAnswer(state=CheckState.SKIPPED, message=message, fix=fix)


def of_verdict(name: str, verdict: Verdict, *, fix: str = "", again: str = "") -> CheckAnswer:
    """What a gate says of something.

    Args:
        name: What it is called.
        verdict: What the gate says.
        fix: What to do if it is not well.
        again: When to look once more at what may still become well.
    """
    match verdict:
        case Passed(reason):
            return passed(f"{name}: {reason}" if reason else f"{name} is well")
        case Skipped(reason):
            return skipped(f"{name}: {reason}")
        case Waiting(reason):
            fix = ". ".join(each for each in (again, fix) if each)
            return failed("gate-waiting", f"{name} is not there yet: {reason}", fix=fix)
        case Failed(reason):
            return failed("gate-failed", f"{name}: {reason}", fix=fix)


def together(check: ChangeCheck, answers: Sequence[CheckAnswer]) -> ChangeCheck:
    """A check with its answer: the worst of what was found speaks, the rest stands below it.

    Args:
        check: With its id, moment and title.
        answers: What was found; without any it does not apply.
    """
    if not answers:
        return dataclasses.replace(check, state=CheckState.SKIPPED, says="nothing of this is in the change")
    ranked = sorted(answers, key=lambda each: _ORDER.index(each.state))
    state = ranked[0].state
    speaking = [each for each in ranked if each.state == state]
    rest = ranked[len(speaking) :]
    says = _says(speaking)
    is_said = len(speaking) == 1 or state in (CheckState.PASSED, CheckState.SKIPPED)
    lines = [str(each) for each in (() if is_said else speaking)] + [_line(each) for each in rest]
    return dataclasses.replace(
        check,
        state=state,
        says=says,
        details=tuple(dict.fromkeys(lines)),
        place=next((each.place for each in speaking if each.place is not None), None),
        diagnostics=tuple(each.diagnostic for each in ranked if each.diagnostic is not None),
    )


def _says(speaking: Sequence[CheckAnswer]) -> str:
    """All that fits on one line; of what needs somebody, what to do first."""
    first = speaking[0]
    if first.state in (CheckState.PASSED, CheckState.SKIPPED):
        return "; ".join(dict.fromkeys(str(each) for each in speaking))
    more = f"; and {len(speaking) - 1} more" if len(speaking) > 1 else ""
    return f"{first.message}" + (f"; {first.fix}" if first.fix else "") + more


def _line(answer: CheckAnswer) -> str:
    word = {CheckState.SKIPPED: "not looked at: ", CheckState.PERSON: "to be looked at: "}.get(answer.state, "")
    return f"{word}{answer}"
