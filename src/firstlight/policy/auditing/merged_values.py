"""The values of a chart with all layers merged: what Helm would give it, each with the place that says it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.model.component import Component, Side
from firstlight.policy.auditing.chart_values import Given, Layer
from firstlight.policy.auditing.scene import Scene

Path = tuple[str, ...]
_DEEPEST = 30


def leaves(layers: Iterable[Layer]) -> dict[Path, Given]:
    """Every single value, and every list as a whole; of several layers the last one counts."""
    found: dict[Path, Given] = {}
    for layer in layers:
        for path, value in _flat(layer.value):
            for other in [each for each in found if _overlap(each, path)]:
                del found[other]
            if value is not None:
                found[path] = Given(value, layer.at(*path), layer, path)
    return found


def _overlap(one: Path, other: Path) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]


def _flat(value: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    for key, each in value.items():
        below = (*path, str(key))
        if isinstance(each, Mapping) and each and len(path) < _DEEPEST:
            yield from _flat(each, below)
        elif not isinstance(each, Mapping):
            yield below, each


def text(value: Any) -> str:
    """A value as it is compared: ``--set`` knows texts only."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_on(scene: Scene, component: Component, side: Side, path: str, *, default: bool) -> tuple[bool, Given | None]:
    """Whether a switch of a chart is on, and where that is said."""
    given = scene.value(component, *path.split("."), side=side)
    return (default, None) if given is None else (text(given.value) == "true", given)
