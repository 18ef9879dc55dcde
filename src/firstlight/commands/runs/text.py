"""Earlier runs: the list of them, and one as a whole."""

from collections.abc import Iterator, Sequence

from firstlight.drawing import clock, run_words, table
from firstlight.drawing.table import fitted
from firstlight.model.run_state import RunBrief, RunOutcome, RunState, StepRun

_OUTCOMES = {
    RunOutcome.RUNNING: "▸ goes on",
    RunOutcome.PASSED: "✔ passed",
    RunOutcome.FAILED: "✘ failed",
    RunOutcome.INTERRUPTED: "✘ interrupted",
    RunOutcome.KILLED: "✘ killed",
    RunOutcome.UNKNOWN: "? not known",
}
_COLUMNS = ("run", "cluster", "began", "took", "outcome", "writes", "")
_NOTE = 12
"""Cells that must be left for what is said of a run."""
_NOTED = 0.5
"""Seconds of waiting below which a gate is not worth a line."""


def many(runs: Sequence[RunBrief], *, now: float, columns: int) -> list[str]:
    """Runs as a table, newest first."""
    rows = [[*_COLUMNS]]
    for each in runs:
        until = now if each.outcome == RunOutcome.RUNNING else each.last
        kind = "dry run" if each.is_dry_run else "rehearsal" if each.is_rehearsal else ""
        rows.append(
            [
                run_words.one_line(each.run), run_words.one_line(each.cluster), clock.day(each.started),
                clock.span(until - each.started), _OUTCOMES[each.outcome], str(each.writes), kind or each.reason,
            ]
        )  # fmt: skip
    shown = [[*map(run_words.one_line, row)] for row in rows]
    note = min(_NOTE, max(table.width(row[-1]) for row in shown))
    for name in ("cluster", "began"):
        # The id has both: in a narrow terminal it must do.
        if max(table.width(each) for each in table.render([[*row[:-1], "x" * note] for row in shown])) > columns:
            at = shown[0].index(name)
            shown = [[*row[:at], *row[at + 1 :]] for row in shown]
    lines = table.wrapped(shown, columns=columns, narrowest=_NOTE)
    return [table.cut(line, columns) for row in lines for line in row]


def one(state: RunState, *, now: float, columns: int) -> list[str]:
    """A run: what it was, its steps, and the gates that were waited for."""
    until = state.until(now)
    return [
        *_head(state, until, columns), "", *_steps(state, until, columns), *_gates(state, until, columns),
    ]  # fmt: skip


def title(state: RunState, *, now: float, columns: int) -> str:
    """Which run it is, and how it stands, in a line."""
    if state.started is None:
        return "a run of which the beginning is not known"
    kind = "dry run" if state.started.is_dry_run else "rehearsal" if state.started.is_rehearsal else "run"
    took = clock.span(state.seconds(now))
    # Of one that was killed nobody knows when that was.
    heard = ", last heard of" if state.outcome == RunOutcome.KILLED else ""
    ended = f"{_OUTCOMES[state.outcome]}{heard} after {took}"
    how = f"▸ goes on since {took}" if state.outcome == RunOutcome.RUNNING else ended
    reason = state.ended.reason if state.ended else ""
    wrote = run_words.count(state.writes, "write")
    parts = [f"{kind} {state.started.run}", state.started.cluster, how, wrote, reason]
    return table.cut(table.GAP.join(run_words.one_line(each) for each in parts if each), columns)


def _head(state: RunState, now: float, columns: int) -> list[str]:
    lines = [title(state, now=now, columns=columns)]
    if (started := state.started) is not None:
        version = f"firstlight {started.version}" if started.version else ""
        revision = f"commit {started.revision[:12]}" if started.revision else ""
        who = started.who.removesuffix(f":{started.run}")
        facts = [clock.day(started.at), who, version, revision]
        lines.append(table.GAP.join(run_words.one_line(each) for each in facts if each))
    path = " › ".join(run_words.of(state)[each.id] for each in state.critical_path(now))
    wrapped = run_words.wrap(f"critical path: {path}", columns - 2) if path else []
    lines += [line if not index else f"  {line}" for index, line in enumerate(wrapped)]
    return [table.cut(each, columns) for each in lines]


def _steps(state: RunState, now: float, columns: int) -> list[str]:
    called = run_words.of(state)
    rows = [["phase", "step", "", "after", "took", "waited", "writes", ""]]
    for step in state.steps:
        began = step.started is not None
        rows.append(
            [
                str(step.brief.phase), called[step.id],
                f"{run_words.SIGNS[step.state]} {run_words.word(step)}".rstrip(),
                clock.span(_after(state, step)) if began else "",
                clock.span(step.seconds(now)) if began else "",
                clock.span(waited) if (waited := _waited(step, now)) >= _NOTED else "",
                str(step.written) if step.written else "",
                run_words.note(state, step, called),
            ]
        )  # fmt: skip
    return [line.removeprefix("  ") for line in fitted(rows, columns + 2)]


def _after(state: RunState, step: StepRun) -> float:
    return (step.started or 0.0) - (state.started.at if state.started else 0.0)


def _waited(step: StepRun, now: float) -> float:
    return sum((now if each.end is None else each.end) - each.start for each in step.spans if each.kind == "wait")


def _gates(state: RunState, now: float, columns: int) -> Iterator[str]:
    """Gates that were waited for, the longest first: where the time went."""
    called = run_words.of(state)
    found = sorted(
        (
            (gate.seconds(now if step.ended is None else step.ended), called[step.id], gate)
            for step in state.steps
            for gate in step.gates
        ),
        key=lambda each: -each[0],
    )
    rows = [
        [clock.span(seconds), name, run_words.one_line(gate.name), gate.verdict, run_words.one_line(gate.reason)]
        for seconds, name, gate in found
        if seconds >= _NOTED
    ]
    if rows:
        yield ""
        head = ["waited", "step", "for", "", ""]
        yield from (line.removeprefix("  ") for line in fitted([head, *rows], columns + 2))
