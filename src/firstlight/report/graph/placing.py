"""Where each item of a row stands: near what it is joined to, in its order, and clear of its neighbours."""

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from firstlight.report.graph.ordering import Ordered

_SWEEPS = 30
_STRAIGHT = 8.0
"""How much more it matters that a long line is straight than that a node is above its neighbour."""


def places(ordered: Ordered, widths: Mapping[str, float], *, gap: float) -> dict[str, float]:
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


def _joints(ordered: Ordered) -> dict[str, list[tuple[str, float]]]:
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


def _chains(ordered: Ordered) -> list[list[str]]:
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
    chain: Sequence[str], ordered: Ordered, found: dict[str, float], widths: Mapping[str, float], gap: float
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
