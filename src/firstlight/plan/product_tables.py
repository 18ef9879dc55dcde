"""What is known of other people's products, from the tables beside this file."""

import dataclasses
import functools
import importlib.resources
from typing import Literal, TypeVar

import msgspec

from firstlight.document import yaml_reader

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
