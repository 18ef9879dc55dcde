"""The charts of components: how they are called, and whether all that they are given is known."""

from collections.abc import Iterator

from firstlight.model.component import Component, Origin, Side
from firstlight.model.source import Chart, Values
from firstlight.plan import facts

ROOTS = "argocd-apps"
"""Argo CD's chart that makes Applications of its values."""


def name(chart: Chart) -> str:
    """What a chart is called, wherever it comes from."""
    return chart.name.rpartition("/")[2]


def names(origin: Origin) -> frozenset[str]:
    """What the charts of an origin are called."""
    return frozenset(name(each) for each in facts.sources(origin) if isinstance(each, Chart))


def of(component: Component, *sides: Side) -> Iterator[Chart]:
    """The charts of a component, bootstrap's first; those of some sides only where they are given."""
    for side in sides or (Side.BOOTSTRAP, Side.GITOPS):
        yield from facts.charts(component, side)


def has(component: Component, chart: str) -> bool:
    """Whether one of its charts is called so, and comes from a repository: one of this repo is made around it."""
    return any(name(each) == chart and each.repository for each in of(component))


def are_values_known(component: Component, *sides: Side) -> bool:
    """Whether everything that its charts are given stands in the repo, so that what is not said is their default."""
    if any(_is_around(origin) for origin in component.origins if not sides or origin.side in sides):
        return False
    return all(_is_known(values) for chart in of(component, *sides) for values in chart.values)


def _is_around(origin: Origin) -> bool:
    """Whether a chart of this repo brings another one, which gets its values from a part of those of the first."""
    found = {bool(each.repository) for each in facts.sources(origin) if isinstance(each, Chart)}
    return len(found) > 1


def _is_known(values: Values) -> bool:
    is_said = values.inline is not None or values.text is not None or bool(values.file and not values.target)
    return is_said and not values.unresolved
