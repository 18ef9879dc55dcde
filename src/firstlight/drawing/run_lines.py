"""A run as lines that stay: one an event, with its time, where nobody watches; and what it came to, at the end."""

from firstlight.drawing import clock, run_words, table
from firstlight.model import run_state
from firstlight.model.event import Event, Judged, RunEnded, RunStarted, StepEnded, StepStarted, Told, Writing
from firstlight.model.run_state import DONE, LIVE, FailureCause, RunOutcome, RunState, StepState

BEAT = 30.0
"""Seconds of silence of a step after which it is said what it waits for."""
_NAMES = 28
"""Cells of the longest name that others are aligned with."""
_SHOWN = 8
"""Writes that are named before the rest is counted."""


class RunLog:
    """Remembers what was said, so that it is not said again; the clock is given."""

    def __init__(self) -> None:
        self._state = RunState(is_alive=True)
        self._said: dict[tuple[str, str], str] = {}
        """What was said last, by step and gate."""
        self._when: dict[str, float] = {}

    def after(self, event: Event) -> list[str]:
        """The lines of an event; none where it says nothing new."""
        self._state = run_state.after(self._state, event)
        match event:
            case RunStarted():
                kind = "dry run" if event.is_dry_run else "rehearsal" if event.is_rehearsal else "run"
                revision = f" at {event.revision[:12]}" if event.revision else ""
                text = f"{kind} {event.run} of {event.cluster}{revision}: {run_words.count(len(event.steps), 'step')}"
                return [f"{clock.moment(event.at)}  {run_words.one_line(text)}"]
            case RunEnded():
                reason = f": {event.reason}" if event.reason else ""
                took = clock.span(self._state.seconds(event.at))
                # One that was stopped did not count its writes; its steps did.
                text = f"run {event.verdict} after {took}, {run_words.count(self._state.writes, 'write')}{reason}"
                return [f"{clock.moment(event.at)}  {run_words.one_line(text)}"]
            case StepStarted():
                return self._said_now(event.step, event.at, "begins")
            case Writing():
                # What is written begins with what is done: "pass what talos owns of …".
                verb = "would" if self._state.started and self._state.started.is_dry_run else "writes:"
                return self._said_now(event.step, event.at, f"{verb} {run_words.few(event.writes, _SHOWN)}")
            case Told() if not event.step:
                return self._noted(event)
            case Told():
                return self._said_now(event.step, event.at, event.text)
            case Judged():
                return self._said_now(event.step, event.at, _judgement(event), gate=event.gate)
            case StepEnded():
                return self._said_now(event.step, event.at, self._end(event))

    def beat(self, now: float) -> list[str]:
        """What is waited for still, of every step of which nothing was heard for a while."""
        found = []
        for step in self._state.steps:
            if step.state not in run_state.LIVE or now - self._when.get(step.id, now) < BEAT:
                continue
            self._when[step.id] = now
            note = run_words.note(self._state, step, run_words.of(self._state))
            state = f"still {run_words.word(step)}, {clock.span(now - step.since)}"
            found.append(self._line(step.id, now, f"{state}: {note}" if note else state))
        return found

    def _said_now(self, step: str, at: float, text: str, gate: str = "") -> list[str]:
        self._when[step] = at
        if self._said.get((step, gate)) == text:
            return []
        self._said[step, gate] = text
        return [self._line(step, at, text)]

    def _noted(self, event: Told) -> list[str]:
        """What is told of the run as a whole."""
        if self._said.get(("", event.text)) is not None:
            return []
        self._said["", event.text] = event.text
        return [f"{clock.moment(event.at)}  {run_words.one_line(f'note: {event.text}')}"]

    def _line(self, name: str, at: float, text: str) -> str:
        called = run_words.of(self._state)
        width = min(_NAMES, max(map(table.width, called.values()), default=0))
        label = called[name] + " " * (width - table.width(called[name]))
        step = self._state.known[name]
        return f"{clock.moment(at)}  {step.brief.phase:<8}  {label}  {run_words.one_line(text)}"

    def _end(self, event: StepEnded) -> str:
        step = self._state.known[event.step]
        parts = [f"{run_words.word(step)} after {clock.span(step.seconds(event.at))}"]
        if event.writes:
            parts.append(f", {run_words.count(event.writes, 'write')}")
        said = [text for (name, gate), text in self._said.items() if name == event.step and gate]
        if event.reason and not any(each.endswith(f": {event.reason}") for each in said):
            parts.append(f": {event.reason}")
        if event.hint:
            parts.append(f" ({event.hint.rstrip('.')})")
        return "".join(parts)


def _judgement(event: Judged) -> str:
    text = f"waits for {event.gate}" if event.verdict == "waiting" else f"{event.gate} {event.verdict}"
    return f"{text}: {event.reason}" if event.reason else text


# What a run came to: what was done, how long it took, what failed and what that blocks, and what to type next.


_LABEL = 9
"""Cells of a label."""
_FAILURES = 6
"""Failed steps that are told whole."""
_SHORT = 2
"""Parts that need no empty lines between them."""
_LONG = 10.0
"""Seconds from which on it is of interest where they went."""


def summary(state: RunState, *, now: float, columns: int) -> list[str]:
    """The last lines of a run."""
    if state.started is None:
        return ["nothing is known of this run"]
    now = state.until(now)
    cluster = run_words.one_line(state.started.cluster)
    called = run_words.of(state)
    parts = [[table.cut(_verdict(state, cluster, now), columns)]]
    parts += [_cause(state, cause, now, columns) for cause in state.causes[:_FAILURES]]
    if rest := [called[each.step.id] for each in state.causes[_FAILURES:]]:
        parts.append(_item("  ✘", f"also {run_words.few(rest, 8)}", columns))
    end = []
    live = [called[each.id] for each in state.steps if each.state in LIVE]
    if live and state.outcome in (RunOutcome.KILLED, RunOutcome.INTERRUPTED):
        end += _item("  was at", run_words.few(live, 6), columns)
    if state.seconds(now) >= _LONG and not state.started.is_walk:
        end += _item("  took", _phases(state, now), columns)
    for each in state.notes:
        end += _item("  note", run_words.one_line(each), columns)
    if not state.started.is_rehearsal:  # what to type next is said by its report
        end += _item("  next", _next(state, cluster), columns)
    parts += [end] if end else []
    # A short answer is not torn apart.
    gap = [""] if len(parts) > _SHORT else []
    return [line for number, part in enumerate(parts) for line in ([*gap, *part] if number else part)]


def _verdict(state: RunState, cluster: str, now: float) -> str:
    assert state.started is not None
    took = clock.span(state.seconds(now))
    wrote = run_words.count(state.writes, "write") if state.writes else "nothing was written"
    reason = f": {run_words.one_line(state.ended.reason)}" if state.ended and state.ended.reason else ""
    if state.started.is_dry_run:
        would = sum(len(each.writes) for each in state.steps)
        text = f"{run_words.count(would, 'write')} to be made" if would else "nothing to write"
        done = sum(each.state in DONE for each in state.steps)
        return f"{cluster}   dry run: {text}, {_of(done, len(state.steps))} looked at in {took}{reason}"
    steps = _steps(state)
    cluster = f"{cluster}   rehearsal" if state.started.is_rehearsal else cluster
    match state.outcome:
        case RunOutcome.PASSED if not state.writes:
            return f"{cluster}   ✔ is as it must be: {steps} looked at in {took}, {wrote}"
        case RunOutcome.PASSED:
            return f"{cluster}   ✔ {steps} in {took}, {wrote}{reason}"
        case RunOutcome.FAILED:
            return f"{cluster}   ✘ stopped after {took}: {steps} done, {wrote}{reason}"
        case RunOutcome.INTERRUPTED:
            return f"{cluster}   ✘ interrupted after {took}: {steps} done, {wrote}"
        case RunOutcome.KILLED:
            return f"{cluster}   ✘ killed, last heard of after {took}: {steps} done, {wrote}"
        case RunOutcome.UNKNOWN:
            return f"{cluster}   ▸ no end is known: {steps} done after {took}, {wrote}"
    return f"{cluster}   ▸ goes on since {took}: {steps} done, {wrote}"


def _steps(state: RunState) -> str:
    """How many were done, of how many; those that had nothing to do are no steps of it."""
    skipped = sum(each.state == StepState.SKIPPED for each in state.steps)
    done = sum(each.state in DONE for each in state.steps) - skipped
    every = len(state.steps) - skipped
    return _of(done, every) + (f" ({skipped} skipped)" if skipped else "")


def _of(done: int, every: int) -> str:
    return run_words.count(done, "step") if done == every else f"{done} of {run_words.count(every, 'step')}"


def _cause(state: RunState, cause: FailureCause, now: float, columns: int) -> list[str]:
    called = run_words.of(state)
    step = cause.step
    state_word = f"{run_words.word(step)} after {clock.span(step.seconds(now))}"
    reason = run_words.one_line(step.reason)
    found = [table.cut(f"  ✘ {called[step.id]}   {state_word}", columns)]
    found += _item("    why", reason, columns) if reason else []
    found += _item("    try", run_words.one_line(step.hint), columns) if step.hint else []
    found += (
        _item("    blocks", run_words.few((called[each] for each in cause.blocks), 6), columns) if cause.blocks else []
    )
    return found


def _phases(state: RunState, now: float) -> str:
    times = [f"{each.phase} {clock.span(each.seconds(now))}" for each in state.phases if each.started is not None]
    return ", ".join(times)


def _next(state: RunState, cluster: str) -> str:
    assert state.started is not None
    again = (
        f"firstlight {run_words.one_line(state.started.command)} {run_words.one_line(state.started.again) or cluster}"
    )
    if state.started.is_dry_run:
        return again
    match state.outcome:
        case RunOutcome.PASSED:
            return f"firstlight verify {cluster}"
        case RunOutcome.RUNNING | RunOutcome.UNKNOWN:
            return f"firstlight status {cluster} --watch"
    failed = any(each.state == StepState.FAILED for each in state.steps)
    when = ", once that is mended" if failed else ""
    return f"{again}{when}: it goes on where the cluster is"


def _item(label: str, text: str, columns: int) -> list[str]:
    """A label and its text; what does not fit goes on below the text."""
    margin = len(label) - len(label.lstrip()) + _LABEL
    lines = run_words.wrap(text, max(20, columns - margin))
    head = label.ljust(margin)
    return [table.cut(f"{head}{lines[0]}", columns), *(table.cut(" " * margin + each, columns) for each in lines[1:])]
