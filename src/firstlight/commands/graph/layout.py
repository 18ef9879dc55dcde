"""Everything in its place: rows, order, places and sizes put together, in pixels."""

import dataclasses
import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from firstlight.commands.graph import row_order
from firstlight.commands.graph.picture import SMALL, GraphNode, Picture
from firstlight.commands.graph.row_order import OrderedRows
from firstlight.drawing import svg_text
from firstlight.model.component import Phase

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
class NodeBox:
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
class PhaseBand:
    """A phase, from its upper edge to its lower."""

    phase: Phase
    y: float
    height: float


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """A picture with places."""

    width: float
    height: float
    nodes: Mapping[str, tuple[GraphNode, NodeBox]]
    rows: tuple[tuple[float, float], ...]
    """Upper and lower edge of each row."""
    lines: Mapping[str, float]
    """Where lines pass rows: the place from left to right by item."""
    bands: tuple[PhaseBand, ...]
    ordered: OrderedRows

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

    def size(node: GraphNode) -> tuple[float, float]:
        if node.id not in sizes:
            sizes[node.id] = _size(node, has_detail=is_small)
        return sizes[node.id]

    rows = row_order.rows(picture, limit=PAGE, width=lambda node: size(node)[0] + GAP, boxes=not is_small)
    ordered = row_order.ordered(rows)
    by_id = {node.id: node for row in rows.rows for node in row.nodes}
    widths = {item.id: LINE if item.is_line else size(by_id[item.id])[0] for row in ordered.rows for item in row}
    middles = places(ordered, widths, gap=GAP)
    edges, bands = _vertical(rows, ordered, {name: size(node)[1] for name, node in by_id.items()})
    nodes, lines = {}, {}
    for (upper, lower), row in zip(edges, ordered.rows, strict=True):
        for item in row:
            middle = GUTTER + middles[item.id]
            if item.is_line:
                lines[item.id] = middle
                continue
            width, height = size(by_id[item.id])
            box = NodeBox(middle - width / 2, (upper + lower - height) / 2, width, height)
            nodes[item.id] = (by_id[item.id], box)
    right = max([box.x + box.width for _, box in nodes.values()] + list(lines.values()), default=GUTTER)
    bottom = bands[-1].y + bands[-1].height if bands else TOP
    return Layout(right + MARGIN, bottom, nodes, tuple(edges), lines, tuple(bands), ordered)


def _vertical(
    rows: row_order.GraphRows, ordered: OrderedRows, heights: Mapping[str, float]
) -> tuple[list[tuple[float, float]], list[PhaseBand]]:
    """Upper and lower edges of rows, and the bands of phases around them."""
    edges: list[tuple[float, float]] = []
    bands: list[PhaseBand] = []
    y, start = TOP, TOP
    for index, row in enumerate(rows.rows):
        if index and row.phase != rows.rows[index - 1].phase:
            bands.append(PhaseBand(rows.rows[index - 1].phase, start, y - start))
            start = y
        if not index or row.phase != rows.rows[index - 1].phase:
            y += _BAND
        height = max(heights[node.id] for node in row.nodes)
        edges.append((y, y + height))
        y += height
        is_last = index + 1 == len(rows.rows) or rows.rows[index + 1].phase != row.phase
        y += _BAND if is_last else _spread(len(ordered.pieces.get(index, ())))
    if rows.rows:
        bands.append(PhaseBand(rows.rows[-1].phase, start, y - start))
    return edges, bands


def _spread(lines: int) -> float:
    """More room between two rows where many lines turn."""
    return _ROW_GAP + min(30.0, lines * 0.8)


def columns(node: GraphNode) -> int:
    """In how many columns a box lists its members."""
    return 1 if len(node.members) <= 6 else 2 if len(node.members) <= 16 else 3 if len(node.members) <= 36 else 4


def member_width(node: GraphNode) -> float:
    """How wide a column of a box is."""
    longest = max(svg_text.width(each.label, SMALL_TEXT) for each in node.members)
    return min(_MEMBER_WIDTH, longest) + 14


def _size(node: GraphNode, *, has_detail: bool) -> tuple[float, float]:
    if node.members:
        number = columns(node)
        lines = -(-len(node.members) // number)
        head = svg_text.width(node.label, TEXT) + 40
        return max(head, number * member_width(node)) + 2 * _PADDING, _HEAD + lines * _MEMBER + _PADDING
    label = min(WIDEST, svg_text.width(node.label, TEXT))
    if not has_detail:
        return label + 26, 26.0
    detail = min(WIDEST, svg_text.width(node.detail, SMALL_TEXT))
    return max(label, detail, 40.0) + 32, 42.0 if node.detail else 30.0


def member_place(node: GraphNode, box: NodeBox, index: int) -> tuple[float, float]:
    """Where a member of a box is written: left, and the line that letters stand on."""
    lines = -(-len(node.members) // columns(node))
    column, line = divmod(index, lines)
    return box.x + _PADDING + column * member_width(node), box.y + _HEAD + line * _MEMBER + 12


# Where each item of a row stands: near what it is joined to, in its order, and clear of its neighbours.


_SWEEPS = 30
_STRAIGHT = 8.0
"""How much more it matters that a long line is straight than that a node is above its neighbour."""


def places(ordered: OrderedRows, widths: Mapping[str, float], *, gap: float) -> dict[str, float]:
    """The middle of each item from left to right; the leftmost edge is at 0.

    Args:
        ordered: Rows in their order.
        widths: How wide each item is.
        gap: Free space between two items.
    """
    found: dict[str, float] = {}
    for row in ordered.rows:
        edge = 0.0
        for item in row:
            found[item.id] = edge + widths[item.id] / 2
            edge += widths[item.id] + gap
        for item in row:
            found[item.id] -= (edge - gap) / 2  # rows are centred before anything pulls at them
    joints = _joints(ordered)
    for sweep in range(_SWEEPS):
        order = ordered.rows if sweep % 2 == 0 else tuple(reversed(ordered.rows))
        for row in order:
            ids = [item.id for item in row]
            wishes, weights = [], []
            for name in ids:
                pulls = joints.get(name, ())
                weight = sum(each for _, each in pulls)
                wishes.append(sum(found[other] * each for other, each in pulls) / weight if weight else found[name])
                weights.append(weight or 0.1)
            found |= zip(ids, spaced(ids, wishes, weights, widths, gap), strict=True)
    for chain in _chains(ordered):
        _straighten(chain, ordered, found, widths, gap)
    left = min((found[name] - widths[name] / 2 for name in found), default=0.0)
    return {name: place - left for name, place in found.items()}


def _joints(ordered: OrderedRows) -> dict[str, list[tuple[str, float]]]:
    lines = {item.id for row in ordered.rows for item in row if item.is_line}
    found: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for pairs in ordered.pieces.values():
        for upper, lower in pairs:
            weight = (
                _STRAIGHT if upper in lines and lower in lines else 2.0 if upper in lines or lower in lines else 1.0
            )
            found[upper].append((lower, weight))
            found[lower].append((upper, weight))
    return found


def _chains(ordered: OrderedRows) -> list[list[str]]:
    """Items one below the other that are joined to nothing else in between: they want to be one straight line."""
    lines = {item.id for row in ordered.rows for item in row if item.is_line}
    above: dict[str, list[str]] = defaultdict(list)
    below: dict[str, list[str]] = defaultdict(list)
    for pairs in ordered.pieces.values():
        for upper, lower in pairs:
            above[lower].append(upper)
            below[upper].append(lower)

    def follows(name: str) -> str:
        if name in lines and (inner := [each for each in below[name] if each in lines]):
            return inner[0]
        next_ = below[name][0] if len(below[name]) == 1 else ""
        return next_ if next_ and len(above[next_]) == 1 else ""

    successors = {item.id: after for row in ordered.rows for item in row if (after := follows(item.id))}
    followed = set(successors.values())
    found = []
    for start in successors:
        if start not in followed:
            chain = [start]
            while chain[-1] in successors:
                chain.append(successors[chain[-1]])
            found.append(chain)
    return sorted(found, key=len, reverse=True)


def _straighten(
    chain: Sequence[str], ordered: OrderedRows, found: dict[str, float], widths: Mapping[str, float], gap: float
) -> None:
    """Put a chain, or the longest parts of it for which there is room, one below the other."""
    room = {}
    inside = set(chain)
    for row in ordered.rows:
        for index, item in enumerate(row):
            if item.id in inside:
                left, right = (row[index - 1].id if index else ""), (row[index + 1].id if index + 1 < len(row) else "")
                own = widths[item.id] / 2 + gap
                low = found[left] + widths[left] / 2 + own if left else -math.inf
                high = found[right] - widths[right] / 2 - own if right else math.inf
                room[item.id] = (low, high)
    part: list[str] = []
    low, high = -math.inf, math.inf
    for name in [*chain, ""]:
        lower, upper = room.get(name, (math.inf, -math.inf))
        if max(low, lower) <= min(high, upper):
            part.append(name)
            low, high = max(low, lower), min(high, upper)
            continue
        if len(part) > 1:
            middle = sum(found[each] for each in part) / len(part)
            found |= dict.fromkeys(part, min(max(middle, low), high))
        part, low, high = [name], lower, upper


def spaced(
    ids: Sequence[str], wishes: Sequence[float], weights: Sequence[float], widths: Mapping[str, float], gap: float
) -> list[float]:
    """The places nearest to the wishes (least squares) that keep order and space: pool adjacent violators."""
    offsets = [0.0]
    for left, right in itertools.pairwise(ids):
        offsets.append(offsets[-1] + (widths[left] + widths[right]) / 2 + gap)
    blocks: list[tuple[float, float, int]] = []  # mean, weight, how many
    for wish, weight, offset in zip(wishes, weights, offsets, strict=True):
        mean, total, number = wish - offset, weight, 1
        while blocks and blocks[-1][0] > mean:
            before, heavy, many = blocks.pop()
            mean = (mean * total + before * heavy) / (total + heavy)
            total, number = total + heavy, number + many
        blocks.append((mean, total, number))
    means = [mean for mean, _, number in blocks for _ in range(number)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]
