"""The values that charts are given, each with the place that says it."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from firstlight.document import within
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.component import Component, Origin, Side, SourceForm, Stated
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, Values
from firstlight.plan import cluster_facts

Way = tuple[str | int, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class ValuesLayer:
    """Values from one place; of several the later ones win."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    at: Callable[..., Place] = dataclasses.field(repr=False)
    """Where a value of it stands, or the nearest parent that does."""
    chart: ChartSource = dataclasses.field(repr=False)
    file: str = ""
    """The file that it can be edited in; empty where it cannot."""
    document: int = 0
    prefix: Way = ()
    """The way to the values in the document."""
    stated: Values | None = dataclasses.field(default=None, repr=False)
    """The entry of the chart's values that it is made from."""


@dataclasses.dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that a chart is given."""

    value: Any = dataclasses.field(repr=False)
    place: Place
    layer: ValuesLayer = dataclasses.field(repr=False)
    path: tuple[str, ...] = ()


class _Files(Protocol):
    def is_file(self, path: str) -> bool: ...
    def documents(self, path: str) -> tuple[YamlDocument, ...]: ...


def layers(origin: Origin, files: _Files, declaring: Mapping[tuple[str, str], Stated]) -> Iterable[ValuesLayer]:
    """The values of an origin's charts, in the order in which they win."""
    for chart in cluster_facts.sources(origin):
        if isinstance(chart, ChartSource):
            for values in chart.values:
                layer = _layer(values, chart, origin, files, declaring)
                if layer is not None:
                    yield dataclasses.replace(layer, stated=values)


def _layer(
    values: Values, chart: ChartSource, origin: Origin, files: _Files, declaring: Mapping[tuple[str, str], Stated]
) -> ValuesLayer | None:
    if values.file and not values.target:
        documents = files.documents(values.file) if files.is_file(values.file) else ()
        if not documents or not isinstance(documents[0].value, Mapping):
            return None
        first = documents[0]
        return ValuesLayer(first.value, first.place, chart, values.file, first.index)
    if values.target and values.text is not None:
        return ValuesLayer(_nested(values.target.split("."), values.text), lambda *_: values.place, chart)
    if values.inline is None:
        return None
    stated = declaring.get((origin.cluster, str(origin.place)))
    prefix: Way = (
        ("spec", "values") if origin.form is SourceForm.HELM_RELEASE else ("spec", "source", "helm", "valuesObject")
    )
    if stated is not None and not values.reference and within.at(stated.value, *prefix) is not None:
        index, steps = stated.way or (0, ())
        path = stated.place.path if stated.way else ""
        return ValuesLayer(values.inline, lambda *way: stated.at(*prefix, *way), chart, path, index, (*steps, *prefix))
    return ValuesLayer(values.inline, lambda *_: values.place, chart)


def _nested(path: Sequence[str], value: Any) -> Mapping[str, Any]:
    for step in reversed(path):
        value = {step: value}
    found: Mapping[str, Any] = value
    return found


def find_value(given: Iterable[ValuesLayer], path: Sequence[str]) -> GivenValue | None:
    """The value at a path, of the last layer that has it, unless it is a variable; mappings are not merged."""
    found = None
    for layer in given:
        if cluster_facts.is_variable_at(layer.value, path):
            found = None
        elif (value := within.at(layer.value, *path)) is not None:
            found = GivenValue(value, layer.at(*path), layer, tuple(path))
    return found


def has_variable(given: Iterable[ValuesLayer], path: Sequence[str]) -> bool:
    """Whether a value at a path, or above it, is a variable that only a run fills in."""
    return any(cluster_facts.is_variable_at(layer.value, path) for layer in given)


# The charts of components: how they are called, and whether all that they are given is known.


ARGOCD_APPS_CHART = "argocd-apps"
"""Argo CD's chart that makes Applications of its values."""


def chart_name(chart: ChartSource) -> str:
    """What a chart is called, wherever it comes from."""
    return chart.name.rpartition("/")[2]


def chart_names(origin: Origin) -> frozenset[str]:
    """What the charts of an origin are called."""
    return frozenset(chart_name(each) for each in cluster_facts.sources(origin) if isinstance(each, ChartSource))


def charts_of(component: Component, *sides: Side) -> Iterator[ChartSource]:
    """The charts of a component, bootstrap's first; those of some sides only where they are given."""
    for side in sides or (Side.BOOTSTRAP, Side.GITOPS):
        yield from cluster_facts.charts(component, side)


def has_chart(component: Component, chart: str) -> bool:
    """Whether one of its charts is called so, and comes from a repository: one of this repo is made around it."""
    return any(chart_name(each) == chart and each.repository for each in charts_of(component))


def are_values_known(component: Component, *sides: Side) -> bool:
    """Whether everything that its charts are given stands in the repo, so that what is not said is their default."""
    return not unread_values(component, *sides)


def unread_values(component: Component, *sides: Side) -> str:
    """Why not everything is known that its charts are given; empty where it is."""
    if any(_is_around(origin) for origin in component.origins if not sides or origin.side in sides):
        return f"the chart around {component.name} may give it other values"
    for chart in charts_of(component, *sides):
        for values in chart.values:
            if not _is_known(values):
                what = values.unresolved or values.reference or "they are not in the repo"
                return f"values of {component.name} at {values.place} are not known: {what}"
    return ""


def _is_around(origin: Origin) -> bool:
    """Whether a chart of this repo brings another one, which gets its values from a part of those of the first."""
    found = {bool(each.repository) for each in cluster_facts.sources(origin) if isinstance(each, ChartSource)}
    return len(found) > 1


def _is_known(values: Values) -> bool:
    is_said = values.inline is not None or values.text is not None or bool(values.file and not values.target)
    return is_said and not values.unresolved
