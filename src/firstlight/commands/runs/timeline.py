"""A run as a picture in places: a row a step, from left to right the seconds; work, waiting, and the critical path.

``svg`` in the module beside draws it.
"""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping

from firstlight.drawing import clock, run_words, svg_text
from firstlight.drawing.svg_text import escaped
from firstlight.model.component import Phase
from firstlight.model.run_state import DONE, RunOutcome, RunState, SpanKind, StepRun, StepState

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
class TimelineBar:
    """A stretch of a row."""

    kind: SpanKind
    x: float
    width: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
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
    bars: tuple[TimelineBar, ...] = ()
    is_critical: bool = False
    is_open: bool = False
    """It had not ended when the picture was taken."""


@dataclasses.dataclass(frozen=True, slots=True)
class TimelineBand:
    """A phase, from its upper edge."""

    phase: Phase
    y: float
    height: float


@dataclasses.dataclass(frozen=True, slots=True)
class TimelineLink:
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
    rows: tuple[TimelineRow, ...]
    bands: tuple[TimelineBand, ...]
    links: tuple[TimelineLink, ...]
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
    called = run_words.of(state)
    left = GUTTER + min(_NAMES, max((svg_text.width(each, TEXT) for each in called.values()), default=0.0)) + 16
    path = {each.id for each in state.critical_path(now)}

    def place(at: float) -> float:
        return left + CHART * min(1.0, max(0.0, (at - begin) / total))

    rows: dict[str, TimelineRow] = {}
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
        bands.append(TimelineBand(phase, start, y - start))
    return Timeline(
        title=f"{run_words.one_line(state.started.cluster) if state.started else 'run'}",
        subtitle=_subtitle(state, until), left=left, width=left + CHART + RIGHT, bottom=y, rows=tuple(rows.values()),
        bands=tuple(bands), links=tuple(_links(state, rows, path)), ticks=_ticks(total, left), end=place(until),
        end_label={RunOutcome.KILLED: "killed", RunOutcome.RUNNING: "now", RunOutcome.UNKNOWN: "last heard"}.get(
            state.outcome, ""
        ),
    )  # fmt: skip


def _row(
    state: RunState, step: StepRun, y: float, until: float, place: Callable[[float], float], is_critical: bool
) -> TimelineRow:
    bars = []
    for span in step.spans:
        x = place(span.start)
        bars.append(TimelineBar(span.kind, x, max(place(until if span.end is None else span.end) - x, 0.0)))
    called = run_words.of(state)
    label = called[step.id]
    waits = "".join(
        f"\n{run_words.one_line(gate.name)}: {gate.verdict} after {clock.span(gate.seconds(step.ended or until))}"
        for gate in step.gates
    )
    took = clock.span(step.seconds(until))
    note = run_words.note(state, step, called)
    tip = f"{label}: {run_words.word(step)}, {took}" + (f"\n{note}" if note else "") + waits
    is_told = step.state not in (StepState.PASSED, StepState.SKIPPED)
    return TimelineRow(
        label=label, y=y, state=step.state, tip=tip, note=took, is_critical=is_critical, is_open=step.ended is None,
        bars=tuple(bars) or (TimelineBar(SpanKind.WORK, place(step.started or 0.0), 0.0),),
        reason=(run_words.one_line(step.reason) or note) if is_told else "",
    )  # fmt: skip


def _idle(state: RunState, steps: list[StepRun], y: float) -> Iterator[TimelineRow]:
    """Steps that never began: a row each, or one for many."""
    called = run_words.of(state)
    if len(steps) > _IDLE:
        names = ", ".join(called[each.id] for each in steps)
        yield TimelineRow(
            label=f"{len(steps)} steps", y=y + ROW / 2, state=StepState.PENDING, tip=names, note="not begun"
        )
        return
    for number, step in enumerate(steps):
        note = run_words.note(state, step, called)
        note = f"not begun: {note}" if note else "not begun"
        label = called[step.id]
        yield TimelineRow(
            label=label, y=y + ROW * number + ROW / 2, state=step.state, tip=f"{label}: {note}", note=note
        )


def _links(state: RunState, rows: Mapping[str, TimelineRow], path: Collection[str]) -> Iterator[TimelineLink]:
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
        yield TimelineLink(x1, upper.y, lower.bars[0].x, lower.y, step.id in path and last.id in path)


def _subtitle(state: RunState, until: float) -> str:
    started = state.started
    if started is None:
        return ""
    kind = "dry run" if started.is_dry_run else "rehearsal" if started.is_rehearsal else "run"
    done = sum(each.state in DONE for each in state.steps)
    outcome = {RunOutcome.RUNNING: "goes on", RunOutcome.UNKNOWN: "no end known"}
    parts = [
        f"{kind} {started.run}", clock.day(started.at), clock.span(state.seconds(until)),
        outcome.get(state.outcome, str(state.outcome)), f"{done} of {run_words.count(len(state.steps), 'step')}",
        run_words.count(state.writes, "write"),
    ]  # fmt: skip
    return run_words.one_line(" · ".join(parts))


def _ticks(total: float, left: float) -> tuple[tuple[float, str], ...]:
    """Moments on the axis, about ten of them."""
    step = next((each for each in _NICE if total / each <= _TICKS), int(total / _TICKS) + 1)
    return tuple((left + CHART * at / total, clock.span(at)) for at in range(0, int(total) + 1, step))


# A timeline as SVG: stands alone, light and dark, told apart by form as well as by colour.


_LEGEND = 60.0
_THIN = 2.0
"""Pixels of the shortest bar."""

_STYLE = """
svg{background:#fff;font-family:Inter,ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
.paper{fill:#fff}.band{fill:#f6f7f9}.band.even{fill:#fff}.rule{stroke:#e3e6ea}
text{fill:#1c2430;font-size:13px}.title{font-size:20px;font-weight:600}.sub,.axis,.note,.legend{fill:#5b6675}
.axis,.note,.legend{font-size:11px}.phase{font-size:12px;font-weight:600;fill:#5b6675}
.critical{font-weight:600}.idle{fill:#8c97a6}.note{paint-order:stroke;stroke:#fff;stroke-width:3px}
.grid{stroke:#dfe3e8;stroke-width:1}.end{stroke:#8c97a6;stroke-dasharray:4 3}
.link{fill:none;stroke:#b3bcc8;stroke-width:1}.link.critical{stroke:#3a4656;stroke-width:1.8}
.work{fill:#12806a}.wait{fill:#c3e8df;stroke:#12806a;stroke-width:1}
.failed .work{fill:#c62828}.failed .wait{fill:#f6d3d3;stroke:#c62828}.note.failed{fill:#c62828}
.running .work,.waiting .work{fill:#b4690e}.running .wait,.waiting .wait{fill:#fbe0b8;stroke:#b4690e}
.note.running,.note.waiting{fill:#94560a}.skipped .work{fill:#8c97a6}
.under{stroke:#3a4656;stroke-width:2}
@media (prefers-color-scheme:dark){
svg{background:#0f141a}.paper{fill:#0f141a}.band{fill:#151b23}.band.even{fill:#0f141a}.rule{stroke:#242c37}
text{fill:#e4e9f0}.sub,.axis,.note,.legend,.phase{fill:#97a3b4}.idle{fill:#707c8d}.note{stroke:#0f141a}
.grid{stroke:#232b35}.end{stroke:#707c8d}
.link{stroke:#465264}.link.critical{stroke:#c7d0dc}
.work{fill:#35b79b}.wait{fill:#12453b;stroke:#35b79b}
.failed .work{fill:#e5534b}.failed .wait{fill:#4d1f1d;stroke:#e5534b}.note.failed{fill:#f0837c}
.running .work,.waiting .work{fill:#e0962f}.running .wait,.waiting .wait{fill:#4a3413;stroke:#e0962f}
.note.running,.note.waiting{fill:#e0962f}.skipped .work{fill:#707c8d}.under{stroke:#c7d0dc}
}
"""


def svg(state: RunState, *, now: float) -> str:
    """The picture of a run."""
    laid = timeline(state, now=now)
    width, height = laid.width, laid.bottom + _LEGEND
    label = escaped(f"{laid.title}: what a run spent its time with")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label="{label}">',
        f"<title>{label}</title>",
        f"<style>{_STYLE.strip()}</style>",
        f'<rect class="paper" width="{_n(width)}" height="{_n(height)}"/>',
        f'<text class="title" x="{_n(MARGIN)}" y="38">{escaped(svg_text.cut(laid.title, 20, width - 60))}</text>',
        _text(laid.subtitle, MARGIN, 62, "sub", TEXT, width - 2 * MARGIN),
        *_bands(laid, width),
        *_axis(laid),
        *map(_link, sorted(laid.links, key=lambda each: each.is_critical)),
        *(part for row in laid.rows for part in _timeline_svg_row(row, laid)),
        *_legend(laid.bottom + 32),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _n(value: float) -> str:
    """A number with one digit, so that files are small and the same everywhere."""
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str, x: float, y: float, style: str, size: float, limit: float) -> str:
    """A text that is as wide as it was measured, whatever font there is."""
    shown = svg_text.cut(text, size, limit)
    name = f' class="{style}"' if style else ""
    fit = f' textLength="{_n(svg_text.width(shown, size))}" lengthAdjust="spacingAndGlyphs"' if len(shown) > 3 else ""
    return f'<text{name} x="{_n(x)}" y="{_n(y)}"{fit}>{escaped(shown)}</text>'


def _bands(laid: Timeline, width: float) -> Iterator[str]:
    for index, band in enumerate(laid.bands):
        even = " even" if index % 2 else ""
        yield f'<rect class="band{even}" y="{_n(band.y)}" width="{_n(width)}" height="{_n(band.height)}"/>'
        yield f'<path class="rule" d="M0 {_n(band.y)}H{_n(width)}"/>'
        yield f'<text class="phase" x="{_n(MARGIN)}" y="{_n(band.y + 24)}">{band.phase}</text>'


def _axis(laid: Timeline) -> Iterator[str]:
    for x, label in laid.ticks:
        yield f'<path class="grid" d="M{_n(x)} {_n(TOP - 8)}V{_n(laid.bottom)}"/>'
        yield f'<text class="axis" x="{_n(x)}" y="{_n(TOP - 14)}" text-anchor="middle">{label}</text>'
    if laid.end_label:
        yield f'<path class="end" d="M{_n(laid.end)} {_n(TOP - 8)}V{_n(laid.bottom)}"/>'
        y = TOP - 28
        yield f'<text class="axis" x="{_n(laid.end)}" y="{_n(y)}" text-anchor="middle">{laid.end_label}</text>'


def _link(link: TimelineLink) -> str:
    """Down beside the later bar's beginning, so that it crosses no text."""
    mark = " critical" if link.is_critical else ""
    way = f"M{_n(link.x1)} {_n(link.y1)}"
    turn = max(link.x1, link.x2)
    end = link.y2 - BAR / 2 if link.y2 > link.y1 else link.y2 + BAR / 2
    if abs(link.x1 - link.x2) > 0.5:
        return f'<path class="link{mark}" d="{way}H{_n(turn)}V{_n(end)}"/>'
    return f'<path class="link{mark}" d="{way}V{_n(end)}"/>'


def _timeline_svg_row(row: TimelineRow, laid: Timeline) -> Iterator[str]:
    begun = bool(row.bars)
    yield f'<g class="{row.state}"><title>{escaped(row.tip)}</title>'
    style = "critical" if row.is_critical else "" if begun else "idle"
    limit = laid.left - GUTTER - 12
    yield _text(row.label, GUTTER, row.y + 4.5, style, TEXT, limit)
    for bar in row.bars:
        inset = 2.0 if bar.kind == SpanKind.WAIT else 0.0
        yield (
            f'<rect class="{bar.kind}" x="{_n(bar.x)}" y="{_n(row.y - BAR / 2 + inset)}" '
            f'width="{_n(max(bar.width, _THIN))}" height="{_n(BAR - 2 * inset)}" rx="1.5"/>'
        )
    if row.is_critical and begun:
        end = row.bars[-1].x + max(row.bars[-1].width, _THIN)
        yield f'<path class="under" d="M{_n(row.bars[0].x)} {_n(row.y + BAR / 2 + 3)}H{_n(end)}"/>'
    x = row.bars[-1].x + max(row.bars[-1].width, _THIN) + 8 if begun else laid.left + 8
    loud = f" {row.state}" if row.state in (StepState.FAILED, StepState.RUNNING, StepState.WAITING) else ""
    idle = "" if begun else " idle"
    yield _text(row.note, x, row.y + 4, f"note{idle}", SMALL_TEXT, laid.width - x - 12)
    if row.reason:
        # Below its bar, and further to the left if it needs the room.
        room = laid.width - MARGIN - svg_text.width(row.reason, SMALL_TEXT)
        x = max(laid.left, min(row.bars[0].x if begun else laid.left, room))
        yield _text(row.reason, x, row.y + BAR / 2 + 16, f"note{loud}", SMALL_TEXT, laid.width - x - 12)
    yield "</g>"


def _legend(y: float) -> Iterator[str]:
    """What the forms mean."""
    x = MARGIN
    for state, kind, words in (
        ("passed", "work", "looks and writes"),
        ("passed", "wait", "waits for its gates"),
        ("failed", "work", "failed"),
        ("running", "work", "had not ended"),
    ):
        inset = 2.0 if kind == "wait" else 0.0
        yield (
            f'<g class="{state}"><rect class="{kind}" x="{_n(x)}" y="{_n(y - BAR / 2 + inset)}" width="30" '
            f'height="{_n(BAR - 2 * inset)}" rx="1.5"/></g>'
        )
        yield _text(words, x + 38, y + 4, "legend", SMALL_TEXT, 300)
        x += 38 + svg_text.width(words, SMALL_TEXT) + 26
    for style, words in (("under", "critical path"), ("link", "began when that was ready")):
        yield f'<path class="{style}" d="M{_n(x)} {_n(y)}H{_n(x + 30)}"/>'
        yield _text(words, x + 38, y + 4, "legend", SMALL_TEXT, 300)
        x += 38 + svg_text.width(words, SMALL_TEXT) + 26
