"""A component that an engine is to bring, and the manifests that declare it."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, DirectorySource, Embedded

OCI = "oci://"
_IMPLIED = "firstlight.yaml"
"""Whoever is declared there is in no manifest."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WantedComponent:
    """A component of one cluster, so far only bootstrap's."""

    platform: Platform = dataclasses.field(repr=False)
    component: Component
    cluster: Cluster
    source: ChartSource | DirectorySource | Embedded
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict, repr=False)
    """All that its chart is given."""

    @property
    def start(self) -> str:
        """The directory that the engine starts from."""
        return self.cluster.path.removeprefix("./").rstrip("/")

    def others(self, form: SourceForm) -> list[Mapping[str, Any]]:
        """What declares the engine's other owners of the cluster in Git; the root may only be implied."""
        return [
            each.definition
            for component in self.platform.components_of(self.cluster.name)
            for each in component.halves[1]
            if each.form == form and each.definition and each.place.path != _IMPLIED
        ]

    def release_name(self, chart: ChartSource) -> str:
        """Return the name of its Helm release."""
        return chart.release or self.component.name


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ComponentManifests:
    """What declares a component to its engine."""

    entry: Mapping[str, Any]
    """The object for the directory that the engine starts from."""
    files: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)
    """Objects for a directory of its own, by file name, in the order in which they are listed."""
    kustomization: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """What the kustomization of that directory says besides."""
