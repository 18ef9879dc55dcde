"""A component that the engine is to bring, and what it is made from."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Form
from firstlight.model.platform import Platform
from firstlight.model.source import Chart, Directory, Embedded
from firstlight.repo.work_tree import DECLARED


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """A component of one cluster, so far only bootstrap's."""

    platform: Platform = dataclasses.field(repr=False)
    component: Component
    cluster: Cluster
    source: Chart | Directory | Embedded
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """All that its chart is given."""

    @property
    def start(self) -> str:
        """The directory that the engine starts from."""
        return self.cluster.path.removeprefix("./").rstrip("/")

    def others(self, form: Form) -> list[Mapping[str, Any]]:
        """What declares the engine's other owners of the cluster in Git; the root may only be implied."""
        return [
            each.definition
            for component in self.platform.components_of(self.cluster.name)
            for each in component.halves[1]
            if each.form == form and each.definition and each.place.path != DECLARED
        ]
