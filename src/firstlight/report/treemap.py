"""Rectangles within a rectangle, as large as their numbers and as square as that allows."""

import dataclasses
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True, slots=True)
class Box:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    def inside(self, margin: float, *, top: float = 0.0) -> "Box":
        """What is left within margins, and below a heading."""
        top = top or margin
        return Box(
            self.x + margin, self.y + top, max(self.width - 2 * margin, 0.0), max(self.height - top - margin, 0.0)
        )


def squarified(sizes: Sequence[float], box: Box) -> list[Box]:
    """A rectangle for each size, in the order given, which is best the largest first.

    Rows are filled along the shorter side as long as that makes their rectangles more square.
    """
    whole = sum(sizes)
    if not whole or not box.width or not box.height:
        return [Box(box.x, box.y, 0.0, 0.0) for _ in sizes]
    areas = [size * box.width * box.height / whole for size in sizes]
    found: list[Box] = []
    begin = 0
    while begin < len(areas):
        side = min(box.width, box.height)
        end = begin + 1
        while end < len(areas) and _worst(areas[begin : end + 1], side) <= _worst(areas[begin:end], side):
            end += 1
        row = areas[begin:end]
        # What rounding would leave over belongs to the last row.
        rest = _row(row, box, found, is_last=end == len(areas))
        box, begin = rest, end
    return found


def _worst(row: Sequence[float], side: float) -> float:
    """How far from a square the worst rectangle of a row is."""
    total = sum(row)
    if not total:
        return float("inf")
    return max(max(side * side * each / total**2, total**2 / (side * side * each)) if each else 0.0 for each in row)


def _row(row: Sequence[float], box: Box, found: list[Box], *, is_last: bool) -> Box:
    """Adds the rectangles of a row; gives back what is left of the box."""
    total = sum(row)
    is_upright = box.width >= box.height
    side = box.height if is_upright else box.width
    depth = (box.width if is_upright else box.height) if is_last else min(total / side, max(box.width, box.height))
    at = 0.0
    for each in row:
        length = side * each / total if total else 0.0
        if is_upright:
            found.append(Box(box.x, box.y + at, depth, length))
        else:
            found.append(Box(box.x + at, box.y, length, depth))
        at += length
    if is_upright:
        return Box(box.x + depth, box.y, max(box.width - depth, 0.0), box.height)
    return Box(box.x, box.y + depth, box.width, max(box.height - depth, 0.0))
