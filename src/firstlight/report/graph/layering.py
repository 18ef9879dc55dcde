"""Which row each node is in: phases from top to bottom, in each as many rows as its longest chain, none too wide.

Every edge goes down: a node is below everything that it needs.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from firstlight.model.component import Phase
from firstlight.report.graph import reduction
from firstlight.report.graph.picture import Node, Picture

_PHASES = list(Phase)
CROWDED = 12
"""Nodes of one layer beyond which a large picture puts those of one group into a box."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """Nodes side by side."""

    phase: Phase
    layer: int
    nodes: tuple[Node, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Rows:
    """The whole picture in rows, with what each node or box needs."""

    rows: tuple[Row, ...]
    needs: Mapping[str, tuple[str, ...]]


def rows(picture: Picture, *, limit: float, width: Callable[[Node], float], boxes: bool) -> Rows:
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
    found: list[Row] = []
    for layer, phase in sorted({(layers[each.id][0], layers[each.id][1]) for each in nodes}):
        mine = [each for each in nodes if layers[each.id] == (layer, phase)]
        # Those that others need come last, so that fewer lines pass through the rows of their neighbours.
        mine.sort(key=lambda each: (each.id in needed, not each.members, each.group, each.label))
        found += [Row(_PHASES[phase], layer, part) for part in _broken(mine, limit, width)]
    return Rows(tuple(found), needs)


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
    nodes: Sequence[Node], needs: Mapping[str, tuple[str, ...]], layers: Mapping[str, tuple[int, int]]
) -> tuple[list[Node], dict[str, tuple[str, ...]], dict[str, tuple[int, int]]]:
    """Nodes of one group in a crowded layer as one box; a box has members of one layer, so edges still go down."""
    home: dict[str, str] = {}
    kept: list[Node] = []
    placed = dict(layers)
    by_layer: dict[tuple[int, int], list[Node]] = {}
    for node in nodes:
        by_layer.setdefault(layers[node.id], []).append(node)
    for layer, mine in by_layer.items():
        groups: dict[tuple[str, str], list[Node]] = {}
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
    return kept, reduction.reduced(order, {name: tuple(each) for name, each in merged.items()}), placed


def _box(name: str, group: str, members: Sequence[Node]) -> Node:
    severities = [each.severity for each in members if each.severity]
    return Node(
        id=name, label=group, phase=members[0].phase, look=members[0].look, detail=f"{len(members)}",
        tip=f"{group}: {len(members)} components", group=group, severity=min(severities, default=None),
        is_critical=any(each.is_critical for each in members),
        members=tuple(sorted(members, key=lambda each: each.label)),
    )  # fmt: skip


def _broken(nodes: Sequence[Node], limit: float, width: Callable[[Node], float]) -> list[tuple[Node, ...]]:
    """A layer in rows that are about equally wide."""
    total = sum(width(each) for each in nodes)
    number = max(1, -(-int(total) // int(limit)))
    target, parts, used = total / number, [[]], 0.0  # type: tuple[float, list[list[Node]], float]
    for node in nodes:
        if parts[-1] and used + width(node) / 2 > target and len(parts) < number:
            parts.append([])
            used = 0.0
        parts[-1].append(node)
        used += width(node)
    return [tuple(each) for each in parts]
