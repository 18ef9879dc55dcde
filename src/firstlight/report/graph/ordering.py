"""The order of nodes in their rows, so that few lines cross: barycentre sweeps, as Sugiyama has them.

A line that passes a row gets a place in it, so that it does not run through a node. Lines from one node, or to one,
share their places: a trunk with branches is easier to follow than fifty lines side by side.
"""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

from firstlight.report.graph.layering import Rows

_SWEEPS = 24
"""Enough that more change nothing in pictures of this size; the best of all is kept."""


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """A node in a row, or the place where a line passes it."""

    id: str
    is_line: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class Ordered:
    """Rows of items in their order, and the pieces of lines between each row and the next."""

    rows: tuple[tuple[Item, ...], ...]
    pieces: Mapping[int, tuple[tuple[str, str], ...]]
    """By the number of the upper row: the items that are joined, upper and lower."""
    routes: Mapping[tuple[str, str], tuple[str, ...]]
    """By edge (needed, needing): the items that its line goes through, both ends included."""


def ordered(rows: Rows) -> Ordered:
    """Put lines into rows, and everything in order."""
    start, pieces, routes = _with_lines(rows)
    best, fewest = start, crossings(start, pieces)
    current = start
    for sweep in range(_SWEEPS):
        current = _swept(current, pieces, down=sweep % 2 == 0)
        number = crossings(current, pieces)
        if number < fewest:
            best, fewest = current, number
        if not fewest:
            break
    return Ordered(best, pieces, routes)


def _with_lines(
    rows: Rows,
) -> tuple[
    tuple[tuple[Item, ...], ...], dict[int, tuple[tuple[str, str], ...]], dict[tuple[str, str], tuple[str, ...]]
]:
    number = {node.id: index for index, row in enumerate(rows.rows) for node in row.nodes}
    degree: dict[str, int] = defaultdict(int)
    for wanted in rows.needs.values():
        for each in wanted:
            degree[each] += 1
    items: list[dict[str, Item]] = [{node.id: Item(node.id) for node in row.nodes} for row in rows.rows]
    pieces: dict[int, dict[tuple[str, str], None]] = defaultdict(dict)
    routes = {}
    for target in number:
        wanted = rows.needs.get(target, ())
        for source in wanted:
            # Whoever has more lines gives the trunk its name.
            trunk = f"›{source}" if degree[source] >= len(wanted) else f"‹{target}"
            route = [source]
            for row in range(number[source] + 1, number[target]):
                line = f"{trunk}@{row}"
                items[row].setdefault(line, Item(line, is_line=True))
                route.append(line)
            route.append(target)
            for offset, pair in enumerate(itertools.pairwise(route)):
                pieces[number[source] + offset][pair] = None
            routes[source, target] = tuple(route)
    return (
        tuple(tuple(each.values()) for each in items),
        {row: tuple(each) for row, each in pieces.items()},
        routes,
    )


def _swept(
    rows: Sequence[Sequence[Item]], pieces: Mapping[int, Sequence[tuple[str, str]]], *, down: bool
) -> tuple[tuple[Item, ...], ...]:
    """Each row sorted by the mean place of its neighbours in the row before; those without keep their places."""
    found = [tuple(each) for each in rows]
    numbers = range(1, len(found)) if down else range(len(found) - 2, -1, -1)
    for index in numbers:
        other = found[index - 1 if down else index + 1]
        place = {item.id: position for position, item in enumerate(other)}
        near: dict[str, list[int]] = defaultdict(list)
        for upper, lower in pieces.get(index - 1 if down else index, ()):
            mine, far = (lower, upper) if down else (upper, lower)
            near[mine].append(place[far])
        scale = len(other) / max(1, len(found[index]))
        keys = {
            item.id: sum(near[item.id]) / len(near[item.id]) if near[item.id] else position * scale
            for position, item in enumerate(found[index])
        }
        found[index] = tuple(sorted(found[index], key=lambda item, keys=keys: keys[item.id]))  # type: ignore[misc]
    return tuple(found)


def crossings(rows: Sequence[Sequence[Item]], pieces: Mapping[int, Sequence[tuple[str, str]]]) -> int:
    """How many pairs of lines cross."""
    total = 0
    for index in range(len(rows) - 1):
        upper = {item.id: position for position, item in enumerate(rows[index])}
        lower = {item.id: position for position, item in enumerate(rows[index + 1])}
        ends = [end for _, end in sorted((upper[a], lower[b]) for a, b in pieces.get(index, ()))]
        total += _inversions(ends, len(lower))
    return total


def _inversions(values: Sequence[int], size: int) -> int:
    """How many pairs stand in the wrong order (a Fenwick tree counts those that are already there and larger)."""
    tree = [0] * (size + 1)
    total = 0
    for seen, value in enumerate(values):
        index, smaller = value + 1, 0
        while index:
            smaller += tree[index]
            index &= index - 1
        total += seen - smaller
        index = value + 1
        while index <= size:
            tree[index] += 1
            index += index & -index
    return total
