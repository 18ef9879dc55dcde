"""Which Kustomization of a cluster comes after which: what others build their rules upon."""

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cached_property

from firstlight.model.component import Component, Form, ObjectId, Origin, Side
from firstlight.policy.auditing.scene import Scene


@dataclasses.dataclass(frozen=True)
class Order:
    """The Kustomizations of one cluster, with what each waits for."""

    cluster: str
    components: tuple[Component, ...]

    @cached_property
    def all(self) -> Mapping[str, tuple[Component, Origin]]:
        """Kustomizations by their ids."""
        return {
            origin.id: (component, origin)
            for component in self.components
            for origin in component.origins
            if origin.form is Form.KUSTOMIZATION and origin.side is Side.GITOPS
        }

    @cached_property
    def dependents(self) -> Mapping[str, tuple[str, ...]]:
        """Those that name a Kustomization in their dependsOn, by its id."""
        found: dict[str, list[str]] = {}
        for name, (_, origin) in self.all.items():
            for need in origin.needs:
                found.setdefault(need.id, []).append(name)
        return {name: tuple(each) for name, each in found.items()}

    @cached_property
    def applied(self) -> Mapping[str, frozenset[ObjectId]]:
        """The objects that each Kustomization applies."""
        return {name: frozenset(each.id for each in origin.stated) for name, (_, origin) in self.all.items()}

    @cached_property
    def _children(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = {}
        for name, (_, origin) in self.all.items():
            found.setdefault(origin.parent, []).append(name)
        return {name: tuple(each) for name, each in found.items()}

    def above(self, name: str) -> tuple[str, ...]:
        """A Kustomization and everything that brings it, from below."""
        return above(self.all, name)

    def below(self, name: str) -> frozenset[str]:
        """A Kustomization and everything that it brings."""
        found: set[str] = set()
        waiting = [name]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found.add(each)
                waiting += self._children.get(each, ())
        return frozenset(found)

    def before(self, name: str) -> frozenset[str]:
        """Everything that dependsOn puts before a Kustomization: its own, that of its parents, and what those bring."""
        if name not in self._before:
            self._before[name] = self._all_before(name)
        return self._before[name]

    @cached_property
    def _before(self) -> dict[str, frozenset[str]]:
        return {}

    def _all_before(self, name: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = [need for each in self.above(name) for need in self._needs(each)]
        while waiting:
            each = waiting.pop()
            if each not in found:
                found.add(each)
                waiting += self._children.get(each, ())
                waiting += [need for above in self.above(each) for need in self._needs(above)]
        return frozenset(found)

    def _needs(self, name: str) -> Iterator[str]:
        return (need.id for need in self.all[name][1].needs if need.id in self.all)


def above(known: Mapping[str, tuple[Component, Origin]], name: str) -> tuple[str, ...]:
    """One of those that are known by their ids, and everything that brings it, from below."""
    found: dict[str, None] = {}
    while name in known and name not in found:
        found[name] = None
        name = known[name][1].parent
    return tuple(found)


def of(scene: Scene) -> Iterator[Order]:
    """The order of each cluster that has Kustomizations."""
    for cluster in scene.clusters:
        order = Order(cluster.name, scene.platform.components_of(cluster.name))
        if order.all:
            yield order


def short(name: str) -> str:
    """The name of a Kustomization without its form and namespace."""
    return name.rpartition("/")[2]
