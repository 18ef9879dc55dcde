"""Everything in its place: rows, order, places and sizes put together, in pixels."""

import dataclasses
from collections.abc import Mapping

from firstlight.model.component import Phase
from firstlight.report.graph import layering, measure, ordering, placing
from firstlight.report.graph.ordering import Ordered
from firstlight.report.graph.picture import SMALL, Node, Picture

TEXT, SMALL_TEXT = 13.0, 11.0
WIDEST = 210.0
"""Pixels of the widest label; the rest is in the tooltip."""
PAGE = 1500.0
"""Pixels of a row before it is broken: about the width of a screen."""
GUTTER = 104.0
"""Left of everything: the names of phases."""
TOP, MARGIN = 78.0, 24.0
GAP, LINE = 16.0, 6.0
"""Between two items of a row; what a line that passes takes of it."""
_ROW_GAP, _BAND = 30.0, 16.0
_MEMBER, _HEAD, _PADDING = 17.0, 26.0, 12.0
_MEMBER_WIDTH = 168.0


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        """From left to right."""
        return self.x + self.width / 2

    @property
    def bottom(self) -> float:
        """The lower edge."""
        return self.y + self.height


@dataclasses.dataclass(frozen=True, slots=True)
class Band:
    """A phase, from its upper edge to its lower."""

    phase: Phase
    y: float
    height: float


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """A picture with places."""

    width: float
    height: float
    nodes: Mapping[str, tuple[Node, Box]]
    rows: tuple[tuple[float, float], ...]
    """Upper and lower edge of each row."""
    lines: Mapping[str, float]
    """Where lines pass rows: the place from left to right by item."""
    bands: tuple[Band, ...]
    ordered: Ordered

    def top(self, item: str) -> tuple[float, float]:
        """Where a line comes in."""
        if item in self.nodes:
            box = self.nodes[item][1]
            return box.middle, box.y
        return self.lines[item], self.rows[self._row(item)][0]

    def bottom(self, item: str) -> tuple[float, float]:
        """Where a line goes out."""
        if item in self.nodes:
            box = self.nodes[item][1]
            return box.middle, box.bottom
        return self.lines[item], self.rows[self._row(item)][1]

    def _row(self, item: str) -> int:
        return int(item.rpartition("@")[2])


def layout(picture: Picture) -> Layout:
    """Lay a picture out; the same picture is always laid out the same."""
    is_small = len(picture.nodes) <= SMALL
    sizes: dict[str, tuple[float, float]] = {}

    def size(node: Node) -> tuple[float, float]:
        if node.id not in sizes:
            sizes[node.id] = _size(node, has_detail=is_small)
        return sizes[node.id]

    rows = layering.rows(picture, limit=PAGE, width=lambda node: size(node)[0] + GAP, boxes=not is_small)
    ordered = ordering.ordered(rows)
    by_id = {node.id: node for row in rows.rows for node in row.nodes}
    widths = {item.id: LINE if item.is_line else size(by_id[item.id])[0] for row in ordered.rows for item in row}
    middles = placing.places(ordered, widths, gap=GAP)
    edges, bands = _vertical(rows, ordered, {name: size(node)[1] for name, node in by_id.items()})
    nodes, lines = {}, {}
    for (upper, lower), row in zip(edges, ordered.rows, strict=True):
        for item in row:
            middle = GUTTER + middles[item.id]
            if item.is_line:
                lines[item.id] = middle
                continue
            width, height = size(by_id[item.id])
            box = Box(middle - width / 2, (upper + lower - height) / 2, width, height)
            nodes[item.id] = (by_id[item.id], box)
    right = max([box.x + box.width for _, box in nodes.values()] + list(lines.values()), default=GUTTER)
    bottom = bands[-1].y + bands[-1].height if bands else TOP
    return Layout(right + MARGIN, bottom, nodes, tuple(edges), lines, tuple(bands), ordered)


def _vertical(
    rows: layering.Rows, ordered: Ordered, heights: Mapping[str, float]
) -> tuple[list[tuple[float, float]], list[Band]]:
    """Upper and lower edges of rows, and the bands of phases around them."""
    edges: list[tuple[float, float]] = []
    bands: list[Band] = []
    y, start = TOP, TOP
    for index, row in enumerate(rows.rows):
        if index and row.phase != rows.rows[index - 1].phase:
            bands.append(Band(rows.rows[index - 1].phase, start, y - start))
            start = y
        if not index or row.phase != rows.rows[index - 1].phase:
            y += _BAND
        height = max(heights[node.id] for node in row.nodes)
        edges.append((y, y + height))
        y += height
        is_last = index + 1 == len(rows.rows) or rows.rows[index + 1].phase != row.phase
        y += _BAND if is_last else _spread(len(ordered.pieces.get(index, ())))
    if rows.rows:
        bands.append(Band(rows.rows[-1].phase, start, y - start))
    return edges, bands


def _spread(lines: int) -> float:
    """More room between two rows where many lines turn."""
    return _ROW_GAP + min(30.0, lines * 0.8)


def columns(node: Node) -> int:
    """In how many columns a box lists its members."""
    return 1 if len(node.members) <= 6 else 2 if len(node.members) <= 16 else 3 if len(node.members) <= 36 else 4


def member_width(node: Node) -> float:
    """How wide a column of a box is."""
    longest = max(measure.width(each.label, SMALL_TEXT) for each in node.members)
    return min(_MEMBER_WIDTH, longest) + 14


def _size(node: Node, *, has_detail: bool) -> tuple[float, float]:
    if node.members:
        number = columns(node)
        lines = -(-len(node.members) // number)
        head = measure.width(node.label, TEXT) + 40
        return max(head, number * member_width(node)) + 2 * _PADDING, _HEAD + lines * _MEMBER + _PADDING
    label = min(WIDEST, measure.width(node.label, TEXT))
    if not has_detail:
        return label + 26, 26.0
    detail = min(WIDEST, measure.width(node.detail, SMALL_TEXT))
    return max(label, detail, 40.0) + 32, 42.0 if node.detail else 30.0


def member_place(node: Node, box: Box, index: int) -> tuple[float, float]:
    """Where a member of a box is written: left, and the line that letters stand on."""
    lines = -(-len(node.members) // columns(node))
    column, line = divmod(index, lines)
    return box.x + _PADDING + column * member_width(node), box.y + _HEAD + line * _MEMBER + 12
