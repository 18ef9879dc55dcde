"""A timeline as SVG: stands alone, light and dark, told apart by form as well as by colour."""

from collections.abc import Iterator

from firstlight.model.run_state import RunState, SpanKind, StepState
from firstlight.report.graph import measure
from firstlight.report.graph.svg import escaped
from firstlight.report.run import timeline as timelines
from firstlight.report.run.timeline import BAR, MARGIN, SMALL_TEXT, TEXT, Link, Row, Timeline

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
    laid = timelines.timeline(state, now=now)
    width, height = laid.width, laid.bottom + _LEGEND
    label = escaped(f"{laid.title}: what a run spent its time with")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label="{label}">',
        f"<title>{label}</title>",
        f"<style>{_STYLE.strip()}</style>",
        f'<rect class="paper" width="{_n(width)}" height="{_n(height)}"/>',
        f'<text class="title" x="{_n(MARGIN)}" y="38">{escaped(measure.cut(laid.title, 20, width - 60))}</text>',
        _text(laid.subtitle, MARGIN, 62, "sub", TEXT, width - 2 * MARGIN),
        *_bands(laid, width),
        *_axis(laid),
        *map(_link, sorted(laid.links, key=lambda each: each.is_critical)),
        *(part for row in laid.rows for part in _row(row, laid)),
        *_legend(laid.bottom + 32),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _n(value: float) -> str:
    """A number with one digit, so that files are small and the same everywhere."""
    return f"{value:.1f}".removesuffix(".0")


def _text(text: str, x: float, y: float, style: str, size: float, limit: float) -> str:
    """A text that is as wide as it was measured, whatever font there is."""
    shown = measure.cut(text, size, limit)
    name = f' class="{style}"' if style else ""
    fit = f' textLength="{_n(measure.width(shown, size))}" lengthAdjust="spacingAndGlyphs"' if len(shown) > 3 else ""
    return f'<text{name} x="{_n(x)}" y="{_n(y)}"{fit}>{escaped(shown)}</text>'


def _bands(laid: Timeline, width: float) -> Iterator[str]:
    for index, band in enumerate(laid.bands):
        even = " even" if index % 2 else ""
        yield f'<rect class="band{even}" y="{_n(band.y)}" width="{_n(width)}" height="{_n(band.height)}"/>'
        yield f'<path class="rule" d="M0 {_n(band.y)}H{_n(width)}"/>'
        yield f'<text class="phase" x="{_n(MARGIN)}" y="{_n(band.y + 24)}">{band.phase}</text>'


def _axis(laid: Timeline) -> Iterator[str]:
    for x, label in laid.ticks:
        yield f'<path class="grid" d="M{_n(x)} {_n(timelines.TOP - 8)}V{_n(laid.bottom)}"/>'
        yield f'<text class="axis" x="{_n(x)}" y="{_n(timelines.TOP - 14)}" text-anchor="middle">{label}</text>'
    if laid.end_label:
        yield f'<path class="end" d="M{_n(laid.end)} {_n(timelines.TOP - 8)}V{_n(laid.bottom)}"/>'
        y = timelines.TOP - 28
        yield f'<text class="axis" x="{_n(laid.end)}" y="{_n(y)}" text-anchor="middle">{laid.end_label}</text>'


def _link(link: Link) -> str:
    """Down beside the later bar's beginning, so that it crosses no text."""
    mark = " critical" if link.is_critical else ""
    way = f"M{_n(link.x1)} {_n(link.y1)}"
    turn = max(link.x1, link.x2)
    end = link.y2 - BAR / 2 if link.y2 > link.y1 else link.y2 + BAR / 2
    if abs(link.x1 - link.x2) > 0.5:
        return f'<path class="link{mark}" d="{way}H{_n(turn)}V{_n(end)}"/>'
    return f'<path class="link{mark}" d="{way}V{_n(end)}"/>'


def _row(row: Row, laid: Timeline) -> Iterator[str]:
    begun = bool(row.bars)
    yield f'<g class="{row.state}"><title>{escaped(row.tip)}</title>'
    style = "critical" if row.is_critical else "" if begun else "idle"
    limit = laid.left - timelines.GUTTER - 12
    yield _text(row.label, timelines.GUTTER, row.y + 4.5, style, TEXT, limit)
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
        room = laid.width - MARGIN - measure.width(row.reason, SMALL_TEXT)
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
        x += 38 + measure.width(words, SMALL_TEXT) + 26
    for style, words in (("under", "critical path"), ("link", "began when that was ready")):
        yield f'<path class="{style}" d="M{_n(x)} {_n(y)}H{_n(x + 30)}"/>'
        yield _text(words, x + 38, y + 4, "legend", SMALL_TEXT, 300)
        x += 38 + measure.width(words, SMALL_TEXT) + 26
