"""The live screen of a run: phases in a line, what fails and waits and why, and how long it takes.

It fits any terminal: where not every step has a line, the most interesting ones do, and the rest is counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from firstlight.drawing import clock, run_words, table
from firstlight.model.run_state import DONE, PhaseRun, RunOutcome, RunState, StepRun, StepState

SAFE = "Ctrl-C is safe: run again to go on"
ANEW = "Ctrl-C is safe: the next rehearsal begins anew"
_COLOURS = {
    StepState.PASSED: "32",
    StepState.FAILED: "31",
    StepState.WAITING: "33",
    StepState.RUNNING: "36",
    StepState.PENDING: "2",
    StepState.BLOCKED: "2",
    StepState.SKIPPED: "2",
}
_INTEREST = (StepState.FAILED, StepState.WAITING, StepState.RUNNING)
_TALKATIVE = 4
"""Lines of the longest reason of one step."""
_NOTES = 2
"""Notes that are shown while a run goes on."""
_ROOMY = 16
"""Lines of a terminal from which on there is room for notes."""
_BETWEEN = 3 + 2 + 7 + 1 + 6
"""Cells of a state with its sign and its time, and before them."""
_NARROWEST = 24
"""Cells that a reason has at least; names give way."""


def lines(state: RunState, *, now: float, columns: int, rows: int, foot: str = SAFE, colour: bool = False) -> list[str]:
    """The whole screen.

    Args:
        state: How the run stands.
        now: Seconds since the epoch.
        columns: How wide the terminal is.
        rows: How many lines there are.
        foot: What stands at the end.
        colour: Whether signs are coloured.
    """
    until = state.until(now)
    head = [phase_line(state, now=until, columns=columns, colour=colour), ""]
    end = [*_notes(state, columns, rows), *_footer(state, until, columns, foot)]
    body = _body(state, until, columns, max(1, rows - len(head) - len(end)), colour)
    return [table.cut(each, columns) for each in [*head, *body, *end]][: max(1, rows)]


def phase_line(state: RunState, *, now: float, columns: int, colour: bool = False) -> str:
    """The cluster and its phases; what is narrow leaves out times, never a phase."""
    name = run_words.one_line(state.started.cluster) if state.started else "run"
    if state.started is not None and state.started.is_walk:
        done = sum(each.state in DONE for each in state.steps)
        command = run_words.one_line(state.started.command)
        return table.cut(f"{name}{table.GAP}{command} {done}/{len(state.steps)}", columns)
    for gap, has_times in ((table.GAP, True), ("  ", True), ("  ", False), (" ", False)):
        line = gap.join([name, *(_phase(each, now, has_times, colour) for each in state.phases)])
        if table.width(line) <= columns:
            return line
    return table.cut(line, columns)


def _phase(phase: PhaseRun, now: float, has_times: bool, colour: bool) -> str:
    text = f"{phase.phase} {_painted(run_words.SIGNS[phase.state], phase.state, colour)}"
    if phase.state == StepState.PASSED:
        return f"{text} {clock.span(phase.seconds(now))}" if has_times else text
    return text if phase.started is None or phase.total == 1 else f"{text} {phase.done}/{phase.total}"


def _body(state: RunState, now: float, columns: int, room: int, colour: bool) -> list[str]:
    called = run_words.of(state)
    width = min(max(map(table.width, called.values()), default=0), max(10, columns // 4))
    left = 2 + width + _BETWEEN + len(table.GAP)
    urgent = [
        each
        for wish in _INTEREST
        for each in sorted((step for step in state.steps if step.state == wish), key=lambda step: step.since)
    ]
    notes = {
        each.id: run_words.wrap(run_words.note(state, each, called), max(_NARROWEST, columns - left))
        for each in urgent[:room]
    }
    chosen = _chosen(state, urgent, room, sum(_wanted(each) for each in notes.values()))
    folded = _folded(state.steps, chosen)
    extra = _extra(chosen, notes, room - len(chosen) - bool(folded))
    found = []
    for step in chosen:
        note = notes.get(step.id) or [run_words.note(state, step, called)]
        shown = note[: 1 + extra[step.id]]
        if len(note) > len(shown):
            shown[-1] = table.cut(" ".join(note[len(shown) - 1 :]), max(_NARROWEST, columns - left))
        head = _head(step, table.cut(called[step.id], width), width, now, colour)
        found += [f"{head}{table.GAP}{shown[0]}".rstrip(), *(" " * left + each for each in shown[1:])]
    return [*found, *([folded] if folded else [])]


def _wanted(note: Sequence[str]) -> int:
    """Lines beyond the first that a reason would take."""
    return min(len(note), _TALKATIVE) - 1


def _head(step: StepRun, name: str, width: int, now: float, colour: bool) -> str:
    sign = _painted(run_words.SIGNS[step.state], step.state, colour)
    time = clock.span(_time(step, now)) if step.started is not None else ""
    return f"  {name}{' ' * (width - table.width(name))}   {sign} {run_words.word(step):<7} {time:>6}"  # _BETWEEN cells


def _time(step: StepRun, now: float) -> float:
    """How long it took; of one that waits, for how long it does."""
    return max(0.0, now - step.since) if step.state == StepState.WAITING else step.seconds(now)


def _chosen(state: RunState, urgent: list[StepRun], room: int, wanted: int) -> list[StepRun]:
    """The steps that get a line: all in the order of the plan where there is room, else the most interesting first.

    Args:
        state: How the run stands.
        urgent: What failed, waits or works, the most urgent first.
        room: How many lines there are.
        wanted: How many lines reasons would take beyond their first.
    """
    if len(state.steps) + wanted <= room:
        return list(state.steps)
    room = max(0, room - 1)
    failed = sum(each.state == StepState.FAILED for each in urgent)
    # Why something fails or waits is worth more than what is ready or comes later, and a failure more than the rest.
    spare = max(0, room - len(urgent))
    reserved = max(min(wanted, spare * 3 // 4), min(2 * failed, _TALKATIVE, room // 4))
    room = max(0, room - reserved)
    urgent = urgent[:room]
    ready = sorted((each for each in state.steps if each.state in DONE), key=lambda each: -each.since)
    later = [each for each in state.steps if each.state in (StepState.PENDING, StepState.BLOCKED)]
    left = room - len(urgent)
    share = max(left // 2, left - len(later))
    kept = {each.id for each in [*urgent, *ready[:share]]}
    kept |= {each.id for each in later[: room - len(kept)]}
    rest = [each for each in state.steps if each.id in kept and each.state not in _INTEREST]
    return [*urgent, *rest]


def _folded(steps: Sequence[StepRun], shown: Sequence[StepRun]) -> str:
    seen = {each.id for each in shown}
    counts = Counter(run_words.word(each) or "to come" for each in steps if each.id not in seen)
    parts = [f"{number} more {word}" for word, number in counts.items()]
    return f"  … {', '.join(parts)}" if parts else ""


def _extra(steps: Sequence[StepRun], notes: Mapping[str, Sequence[str]], spare: int) -> dict[str, int]:
    """Lines beyond the first for each reason, as far as there is room: failed steps first, then those that wait."""
    found = dict.fromkeys((each.id for each in steps), 0)
    for state in _INTEREST:
        for step in steps:
            if step.state == state:
                found[step.id] = max(0, min(_wanted(notes[step.id]), spare))
                spare -= found[step.id]
    return found


def _notes(state: RunState, columns: int, rows: int) -> list[str]:
    """What was told of the run as a whole; where there is little room, steps have it."""
    lines = [
        line
        for each in state.notes[-_NOTES:]
        for line in run_words.wrap(run_words.one_line(each), max(20, columns - 8))
    ]
    return ["", f"  note  {lines[0]}", *(f"        {each}" for each in lines[1:])] if lines and rows >= _ROOMY else []


def _footer(state: RunState, now: float, columns: int, foot: str) -> list[str]:
    started = state.started
    kind = "" if not started else "dry run, " if started.is_dry_run else "rehearsal, " if started.is_rehearsal else ""
    time = f"  {kind}{clock.span(state.seconds(now))}"
    again = "the next rehearsal begins anew" if started is not None and started.is_rehearsal else "run again to go on"
    ends = {
        RunOutcome.KILLED: f"interrupted: {again}",
        RunOutcome.INTERRUPTED: f"interrupted: {again}",
        RunOutcome.UNKNOWN: "whether it still runs is not known here",
    }
    end = ends.get(state.outcome, foot if state.outcome == RunOutcome.RUNNING else "")
    room = columns - table.width(time) - len(table.GAP)
    path = _path(state, now, room)
    line = f"{time}{table.GAP}{path}" if path else time
    if not end:
        return [line]
    gap = 8 if path else len(table.GAP)
    if table.width(line) + gap + table.width(end) <= columns:
        return [line + " " * gap + end]
    return [line, f"  {end}"]


def _path(state: RunState, now: float, room: int) -> str:
    """The critical path; where it is too long, what is nearest to now stays, and the beginning."""
    steps = state.critical_path(now)
    if not steps:
        return ""
    called = run_words.of(state)
    here = next((n for n, each in enumerate(steps) if each.ended is None), len(steps) - 1)
    nearest = sorted(range(len(steps)), key=lambda n: (abs(n - here), -n) if n else (1.5, 0))
    line = ""
    for size in range(1, len(steps) + 1):
        kept = sorted(nearest[:size])
        parts: list[str] = []
        for before, n in zip([-1, *kept], kept, strict=False):
            parts += ["…", called[steps[n].id]] if n > before + 1 else [called[steps[n].id]]
        wider = "critical path: " + " › ".join([*parts, *(["…"] if kept[-1] < len(steps) - 1 else [])])
        if line and table.width(wider) > room:
            break
        line = wider
    return table.cut(line, max(1, room))


def _painted(sign: str, state: StepState, colour: bool) -> str:
    return f"\x1b[{_COLOURS[state]}m{sign}\x1b[0m" if colour else sign
