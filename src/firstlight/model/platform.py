"""The platform: everything that one Git repo describes."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from firstlight.model.cluster import Cluster, Engine
from firstlight.model.component import Component, ObjectId, Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FoundationSecret:
    """A Secret that must exist before an operator can fetch the rest."""

    name: str
    namespace: str
    data: Mapping[str, str]
    """References by key, never values: ``op://…``, ``sops:…``, ``vault:…``, ``env:…``, ``file:…``; an empty one is
    not known."""
    place: Place
    why: str = ""
    cluster: str = ""
    """Empty for every cluster."""
    places: Mapping[str, Place] = dataclasses.field(default_factory=dict)
    """Where each key is declared, where it is."""
    brought: Place | None = None
    """What brings it today, or may bring it: a template of bootstrap, a policy, something that was not read."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Everything that one Git repo describes."""

    name: str
    root: Path
    engine: Engine | None
    clusters: tuple[Cluster, ...]
    components: tuple[Component, ...]
    secrets: tuple[FoundationSecret, ...] = ()
    unreached: tuple[Origin, ...] = ()
    """Declared in the repo, and no cluster's tree leads there."""
    diagnostics: tuple[Diagnostic, ...] = ()
    declared: Place | None = None
    """The firstlight.yaml, if there is one."""
    is_misdeclared: bool = False
    """There is one, and it is wrong, so that it was not used."""

    def cluster(self, name: str) -> Cluster | None:
        """A cluster by its name."""
        return next((each for each in self.clusters if each.name == name), None)

    def components_of(self, cluster: str) -> tuple[Component, ...]:
        """What is deployed in a cluster."""
        return tuple(each for each in self.components if each.cluster == cluster)

    def dependents(self) -> dict[tuple[str, str], list[str]]:
        """What needs a component directly, by the component's cluster and name."""
        found: dict[tuple[str, str], list[str]] = {}
        for each in self.components:
            for need in each.needs:
                found.setdefault((each.cluster, need), []).append(each.name)
        return found


# A Secret that stands in a repo as anybody can read it.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClearSecret:
    """A Secret with values in clear; the values are not among what is known of it."""

    id: ObjectId
    keys: tuple[str, ...]
    place: Place
    """Of the first of the keys."""
