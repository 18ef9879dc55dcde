"""What steps are called and what is said of each: shared by the screen, plain lines, summary and picture."""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping

from firstlight.drawing import safe, table
from firstlight.model import plan, run_state
from firstlight.model.event import StepBrief
from firstlight.model.run_state import RunState, StepRun, StepState

SIGNS = {
    StepState.PENDING: "·",
    StepState.RUNNING: "▸",
    StepState.WAITING: "▸",
    StepState.PASSED: "✔",
    StepState.FAILED: "✘",
    StepState.SKIPPED: "○",
    StepState.BLOCKED: "·",
}
_WORDS = {
    StepState.PENDING: "",
    StepState.RUNNING: "working",
    StepState.PASSED: "ready",
}


wrap = table.wrap


def word(step: StepRun) -> str:
    """The state in a word."""
    return "gave up" if step.is_given_up else _WORDS.get(step.state, str(step.state))


def one_line(text: str) -> str:
    """A stranger's text as a single line that no terminal obeys."""
    return " ".join(safe.text(text).split())


@functools.lru_cache(maxsize=8)
def labels(steps: tuple[StepBrief, ...]) -> Mapping[str, str]:
    """What each step is called, by its id: its name, and the phase where another has the same one."""
    found = {each.id: one_line(each.name) or one_line(each.id) for each in steps}
    twice = Counter(found.values())
    found |= {each.id: f"{found[each.id]} ({each.phase})" for each in steps if twice[found[each.id]] > 1}
    twice = Counter(found.values())
    found |= {each.id: one_line(each.id) for each in steps if twice[found[each.id]] > 1}
    return found


def of(state: RunState) -> Mapping[str, str]:
    """What the steps of a run are called."""
    return labels(_briefs(state))


@functools.lru_cache(maxsize=8)
def direct(steps: tuple[StepBrief, ...]) -> Mapping[str, tuple[str, ...]]:
    """What each step needs, without what follows from it."""
    order = run_state.order(steps)
    place = {name: index for index, name in enumerate(order)}
    needs = {
        # A need that comes later is part of a circle; it is told elsewhere.
        each.id: [need for need in each.needs if place.get(need, len(place)) < place[each.id]]
        for each in steps
    }
    return plan.reduced(order, needs)


def needs(state: RunState, step: StepRun) -> tuple[str, ...]:
    """What a step needs directly and does not have yet."""
    unmet = state.unmet(step)
    wanted = direct(_briefs(state)).get(step.id, ())
    return tuple(each for each in unmet if each in wanted) or unmet


def note(state: RunState, step: StepRun, called: Mapping[str, str]) -> str:
    """What there is to say of a step: what it waits for, why it failed, how far it is, what it needs.

    Args:
        state: How the run stands.
        step: The step.
        called: What steps are called.
    """
    match step.state:
        case StepState.PENDING:
            unmet = needs(state, step)
            return f"needs {few(called[each] for each in unmet)}" if unmet else ""
        case StepState.BLOCKED:
            unmet = needs(state, step)
            failed = [each for each in unmet if state.known[each].state == StepState.FAILED]
            return f"needs {few(called[each] for each in failed or unmet)}" + (", which failed" if failed else "")
        case StepState.RUNNING:
            return one_line(step.told) or (few((one_line(each) for each in step.writes), 1) if step.writes else "")
        case StepState.FAILED:
            hint = one_line(step.hint)
            return one_line(step.reason) + (f" ({hint.rstrip('.')})" if hint else "")
        case StepState.PASSED:
            return one_line(step.reason) or (f"{step.written} written" if step.written else "")
    return one_line(step.reason)


def few(names: Iterable[str], most: int = 3) -> str:
    """Some names and how many more there are; never "and 1 more"."""
    found = list(names)
    if len(found) <= most + 1 and most > 1:
        return ", ".join(found)
    rest = len(found) - most
    return ", ".join(found[:most]) + (f" and {rest} more" if rest > 0 else "")


def count(number: int, word: str) -> str:
    """A number with its word: ``1 step``, ``3 steps``."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def _briefs(state: RunState) -> tuple[StepBrief, ...]:
    return tuple(each.brief for each in state.known.values())
