"""Which row each node is in: phases from top to bottom, in each as many rows as its longest chain, none too wide.

Every edge goes down: a node is below everything that it needs.
"""

import dataclasses
import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from firstlight.commands.graph.picture import GraphNode, Picture
from firstlight.model import plan
from firstlight.model.component import Phase

_PHASES = list(Phase)
CROWDED = 12
"""Nodes of one layer beyond which a large picture puts those of one group into a box."""


@dataclasses.dataclass(frozen=True, slots=True)
class GraphRow:
    """Nodes side by side."""

    phase: Phase
    layer: int
    nodes: tuple[GraphNode, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class GraphRows:
    """The whole picture in rows, with what each node or box needs."""

    rows: tuple[GraphRow, ...]
    needs: Mapping[str, tuple[str, ...]]


def rows(picture: Picture, *, limit: float, width: Callable[[GraphNode], float], boxes: bool) -> GraphRows:
    """The rows of a picture.

    Args:
        picture: What is shown.
        limit: How wide a row may be before it is broken into several.
        width: How wide a node is drawn.
        boxes: Whether crowded layers are put into boxes by group.
    """
    layers = _layers(picture)
    nodes, needs = list(picture.nodes), dict(picture.needs)
    if boxes:
        nodes, needs, layers = _boxed(nodes, needs, layers)
    needed = {name for wanted in needs.values() for name in wanted}
    found: list[GraphRow] = []
    for layer, phase in sorted({(layers[each.id][0], layers[each.id][1]) for each in nodes}):
        mine = [each for each in nodes if layers[each.id] == (layer, phase)]
        # Those that others need come last, so that fewer lines pass through the rows of their neighbours.
        mine.sort(key=lambda each: (each.id in needed, not each.members, each.group, each.label))
        found += [GraphRow(_PHASES[phase], layer, part) for part in _broken(mine, limit, width)]
    return GraphRows(tuple(found), needs)


def _layers(picture: Picture) -> dict[str, tuple[int, int]]:
    """Layer and phase of each node: below what it needs, and in no phase before the one of what it needs."""
    bands: dict[str, int] = {}
    for node in picture.nodes:
        above = [bands[each] for each in picture.needs[node.id]]
        bands[node.id] = max([_PHASES.index(node.phase), *above])
    depth: dict[str, int] = {}
    for node in picture.nodes:
        mine = [depth[each] for each in picture.needs[node.id] if bands[each] == bands[node.id]]
        depth[node.id] = max(mine, default=-1) + 1
    start, starts = 0, {}
    for band in range(len(_PHASES)):
        starts[band] = start
        start += max((depth[name] + 1 for name, each in bands.items() if each == band), default=0)
    return {name: (starts[band] + depth[name], band) for name, band in bands.items()}


def _boxed(
    nodes: Sequence[GraphNode], needs: Mapping[str, tuple[str, ...]], layers: Mapping[str, tuple[int, int]]
) -> tuple[list[GraphNode], dict[str, tuple[str, ...]], dict[str, tuple[int, int]]]:
    """Nodes of one group in a crowded layer as one box; a box has members of one layer, so edges still go down."""
    home: dict[str, str] = {}
    kept: list[GraphNode] = []
    placed = dict(layers)
    by_layer: dict[tuple[int, int], list[GraphNode]] = {}
    for node in nodes:
        by_layer.setdefault(layers[node.id], []).append(node)
    for layer, mine in by_layer.items():
        groups: dict[tuple[str, str], list[GraphNode]] = {}
        for node in mine:
            groups.setdefault((node.group, node.look), []).append(node)
        for (group, look), members in groups.items():
            if len(mine) <= CROWDED or len(members) == 1 or not group:
                kept += members
                continue
            box = _box(f"box:{layer[0]}/{look}/{group}", group, members)
            placed[box.id] = layer
            kept.append(box)
            home |= {each.id: box.id for each in members}
    merged: dict[str, dict[str, None]] = {each.id: {} for each in kept}
    for name, wanted in needs.items():
        merged[home.get(name, name)].update({home.get(each, each): None for each in wanted})
    order = sorted(merged, key=lambda name: placed[name][0])
    return kept, plan.reduced(order, {name: tuple(each) for name, each in merged.items()}), placed


def _box(name: str, group: str, members: Sequence[GraphNode]) -> GraphNode:
    severities = [each.severity for each in members if each.severity]
    return GraphNode(
        id=name, label=group, phase=members[0].phase, look=members[0].look, detail=f"{len(members)}",
        tip=f"{group}: {len(members)} components", group=group, severity=min(severities, default=None),
        is_critical=any(each.is_critical for each in members),
        members=tuple(sorted(members, key=lambda each: each.label)),
    )  # fmt: skip


def _broken(
    nodes: Sequence[GraphNode], limit: float, width: Callable[[GraphNode], float]
) -> list[tuple[GraphNode, ...]]:
    """A layer in rows that are about equally wide."""
    total = sum(width(each) for each in nodes)
    number = max(1, -(-int(total) // int(limit)))
    target, parts, used = total / number, [[]], 0.0  # type: tuple[float, list[list[GraphNode]], float]
    for node in nodes:
        if parts[-1] and used + width(node) / 2 > target and len(parts) < number:
            parts.append([])
            used = 0.0
        parts[-1].append(node)
        used += width(node)
    return [tuple(each) for each in parts]


# The order of nodes in their rows, so that few lines cross: barycentre sweeps, as Sugiyama has them.
#
# A line that passes a row gets a place in it, so that it does not run through a node. Lines from one node, or to one,
# share their places: a trunk with branches is easier to follow than fifty lines side by side.


_SWEEPS = 24
"""Enough that more change nothing in pictures of this size; the best of all is kept."""


@dataclasses.dataclass(frozen=True, slots=True)
class RowItem:
    """A node in a row, or the place where a line passes it."""

    id: str
    is_line: bool = False


@dataclasses.dataclass(frozen=True, slots=True)
class OrderedRows:
    """Rows of items in their order, and the pieces of lines between each row and the next."""

    rows: tuple[tuple[RowItem, ...], ...]
    pieces: Mapping[int, tuple[tuple[str, str], ...]]
    """By the number of the upper row: the items that are joined, upper and lower."""
    routes: Mapping[tuple[str, str], tuple[str, ...]]
    """By edge (needed, needing): the items that its line goes through, both ends included."""


def ordered(rows: GraphRows) -> OrderedRows:
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
    return OrderedRows(best, pieces, routes)


def _with_lines(
    rows: GraphRows,
) -> tuple[
    tuple[tuple[RowItem, ...], ...], dict[int, tuple[tuple[str, str], ...]], dict[tuple[str, str], tuple[str, ...]]
]:
    number = {node.id: index for index, row in enumerate(rows.rows) for node in row.nodes}
    degree: dict[str, int] = defaultdict(int)
    for wanted in rows.needs.values():
        for each in wanted:
            degree[each] += 1
    items: list[dict[str, RowItem]] = [{node.id: RowItem(node.id) for node in row.nodes} for row in rows.rows]
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
                items[row].setdefault(line, RowItem(line, is_line=True))
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
    rows: Sequence[Sequence[RowItem]], pieces: Mapping[int, Sequence[tuple[str, str]]], *, down: bool
) -> tuple[tuple[RowItem, ...], ...]:
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


def crossings(rows: Sequence[Sequence[RowItem]], pieces: Mapping[int, Sequence[tuple[str, str]]]) -> int:
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
