"""Well-known components, makers of Secrets and built-in groups, from ``known.yaml``."""

import dataclasses
import functools
import importlib.resources

import msgspec

from firstlight.document import yaml_reader
from firstlight.model.component import Component
from firstlight.model.source import ChartSource
from firstlight.plan import cluster_facts


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


def is_builtin(group: str) -> bool:
    """Whether every API server serves a group."""
    return group in table().builtin
