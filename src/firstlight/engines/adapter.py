"""What differs by engine: one ``EngineAdapter`` for each, in a package of its own."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping
from firstlight.engines.engine_kind import EngineKind, SourceKind
from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import Component, ObjectId, Origin, SourceForm
from firstlight.model.platform import Platform
from firstlight.model.rendition import Object, Rendition
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


# The adapter, and what it is made of.


@dataclasses.dataclass(frozen=True, slots=True)
class Guard:
    """The annotation of one engine."""

    name: str
    value: str

    def holds(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object is guarded, whoever says so."""
        key, _, _ = self.value.rpartition("=")
        options = [each.strip() for each in self.written(obj).split(",")]
        said = [each for each in options if each.startswith(f"{key}=")] if key else options
        return bool(said) and (said[0] if key else said[0].lower()) == self.value

    def written(self, obj: Mapping[str, Any]) -> str:
        """The annotation as an object has it; empty if it has none."""
        return str(mapping(obj, "metadata", "annotations").get(self.name) or "")

    def is_barred(self, obj: Mapping[str, Any]) -> bool:
        """Whether an object cannot be guarded: it has the annotation already, with something else to say.

        A value that were joined to it would be drift, which an engine that heals by itself takes back at once.
        """
        return bool(self.written(obj)) and not self.holds(obj)

    def joined(self, obj: Mapping[str, Any]) -> str:
        """What Git would have to say of an object that cannot be guarded otherwise."""
        said = self.written(obj)
        return f"{self.value},{said}" if "=" in self.value else self.value


@dataclasses.dataclass(frozen=True, slots=True)
class EngineMark:
    """The owner of an object, by what its engine has written on it."""

    engine: Engine
    owner: str
    """``Kustomization flux-system/cilium``, ``Application cilium``."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Roots:
    """What makes an engine follow a repo."""

    sources: tuple[Object, ...] = ()
    roots: tuple[Object, ...] = ()
    """In the order in which they are applied; a FluxInstance is among them with its ``sync``."""
    made: tuple[ObjectId, ...] = ()
    """What the engine makes of the roots by itself: the root Kustomization of a FluxInstance."""
    by_operator: frozenset[ObjectId] = frozenset()
    """Sources that Flux's operator will own."""
    unclear: str = ""
    """Why nothing is known of the roots, where that is so."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FetchFailure:
    """How an engine says that it cannot fetch from Git."""

    kind: str
    api_version: str
    condition: str
    words: str
    """What is told, with ``{name}`` and ``{why}``."""
    is_only_git: bool = False
    """Whether the condition always means Git; else its message must tell."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class EngineAdapter:
    """One engine."""

    engine: Engine
    title: str
    """Its name for people."""
    kinds: tuple[EngineKind, ...]
    sources: tuple[SourceKind, ...] = ()
    followed: str
    """The kind whose objects it follows the repo by."""
    fetch_failure: FetchFailure

    # Workloads.
    needed_controllers: tuple[str, ...]
    """Without these it brings nothing of Git into the cluster; the last one reads the manifests."""
    useful_controllers: tuple[str, ...] = ()
    """Without these it brings only parts of it."""
    part_of: str
    """The value of the label by which its workloads are known."""
    namespace: str = ""
    """Where it runs, if that is fixed."""
    charts: frozenset[str] = frozenset()
    """Charts of its controllers, or of what keeps them; without a release of one of them it is uninstalled."""
    instance_kind: str = ""
    """The kind whose object is the installation itself."""
    workload_kinds: tuple[str, ...]
    check_command: str = ""
    """Checks its workloads."""
    list_command: str
    """Lists what it follows."""
    lab_actors: Callable[[Sequence[Origin], Collection[str]], tuple[str, ...]]
    """Its programs in the lab, by the origins and the names of a cluster's components."""

    # What is its own in a cluster.
    marks: Callable[[Mapping[str, Any], Mapping[str, Any]], tuple[EngineMark, ...]]
    """The marks on a live object; the second mapping is what bootstrap wants of it."""
    prune_guard: Guard
    """Keeps it from pruning a live object."""
    has_releases: bool
    """Whether a Helm release that it takes over goes on as a release."""

    # Files.
    starts_from_directory: bool
    """Whether the directory of a repo is enough to know what it follows; else its own objects must say it."""
    roots: Callable[[Platform, Cluster, Mapping[ObjectId, Object], Sequence[Rendition]], Roots]
    """The source and the roots of a cluster."""
    component_kinds: str
    """What declares a component to it: ``an Application``."""
    manifests: Callable[[WantedComponent, str], ComponentManifests]
    """What declares a component, with a directory for what has none yet."""
