"""How well-known charts bring their CRDs, from ``chart_crds.yaml``."""

import dataclasses
import functools
from typing import Literal

from firstlight.policy.auditing import tables


@dataclasses.dataclass(frozen=True)
class ChartCrds:
    """What is known of a chart's CRDs."""

    groups: tuple[str, ...] = ()
    where: Literal["templates", "folder", "operator", ""] = ""
    switches: dict[str, bool] = dataclasses.field(default_factory=dict)
    uses: tuple[str, ...] = ()
    folder_if: str = ""


@functools.cache
def table() -> dict[str, ChartCrds]:
    """Everything that is known, by the names of charts."""
    return tables.read("chart_crds.yaml", dict[str, ChartCrds])


def of(chart: str) -> ChartCrds | None:
    """What is known of a chart, by its name or its path."""
    return table().get(chart.rpartition("/")[2])
