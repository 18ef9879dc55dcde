"""Which values of a chart may make a field: those that are in it now, and those that are called like it."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.ownership.field_values import ABSENT
from firstlight.repo.aligning import deriving, transformers, ways
from firstlight.repo.aligning.wish import CLASS, Steps, Wish

MOST = 12
"""Values of one sort that are tried; a number such as 1 is everywhere in a chart."""
_GIVEN, _DEFAULT, _NAMED = 0, CLASS, 2 * CLASS
_ALSO = {"replicas": ("replicacount", "replicas"), "image": ("image",)}
_SWITCHES = ("enabled", "create", "install")


@dataclasses.dataclass(frozen=True)
class Setting:
    """A value, and what it would have to be."""

    path: Steps
    value: Any = dataclasses.field(repr=False)
    rank: int

    @property
    def name(self) -> str:
        """As ``helm --set`` calls it."""
        return "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in self.path).removeprefix(".")


def settings(given: Mapping[str, Any], defaults: Mapping[str, Any], wish: Wish, *, value: Any) -> list[Setting]:
    """Values that may bring a wish about, the likeliest first.

    Args:
        given: What the repo gives the chart.
        defaults: What the chart has itself.
        wish: The field of an object that the chart makes.
        value: The object as it is made now.
    """
    own = [(path, leaf) for path, leaf in ways.leaves(defaults) if ways.at(given, path) is ABSENT]
    if wish.is_gone:
        found = [*_switches(ways.leaves(given), _GIVEN), *_switches(own, _DEFAULT)]
    else:
        found = [
            *_limited(_derived(ways.leaves(given), wish, _GIVEN), wish),
            *_limited(_derived(own, wish, _DEFAULT), wish),
            *_limited(_named(given, wish, value), wish),
            *_limited(_named(defaults, wish, value), wish),
        ]
    made: dict[Any, Setting] = {}
    for each in found:
        made.setdefault((each.path, repr(each.value)), each)
    return list(made.values())


def _derived(leaves: Any, wish: Wish, rank: int) -> Iterator[Setting]:
    if wish.before is ABSENT or wish.after is ABSENT:
        return
    for path, leaf in leaves:
        if path:
            for new in deriving.derived(wish.before, wish.after, leaf):
                yield Setting(path, new, rank)


def _named(values: Mapping[str, Any], wish: Wish, value: Any) -> Iterator[Setting]:
    """Values that are called like the field, or like something that it is in."""
    nodes = list(_nodes(values))
    target = ways.put(value, wish.steps, wish.after)
    for number in range(len(wish.steps) - 1, -1, -1):
        step, rest = wish.steps[number], wish.steps[number + 1 :]
        if isinstance(step, int):
            continue
        names = _ALSO.get(step, (step.lower(),))
        whole = ways.at(target, wish.steps[: number + 1])
        for path, node in nodes:
            if str(path[-1]).lower() not in names:
                continue
            if not any(isinstance(each, int) for each in rest):
                yield Setting((*path, *rest), wish.after, _NAMED)
            elif isinstance(node, Mapping) and isinstance(wish.after, Mapping) and {"name", "value"} == set(wish.after):
                yield Setting((*path, str(wish.after["name"])), wish.after["value"], _NAMED)
            elif isinstance(whole, list) and not isinstance(node, Mapping):
                yield Setting(path, whole, _NAMED)
    yield from _tags(nodes, wish)


def _tags(nodes: list[tuple[Steps, Any]], wish: Wish) -> Iterator[Setting]:
    """The tag of an image, where the chart takes its own version for it."""
    if wish.steps[-1:] != ("image",) or not isinstance(wish.before, str) or not isinstance(wish.after, str):
        return
    old, new = transformers.parsed(wish.before), transformers.parsed(wish.after)
    for field in ("tag", "digest"):
        if new[field] and old["name"] == new["name"] and old[field] != new[field]:
            for path, node in nodes:
                if path[-1] == field and not isinstance(node, Mapping | list):
                    yield Setting(path, new[field], _NAMED)


def _switches(leaves: Any, rank: int) -> Iterator[Setting]:
    for path, leaf in leaves:
        if leaf is True and path[-1] in _SWITCHES:
            yield Setting(path, False, rank)


def _nodes(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """Everything in values that has a name; lists are not entered."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield (*steps, str(name)), inner
            yield from _nodes(inner, (*steps, str(name)))


def _limited(found: Iterator[Setting], wish: Wish) -> list[Setting]:
    """Those that are called most like the field."""
    words = {str(each).lower() for each in wish.steps} | set(wish.object.name.lower().split("-"))
    words |= set(_ALSO.get(str(wish.steps[-1]), ()))

    def likeness(each: Setting) -> tuple[int, int]:
        return -sum(str(step).lower() in words for step in each.path), len(each.path)

    return sorted(found, key=likeness)[:MOST]
