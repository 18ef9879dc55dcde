"""The values that charts are given, each with the place that says it."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from firstlight.document import within
from firstlight.document.reading import Document
from firstlight.model.component import Form, Origin, Stated
from firstlight.model.place import Place
from firstlight.model.source import Chart, Values
from firstlight.plan import facts

Way = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class Layer:
    """Values from one place; of several the later ones win."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    at: Callable[..., Place] = dataclasses.field(repr=False)
    """Where a value of it stands, or the nearest parent that does."""
    chart: Chart = dataclasses.field(repr=False)
    file: str = ""
    """The file that it can be edited in; empty where it cannot."""
    document: int = 0
    prefix: Way = ()
    """The way to the values in the document."""


@dataclasses.dataclass(frozen=True, slots=True)
class Given:
    """A value that a chart is given."""

    value: Any = dataclasses.field(repr=False)
    place: Place
    layer: Layer = dataclasses.field(repr=False)
    path: tuple[str, ...] = ()


class _Files(Protocol):
    def is_file(self, path: str) -> bool: ...
    def documents(self, path: str) -> tuple[Document, ...]: ...


def layers(origin: Origin, files: _Files, declaring: Mapping[tuple[str, str], Stated]) -> Iterable[Layer]:
    """The values of an origin's charts, in the order in which they win."""
    for chart in facts.sources(origin):
        if isinstance(chart, Chart):
            for values in chart.values:
                layer = _layer(values, chart, origin, files, declaring)
                if layer is not None:
                    yield layer


def _layer(
    values: Values, chart: Chart, origin: Origin, files: _Files, declaring: Mapping[tuple[str, str], Stated]
) -> Layer | None:
    if values.file and not values.target:
        documents = files.documents(values.file) if files.is_file(values.file) else ()
        if not documents or not isinstance(documents[0].value, Mapping):
            return None
        first = documents[0]
        return Layer(first.value, first.place, chart, values.file, first.index)
    if values.target and values.text is not None:
        return Layer(_nested(values.target.split("."), values.text), lambda *_: values.place, chart)
    if values.inline is None:
        return None
    stated = declaring.get((origin.cluster, str(origin.place)))
    prefix: Way = ("spec", "values") if origin.form is Form.HELM_RELEASE else ("spec", "source", "helm", "valuesObject")
    if stated is not None and not values.reference and within.at(stated.value, *prefix) is not None:
        index, steps = stated.way or (0, ())
        path = stated.place.path if stated.way else ""
        return Layer(values.inline, lambda *way: stated.at(*prefix, *way), chart, path, index, (*steps, *prefix))
    return Layer(values.inline, lambda *_: values.place, chart)


def _nested(path: Sequence[str], value: Any) -> Mapping[str, Any]:
    for step in reversed(path):
        value = {step: value}
    found: Mapping[str, Any] = value
    return found


def find(given: Iterable[Layer], path: Sequence[str]) -> Given | None:
    """The value at a path, of the last layer that has it; mappings are not merged."""
    found = None
    for layer in given:
        value = within.at(layer.value, *path)
        if value is not None:
            found = Given(value, layer.at(*path), layer, tuple(path))
    return found
