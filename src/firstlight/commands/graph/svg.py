"""A laid out picture as SVG: stands alone, light and dark, told apart by form as well as by colour."""

import itertools
from collections.abc import Iterator, Sequence

from firstlight.commands.graph import layout
from firstlight.commands.graph.layout import Layout, NodeBox
from firstlight.commands.graph.picture import GraphNode, NodeLook, Picture
from firstlight.drawing import svg_text
from firstlight.drawing.svg_text import escaped
from firstlight.model.diagnostic import Severity

_LEGEND, _NARROWEST = 74.0, 720.0
"""Pixels of the legend's height; of the width that it needs."""
_CORNER = 3.0

_STYLE = """
svg{background:#fff;font-family:Inter,ui-sans-serif,system-ui,'Segoe UI',Roboto,Helvetica,Arial,sans-serif}
.paper{fill:#fff}.band{fill:#f6f7f9}.band.even{fill:#fff}.rule{stroke:#e3e6ea}
text{fill:#1c2430;font-size:13px}.title{font-size:20px;font-weight:600}.sub,.detail,.legend{fill:#5b6675}
.sub{font-size:13px}.detail,.member,.legend{font-size:11px}.phase{font-size:12px;font-weight:600;fill:#5b6675}
.edge{fill:none;stroke:#9aa5b4;stroke-width:1.2}.edge.critical{stroke:#3a4656;stroke-width:2.2}
.tip{fill:#9aa5b4}.tip.critical{fill:#3a4656}
.shape{stroke-width:1.3}.critical>.shape{stroke-width:2.2}
.run .shape{fill:#fff;stroke:#8c97a6;stroke-dasharray:3 2.5}
.bootstrap .shape{fill:#fff3e2;stroke:#b4690e}.bootstrap .bar,.hybrid .bar{fill:#b4690e}
.gitops .shape{fill:#e4f5f1;stroke:#12806a}
.hybrid .shape{fill:#e4f5f1;stroke:#12806a}.hybrid .half{fill:#fff3e2}
.hybrid .rim{fill:none;stroke:#b4690e;stroke-width:1.3}
.head{font-weight:600}.mark{font-weight:700;font-size:12px;fill:#fff;text-anchor:middle}
.error{fill:#c62828}.warning{fill:#9a6700}
@media (prefers-color-scheme:dark){
svg{background:#0f141a}.paper{fill:#0f141a}.band{fill:#151b23}.band.even{fill:#0f141a}.rule{stroke:#242c37}
text{fill:#e4e9f0}.sub,.detail,.legend,.phase{fill:#97a3b4}
.edge{stroke:#566274}.edge.critical{stroke:#c7d0dc}.tip{fill:#566274}.tip.critical{fill:#c7d0dc}
.run .shape{fill:#0f141a;stroke:#707c8d}
.bootstrap .shape{fill:#33240f;stroke:#e0962f}.bootstrap .bar,.hybrid .bar{fill:#e0962f}
.gitops .shape{fill:#0d2c27;stroke:#35b79b}
.hybrid .shape{fill:#0d2c27;stroke:#35b79b}.hybrid .half{fill:#33240f}.hybrid .rim{stroke:#e0962f}
.error{fill:#e5534b}.warning{fill:#c69026}.mark{fill:#0f141a}
}
"""


def svg(picture: Picture) -> str:
    """The whole picture."""
    laid = layout.layout(picture)
    width, height = max(laid.width, _NARROWEST), laid.height + _LEGEND
    middle = (width - laid.width) / 2
    label = escaped(f"{picture.title}: what needs what, phase by phase")
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" role="img" aria-label="{label}">',
        f"<title>{label}</title>",
        f"<style>{_STYLE.strip()}</style>",
        f'<rect class="paper" width="{_n(width)}" height="{_n(height)}"/>',
        f'<text class="title" x="{_n(layout.MARGIN)}" y="36">{escaped(picture.title)}</text>',
        f'<text class="sub" x="{_n(layout.MARGIN)}" y="58">{escaped(picture.subtitle)}</text>',
        *_bands(laid, width),
        f'<g transform="translate({_n(middle)} 0)">',
        *_edges(laid, picture),
        *(part for node, box in laid.nodes.values() for part in _node(node, box)),
        "</g>",
        *_legend(laid.height + 26),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _n(value: float) -> str:
    """A number with one digit, so that files are small and the same everywhere."""
    return f"{value:.1f}".removesuffix(".0")


def _bands(laid: Layout, width: float) -> Iterator[str]:
    for index, band in enumerate(laid.bands):
        even = " even" if index % 2 else ""
        yield f'<rect class="band{even}" y="{_n(band.y)}" width="{_n(width)}" height="{_n(band.height)}"/>'
        yield f'<path class="rule" d="M0 {_n(band.y)}H{_n(width)}"/>'
        yield f'<text class="phase" x="{_n(layout.MARGIN)}" y="{_n(band.y + 29)}">{band.phase}</text>'


def _edges(laid: Layout, picture: Picture) -> Iterator[str]:
    """Every piece of a line once; those of the critical path last, so that they lie on top."""
    critical: dict[tuple[str, str], None] = {}
    homes = {member.id: node.id for node, _ in laid.nodes.values() for member in node.members}
    for source, target in sorted(picture.critical):
        route = laid.ordered.routes.get((homes.get(source, source), homes.get(target, target)), ())
        critical |= dict.fromkeys(itertools.pairwise(route))
    pieces = [(row, pair) for row, pairs in sorted(laid.ordered.pieces.items()) for pair in pairs]
    for row, pair in sorted(pieces, key=lambda each: each[1] in critical):
        mark = " critical" if pair in critical else ""
        yield f'<path class="edge{mark}" d="{_curve(laid, row, *pair)}"/>'
        if pair[1] in laid.nodes:
            x, y = laid.top(pair[1])
            yield f'<path class="tip{mark}" d="M{_n(x - 3.5)} {_n(y - 6)}L{_n(x + 3.5)} {_n(y - 6)}L{_n(x)} {_n(y)}Z"/>'


def _curve(laid: Layout, row: int, upper: str, lower: str) -> str:
    """From the lower edge of one item down to the upper edge of the other; it bends only between rows."""
    x1, y1 = laid.bottom(upper)
    x2, y2 = laid.top(lower)
    leave, arrive = laid.rows[row][1], laid.rows[row + 1][0]
    bend = (arrive - leave) * 0.55
    start = f"M{_n(x1)} {_n(laid.rows[row][0] if upper not in laid.nodes else y1)}V{_n(leave)}"
    end = f"V{_n(y2)}" if lower in laid.nodes else ""
    if abs(x1 - x2) < 0.05:
        return f"{start}V{_n(arrive)}{end}"
    curve = f"C{_n(x1)} {_n(leave + bend)} {_n(x2)} {_n(arrive - bend)} {_n(x2)} {_n(arrive)}"
    return f"{start}{curve}{end}"


def _node(node: GraphNode, box: NodeBox) -> Iterator[str]:
    critical = " critical" if node.is_critical else ""
    yield f'<g class="{node.look}{critical}"><title>{escaped(node.tip)}</title>'
    yield from _shape(node.look, box, is_box=bool(node.members))
    if node.members:
        yield _text(node.label, box.x + 14, box.y + 18, "head", layout.TEXT, box.width - 50)
        yield f'<text class="detail" x="{_n(box.x + box.width - 12)}" y="{_n(box.y + 18)}" text-anchor="end">' \
              f"{len(node.members)}</text>"  # fmt: skip
        for index, member in enumerate(node.members):
            x, y = layout.member_place(node, box, index)
            mark = "! " if member.severity else ""
            limit = layout.member_width(node) - 12
            yield f"<g><title>{escaped(member.tip)}</title>"
            yield _text(mark + member.label, x + 2, y, "member", layout.SMALL_TEXT, limit) + "</g>"
    elif box.height > 30:
        yield _text(node.label, box.x + 16, box.y + 18, "", layout.TEXT, box.width - 28)
        yield _text(node.detail, box.x + 16, box.y + 33, "detail", layout.SMALL_TEXT, box.width - 28)
    else:
        yield _text(node.label, box.x + 13, box.y + box.height / 2 + 4.5, "", layout.TEXT, box.width - 20)
    yield from _mark(node, box)
    yield "</g>"


def _text(text: str, x: float, y: float, style: str, size: float, limit: float) -> str:
    """A text that is as wide as it was measured, whatever font there is."""
    shown = svg_text.cut(text, size, limit)
    name = f' class="{style}"' if style else ""
    fit = f' textLength="{_n(svg_text.width(shown, size))}" lengthAdjust="spacingAndGlyphs"' if len(shown) > 3 else ""
    return f'<text{name} x="{_n(x)}" y="{_n(y)}"{fit}>{escaped(shown)}</text>'


def _shape(look: NodeLook, box: NodeBox, *, is_box: bool) -> Iterator[str]:
    """Bootstrap has corners, GitOps is round, a hybrid has both."""
    round_ = 12.0 if is_box else box.height / 2 if box.height <= 30 else 14.0
    left = round_ if look == NodeLook.GITOPS else _CORNER
    right = round_ if look in (NodeLook.GITOPS, NodeLook.HYBRID) else _CORNER
    yield f'<path class="shape" d="{_outline(box, left, right)}"/>'
    if look == NodeLook.HYBRID:
        half = NodeBox(box.x, box.y, box.width / 2, box.height)
        yield f'<path class="half" d="{_outline(half, _CORNER, 0)}"/>'
        x, y, middle, bottom = _n(box.x), _n(box.y), _n(half.x + half.width), _n(box.bottom)
        edge, upper, lower = _n(box.x + _CORNER), _n(box.y + _CORNER), _n(box.bottom - _CORNER)
        way = f"M{middle} {y}H{edge}Q{x} {y} {x} {upper}V{lower}Q{x} {bottom} {edge} {bottom}H{middle}"
        yield f'<path class="rim" d="{way}"/>'
    if look in (NodeLook.BOOTSTRAP, NodeLook.HYBRID):
        yield f'<rect class="bar" x="{_n(box.x)}" y="{_n(box.y)}" width="5" height="{_n(box.height)}" rx="1.5"/>'


def _outline(box: NodeBox, left: float, right: float) -> str:
    x, y, r, b = box.x, box.y, box.x + box.width, box.bottom
    return (
        f"M{_n(x + left)} {_n(y)}H{_n(r - right)}Q{_n(r)} {_n(y)} {_n(r)} {_n(y + right)}V{_n(b - right)}"
        f"Q{_n(r)} {_n(b)} {_n(r - right)} {_n(b)}H{_n(x + left)}Q{_n(x)} {_n(b)} {_n(x)} {_n(b - left)}"
        f"V{_n(y + left)}Q{_n(x)} {_n(y)} {_n(x + left)} {_n(y)}Z"
    )


def _mark(node: GraphNode, box: NodeBox) -> Iterator[str]:
    if node.severity in (Severity.ERROR, Severity.WARNING):
        x, y = box.x + box.width - 3, box.y + 3
        sign = "×" if node.severity == Severity.ERROR else "!"
        yield f'<circle class="{node.severity}" cx="{_n(x)}" cy="{_n(y)}" r="7.5"/>'
        yield f'<text class="mark" x="{_n(x)}" y="{_n(y + 4.2)}">{sign}</text>'


def _legend(y: float) -> Iterator[str]:
    """What the forms mean."""
    x = layout.MARGIN
    looks: Sequence[tuple[NodeLook, str]] = (
        (NodeLook.BOOTSTRAP, "bootstrap installs it"),
        (NodeLook.HYBRID, "bootstrap first, then GitOps"),
        (NodeLook.GITOPS, "GitOps brings it"),
        (NodeLook.RUN, "a step of every run"),
    )
    for look, words in looks:
        box = NodeBox(x, y - 9, 34, 18)
        yield f'<g class="{look}">'
        yield from _shape(look, box, is_box=False)
        yield "</g>"
        yield _text(words, x + 42, y + 4, "legend", layout.SMALL_TEXT, 300)
        x += 42 + svg_text.width(words, layout.SMALL_TEXT) + 26
    y, x = y + 26, layout.MARGIN
    for style, words in (("", "what is below needs what is above"), (" critical", "critical path")):
        yield f'<path class="edge{style}" d="M{_n(x)} {_n(y)}H{_n(x + 34)}"/>'
        yield _text(words, x + 42, y + 4, "legend", layout.SMALL_TEXT, 300)
        x += 42 + svg_text.width(words, layout.SMALL_TEXT) + 26
    for severity, sign, words in (("error", "×", "blocks the run"), ("warning", "!", "may go wrong")):
        yield f'<circle class="{severity}" cx="{_n(x + 8)}" cy="{_n(y)}" r="7.5"/>'
        yield f'<text class="mark" x="{_n(x + 8)}" y="{_n(y + 4.2)}">{sign}</text>'
        yield _text(words, x + 22, y + 4, "legend", layout.SMALL_TEXT, 300)
        x += 22 + svg_text.width(words, layout.SMALL_TEXT) + 26
