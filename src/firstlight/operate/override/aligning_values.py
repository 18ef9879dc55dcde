"""The values of a chart: those that the repo gives it, and its own."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.document import reading
from firstlight.model.component import Origin
from firstlight.model.source import Chart
from firstlight.operate.override.aligning_states import Renderings, State


async def of(
    renderings: Renderings, state: State, origin: Origin, source: Chart
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """What the repo gives a chart, and what the chart has itself, its own charts' under their names."""
    try:
        release = await renderings.release(state, origin, source)
    except errors.FirstlightError:
        return {}, {}
    defaults: dict[str, Any] = {}
    for path, content in sorted(release.chart.files.items(), key=lambda each: -each[0].count("/")):
        parts = path.split("/")
        if parts[-1] != "values.yaml" or any(each != "charts" for each in parts[:-1:2]):
            continue
        documents = reading.read(content, path).documents
        if documents and isinstance(documents[0].value, dict):
            defaults = _within(defaults, parts[1:-1:2], documents[0].value)
    return release.values, defaults


def _within(values: dict[str, Any], path: Sequence[str], more: Mapping[str, Any]) -> dict[str, Any]:
    """Values with more of them below a name; what is there already came from further below, and stays."""
    if not path:
        return {**values, **{name: _merged(each, values.get(name)) for name, each in more.items()}}
    inner = values.get(path[0])
    return {**values, path[0]: _within(inner if isinstance(inner, dict) else {}, path[1:], more)}


def _merged(over: Any, under: Any) -> Any:
    """Values of a chart over those that its own chart has."""
    if isinstance(over, Mapping) and isinstance(under, Mapping):
        return {**under, **{name: _merged(each, under.get(name)) for name, each in over.items()}}
    return over
