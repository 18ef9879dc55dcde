"""Kustomizations and HelmReleases that wait for each other: by dependsOn, and by the wait of what brings them.

Only what the repo says counts here. What a thing needs besides, such as the kinds of its objects, it gets in time or is
tried again until it does.
"""

import dataclasses
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from functools import cached_property

from firstlight.document.within import at
from firstlight.model.component import Component, Form, Origin, Side
from firstlight.model.finding import Evidence
from firstlight.policy.auditing import kustomization_order
from firstlight.policy.auditing.scene import Scene

_FORMS = (Form.KUSTOMIZATION, Form.HELM_RELEASE)
DEPENDS_ON = "dependsOn"

Step = tuple[str, Evidence]
"""What is waited for, by its id, and what says so."""


@dataclasses.dataclass(frozen=True)
class Circle:
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
        for each in kustomization_order.above(self.all, name):
            for need in self.all[each][1].needs:
                if need.why == DEPENDS_ON and need.id in self.all:
                    said = f"{shown(self.all[each][1])} depends on {shown(self.all[need.id][1])}"
                    yield need.id, Evidence(said, need.place)
        origin = self.all[name][1]
        if at(origin.definition, "spec", "wait") is True:
            for each in self.children.get(name, ()):
                # The root of Flux brings itself.
                if each != name and each not in kustomization_order.above(self.all, name):
                    said = f"{shown(origin)} waits until {shown(self.all[each][1])} is ready"
                    yield each, Evidence(said, origin.place)


def circles(scene: Scene, cluster: str) -> Iterator[Circle]:
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
            yield Circle(tuple(waits.all[each] for each in members), tuple(evidence for _, evidence in way))


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


def shown(origin: Origin) -> str:
    """An object of Flux in a sentence."""
    return f"{origin.form} {origin.name}"
