"""What a run came to: what was done, how long it took, what failed and what that blocks, and what to type next."""

from firstlight.drawing import clock, run_words, table
from firstlight.model.run_state import DONE, LIVE, FailureCause, RunOutcome, RunState, StepState

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
