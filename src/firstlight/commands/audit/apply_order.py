"""Which Kustomization of a cluster comes after which: what others build their rules upon."""

import dataclasses
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import cached_property

from firstlight.document.within import at, text
from firstlight.model.component import Component, ObjectId, Origin, Side, SourceForm
from firstlight.model.diagnostic import Evidence
from firstlight.plan import well_known
from firstlight.repo import chart_values
from firstlight.repo.platform_view import AppliedObject, PlatformView


@dataclasses.dataclass(frozen=True)
class KustomizationOrder:
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
            if origin.form is SourceForm.KUSTOMIZATION and origin.side is Side.GITOPS
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


def order_of(scene: PlatformView) -> Iterator[KustomizationOrder]:
    """The order of each cluster that has Kustomizations."""
    for cluster in scene.clusters:
        order = KustomizationOrder(cluster.name, scene.platform.components_of(cluster.name))
        if order.all:
            yield order


def short_name(name: str) -> str:
    """The name of a Kustomization without its form and namespace."""
    return name.rpartition("/")[2]


# Kustomizations and HelmReleases that wait for each other: by dependsOn, and by the wait of what brings them.
#
# Only what the repo says counts here. What a thing needs besides, such as the kinds of its objects, it gets in time
# or is tried again until it does.


_FORMS = (SourceForm.KUSTOMIZATION, SourceForm.HELM_RELEASE)

Step = tuple[str, Evidence]
"""What is waited for, by its id, and what says so."""


@dataclasses.dataclass(frozen=True)
class WaitingCircle:
    """Those that wait for each other, each with what says that it waits for the next."""

    members: tuple[tuple[Component, Origin], ...]
    evidence: tuple[Evidence, ...]


@dataclasses.dataclass(frozen=True)
class _Waits:
    """Who waits for whom in one cluster."""

    all: Mapping[str, tuple[Component, Origin]]

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, list[str]] = defaultdict(list)
        for name, (_, origin) in self.all.items():
            found[origin.parent].append(name)
        return {name: tuple(each) for name, each in found.items()}

    def of(self, name: str) -> Iterator[Step]:
        """What one waits for: its own dependsOn, that of what brings it, and what it brings if it waits for that."""
        for each in above(self.all, name):
            for need in self.all[each][1].needs:
                if need.is_awaited and need.id in self.all:
                    said = f"{shown_circle(self.all[each][1])} depends on {shown_circle(self.all[need.id][1])}"
                    yield need.id, Evidence(said, need.place)
        origin = self.all[name][1]
        if at(origin.definition, "spec", "wait") is True:
            for each in self.children.get(name, ()):
                # The root of Flux brings itself.
                if each != name and each not in above(self.all, name):
                    said = f"{shown_circle(origin)} waits until {shown_circle(self.all[each][1])} is ready"
                    yield each, Evidence(said, origin.place)


def waiting_circles(scene: PlatformView, cluster: str) -> Iterator[WaitingCircle]:
    """The circles of a cluster, the shortest through each member, once."""
    waits = _Waits(
        {
            origin.id: (component, origin)
            for component in scene.platform.components_of(cluster)
            for origin in component.origins
            if origin.form in _FORMS and origin.side is Side.GITOPS
        }
    )
    seen: set[str] = set()
    for name in sorted(waits.all):
        way = () if name in seen else _round(waits, name)
        members = [each for each, _ in way]
        if way and not seen & set(members):
            seen |= set(members)
            yield WaitingCircle(tuple(waits.all[each] for each in members), tuple(evidence for _, evidence in way))


def _round(waits: _Waits, start: str) -> tuple[Step, ...]:
    """The shortest way from one back to itself: who waits, and what says so; empty where there is none."""
    before: dict[str, Step] = {}
    queue = deque([start])
    while queue and start not in before:
        name = queue.popleft()
        for other, evidence in waits.of(name):
            if other not in before:
                before[other] = name, evidence
                queue.append(other)
    way: list[Step] = []
    name = start
    while start in before and (not way or name != start):
        way.append(before[name])
        name = before[name][0]
    return tuple(reversed(way))


def shown_circle(origin: Origin) -> str:
    """An object of Flux in a sentence."""
    return f"{origin.form} {origin.name}"


# Who brings the kinds, namespaces and stores of a cluster, as far as that is certain.


_CRDS = "apiextensions.k8s.io"
STORES = ("SecretStore", "ClusterSecretStore")
ISSUERS = ("Issuer", "ClusterIssuer")

Supplier = tuple[Component, Origin]


def suppliers_of_kinds(scene: PlatformView, cluster: str) -> Mapping[str, tuple[Supplier, ...]]:
    """Who brings the kinds of each API group; what bootstrap brings has the side of bootstrap."""
    found: dict[str, list[Supplier]] = defaultdict(list)
    for component in scene.platform.components_of(cluster):
        for origin in component.origins:
            for group in {*_groups(component, origin), *_defined(origin)}:
                found[group].append((component, origin))
    return {group: tuple(each) for group, each in found.items()}


def _groups(component: Component, origin: Origin) -> Iterator[str]:
    """What a chart brings, or what stands for one in bootstrap."""
    about = well_known.of(component)
    named = chart_values.chart_names(origin)
    is_bootstrap = origin.side is Side.BOOTSTRAP
    if about is not None and (
        named or is_bootstrap or origin.form in (SourceForm.FLUX_COMPONENTS, SourceForm.FLUX_INSTANCE)
    ):
        yield from about[1].kinds
    for name in named or ([component.name] if is_bootstrap else []):
        yield from well_known.groups_of_chart(name)


def _defined(origin: Origin) -> Iterator[str]:
    for each in origin.stated:
        if each.id.group == _CRDS:
            yield text(each.value, "spec", "group") or each.id.name.partition(".")[2]


def bringer(origin: Origin) -> str:
    """The id of the Kustomization that applies it: itself, or the one that brings its HelmRelease."""
    return origin.id if origin.form is SourceForm.KUSTOMIZATION else origin.parent


def suppliers_of_objects(
    scene: PlatformView, cluster: str, *kinds: str
) -> Mapping[tuple[str, str, str], tuple[AppliedObject, ...]]:
    """Who applies each object of some kinds, by kind, namespace and name."""
    found: dict[tuple[str, str, str], list[AppliedObject]] = defaultdict(list)
    for item in scene.of_cluster(cluster, *kinds):
        found[item.object.id.kind, item.object.id.namespace, item.object.id.name].append(item)
    return {key: tuple(each) for key, each in found.items()}
