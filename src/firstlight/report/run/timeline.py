"""A run as a picture in places: a row a step, from left to right the seconds; work, waiting, and the critical path.

``svg`` in the module beside draws it.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping

from firstlight.model.component import Phase
from firstlight.model.run_state import DONE, RunOutcome, RunState, SpanKind, StepRun, StepState
from firstlight.report.graph import measure
from firstlight.report.run import clock, words

TEXT, SMALL_TEXT = 13.0, 11.0
MARGIN, GUTTER = 24.0, 100.0
"""Around everything; of the names of phases."""
TOP = 112.0
CHART = 820.0
"""Pixels of the whole time."""
ROW, BAR, BAND = 24.0, 12.0, 8.0
BELOW = 17.0
"""Pixels of a reason below a bar."""
RIGHT = 84.0
"""Right of the last second: how long a bar took."""
_NAMES = 210.0
_IDLE = 8
"""Steps of a phase that never began and have a row each; more are one."""
_TICKS = 12
_NICE = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400)


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of a row."""

    kind: SpanKind
    x: float
    width: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A step, or several that never began."""

    label: str
    y: float
    """The middle."""
    state: StepState
    tip: str
    note: str = ""
    """Beside the bar: how long it took."""
    reason: str = ""
    """Below it: why it failed, or what it waits for."""
    bars: tuple[Bar, ...] = ()
    is_critical: bool = False
    is_open: bool = False
    """It had not ended when the picture was taken."""


@dataclasses.dataclass(frozen=True, slots=True)
class Band:
    """A phase, from its upper edge."""

    phase: Phase
    y: float
    height: float


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """From the end of one step down to the beginning of one that needs it."""

    x1: float
    y1: float
    x2: float
    y2: float
    is_critical: bool


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The whole picture in places."""

    title: str
    subtitle: str
    left: float
    """Where the first second is."""
    width: float
    bottom: float
    rows: tuple[Row, ...]
    bands: tuple[Band, ...]
    links: tuple[Link, ...]
    ticks: tuple[tuple[float, str], ...]
    end: float
    """Where the last second is."""
    end_label: str = ""


def timeline(state: RunState, *, now: float) -> Timeline:
    """Lay a run out; the same run is always laid out the same."""
    until = state.until(now)
    begin = state.started.at if state.started else min((each.started or until for each in state.steps), default=until)
    total = max(until - begin, 1.0)
    if not total < 1e9:  # a clock that was set in between
        total = 1.0
    called = words.of(state)
    left = GUTTER + min(_NAMES, max((measure.width(each, TEXT) for each in called.values()), default=0.0)) + 16
    path = {each.id for each in state.critical_path(now)}

    def place(at: float) -> float:
        return left + CHART * min(1.0, max(0.0, (at - begin) / total))

    rows: dict[str, Row] = {}
    bands, y = [], TOP
    for phase in Phase:
        mine = [each for each in state.steps if each.brief.phase == phase]
        if not mine:
            continue
        start = y
        y += BAND
        begun = sorted((each for each in mine if each.started is not None), key=lambda each: each.started or 0.0)
        idle = [each for each in mine if each.started is None]
        for step in begun:
            rows[step.id] = _row(state, step, y + ROW / 2, until, place, step.id in path)
            y += ROW + (BELOW if rows[step.id].reason else 0.0)
        for row in _idle(state, idle, y):
            rows[f"{phase} {row.y}"] = row
            y += ROW
        y += BAND
        bands.append(Band(phase, start, y - start))
    return Timeline(
        title=f"{words.one_line(state.started.cluster) if state.started else 'run'}",
        subtitle=_subtitle(state, until), left=left, width=left + CHART + RIGHT, bottom=y, rows=tuple(rows.values()),
        bands=tuple(bands), links=tuple(_links(state, rows, path)), ticks=_ticks(total, left), end=place(until),
        end_label={RunOutcome.KILLED: "killed", RunOutcome.RUNNING: "now", RunOutcome.UNKNOWN: "last heard"}.get(
            state.outcome, ""
        ),
    )  # fmt: skip


def _row(
    state: RunState, step: StepRun, y: float, until: float, place: Callable[[float], float], is_critical: bool
) -> Row:
    bars = []
    for span in step.spans:
        x = place(span.start)
        bars.append(Bar(span.kind, x, max(place(until if span.end is None else span.end) - x, 0.0)))
    called = words.of(state)
    label = called[step.id]
    waits = "".join(
        f"\n{words.one_line(gate.name)}: {gate.verdict} after {clock.span(gate.seconds(step.ended or until))}"
        for gate in step.gates
    )
    took = clock.span(step.seconds(until))
    note = words.note(state, step, called)
    tip = f"{label}: {words.word(step)}, {took}" + (f"\n{note}" if note else "") + waits
    is_told = step.state not in (StepState.PASSED, StepState.SKIPPED)
    return Row(
        label=label, y=y, state=step.state, tip=tip, note=took, is_critical=is_critical, is_open=step.ended is None,
        bars=tuple(bars) or (Bar(SpanKind.WORK, place(step.started or 0.0), 0.0),),
        reason=(words.one_line(step.reason) or note) if is_told else "",
    )  # fmt: skip


def _idle(state: RunState, steps: list[StepRun], y: float) -> Iterator[Row]:
    """Steps that never began: a row each, or one for many."""
    called = words.of(state)
    if len(steps) > _IDLE:
        names = ", ".join(called[each.id] for each in steps)
        yield Row(label=f"{len(steps)} steps", y=y + ROW / 2, state=StepState.PENDING, tip=names, note="not begun")
        return
    for number, step in enumerate(steps):
        note = words.note(state, step, called)
        note = f"not begun: {note}" if note else "not begun"
        label = called[step.id]
        yield Row(label=label, y=y + ROW * number + ROW / 2, state=step.state, tip=f"{label}: {note}", note=note)


def _links(state: RunState, rows: Mapping[str, Row], path: Collection[str]) -> Iterator[Link]:
    """What a step had to wait for: the need that ended last, and all of the critical path."""
    for step in state.steps:
        if step.started is None or step.id not in rows:
            continue
        needs = [each for each in map(state.by_id.get, step.brief.needs) if each is not None and each.id in rows]
        ended = [each for each in needs if each.ended is not None and each.started is not None]
        last = max(ended, key=lambda each: each.ended or 0.0, default=None)
        if last is None:
            continue
        upper, lower = rows[last.id], rows[step.id]
        x1 = upper.bars[-1].x + upper.bars[-1].width
        yield Link(x1, upper.y, lower.bars[0].x, lower.y, step.id in path and last.id in path)


def _subtitle(state: RunState, until: float) -> str:
    started = state.started
    if started is None:
        return ""
    kind = "dry run" if started.is_dry_run else "rehearsal" if started.is_rehearsal else "run"
    done = sum(each.state in DONE for each in state.steps)
    outcome = {RunOutcome.RUNNING: "goes on", RunOutcome.UNKNOWN: "no end known"}
    parts = [
        f"{kind} {started.run}", clock.day(started.at), clock.span(state.seconds(until)),
        outcome.get(state.outcome, str(state.outcome)), f"{done} of {words.count(len(state.steps), 'step')}",
        words.count(state.writes, "write"),
    ]  # fmt: skip
    return words.one_line(" · ".join(parts))


def _ticks(total: float, left: float) -> tuple[tuple[float, str], ...]:
    """Moments on the axis, about ten of them."""
    step = next((each for each in _NICE if total / each <= _TICKS), int(total / _TICKS) + 1)
    return tuple((left + CHART * at / total, clock.span(at)) for at in range(0, int(total) + 1, step))
