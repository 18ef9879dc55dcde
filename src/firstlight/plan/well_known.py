"""Other people's products as the tables beside this file have them: components, makers of Secrets, built-in groups."""

import dataclasses
import functools
import importlib.resources
from typing import Literal, TypeVar

import msgspec

from firstlight.document import yaml_reader
from firstlight.model.component import Component
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts

Form = TypeVar("Form")


def read_table(name: str, form: type[Form]) -> Form:
    """A table, in its form."""
    file = importlib.resources.files("firstlight.plan") / name
    (document,) = yaml_reader.read(file.read_bytes(), name).documents
    return msgspec.convert(document.value, form)


# How well-known charts bring their CRDs, from ``chart_crds.yaml``.


@dataclasses.dataclass(frozen=True)
class ChartCrds:
    """What is known of a chart's CRDs."""

    groups: tuple[str, ...] = ()
    where: Literal["templates", "folder", "operator", ""] = ""
    switches: dict[str, bool] = dataclasses.field(default_factory=dict)
    uses: tuple[str, ...] = ()
    folder_if: str = ""


@functools.cache
def chart_crds_table() -> dict[str, ChartCrds]:
    """Everything that is known, by the names of charts."""
    return read_table("chart_crds.yaml", dict[str, ChartCrds])


def chart_crds_of(chart: str) -> ChartCrds | None:
    """What is known of a chart, by its name or its path."""
    return chart_crds_table().get(chart.rpartition("/")[2])


# Kinds and values that a version of Cilium does not have any more, from ``cilium_dropped.yaml``.


@dataclasses.dataclass(frozen=True)
class DroppedCiliumFeature:
    """A kind or a value that Cilium dropped in some version."""

    since: str
    instead: str
    kind: str = ""
    """``group/Kind``, or ``group/version/Kind`` where only the version is dropped."""
    value: str = ""
    """The path of the value."""
    only: tuple[str, ...] = ()
    """Only these texts of the value."""


@functools.cache
def dropped_cilium_features() -> tuple[DroppedCiliumFeature, ...]:
    """Return everything that is known to be dropped."""
    return read_table("cilium_dropped.yaml", tuple[DroppedCiliumFeature, ...])


@dataclasses.dataclass(frozen=True)
class WellKnown:
    """What is known of a component by its name."""

    names: tuple[str, ...]
    kinds: tuple[str, ...] = ()
    operates: tuple[str, ...] = ()
    late: bool = False


@dataclasses.dataclass(frozen=True)
class SecretMaker:
    """A kind whose controller writes a Secret."""

    group: str
    name: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class WellKnownTable:
    """The whole file."""

    components: dict[str, WellKnown]
    charts: dict[str, tuple[str, ...]]
    makers: dict[str, SecretMaker]
    builtin: frozenset[str]


@functools.cache
def table() -> WellKnownTable:
    """Everything that is known."""
    file = importlib.resources.files("firstlight.plan") / "known.yaml"
    (document,) = yaml_reader.read(file.read_bytes(), "known.yaml").documents
    return msgspec.convert(document.value, WellKnownTable)


@functools.cache
def _by_name() -> dict[str, tuple[str, WellKnown]]:
    return {name: (key, each) for key, each in table().components.items() for name in each.names}


def of(component: Component) -> tuple[str, WellKnown] | None:
    """What a component is known as, by its own name or that of its chart."""
    # A Kustomization that shares its name with what it brings is called kustomization/NAME: it is not the thing itself.
    names = [] if component.name.startswith("kustomization/") else [component.name.rpartition("/")[2]]
    for origin in component.origins:
        names += [
            source.name.rpartition("/")[2]
            for source in cluster_facts.sources(origin)
            if isinstance(source, ChartSource)
        ]
    for name in names:
        bare = name.lower()
        if found := _by_name().get(bare) or _by_name().get(bare.removesuffix("-crds")):
            return found
    return None


def groups_of_chart(name: str) -> tuple[str, ...]:
    """The API groups whose kinds a chart brings, beside those of the components that are known."""
    return table().charts.get(name) or table().charts.get(name.removesuffix("-crds"), ())


def is_builtin(group: str) -> bool:
    """Whether every API server serves a group."""
    return group in table().builtin
