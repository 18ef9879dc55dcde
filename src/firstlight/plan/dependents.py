"""Who depends on whom in a repo: by needs, by what brings them, and as settings of another."""

import collections
import functools
from collections.abc import Collection, Iterator, Mapping

from firstlight.model.component import Phase
from firstlight.model.platform import Platform

_Key = tuple[str, str]


class DependencyGraph:
    """Who needs whom, in one platform."""

    def __init__(self, platform: Platform, *, apart: Collection[tuple[str, str, str]] = ()) -> None:
        """Read it from a platform; ``apart`` from needs that do not count, each a cluster, who needs, and what."""
        self._components = {(each.cluster, each.name): each for each in platform.components}
        self._needed: Mapping[_Key, list[str]] = {
            (cluster, need): [each for each in names if (cluster, each, need) not in apart]
            for (cluster, need), names in platform.dependents().items()
        }
        brought: dict[_Key, list[str]] = collections.defaultdict(list)
        parts: dict[_Key, list[str]] = collections.defaultdict(list)
        for each in platform.components:
            if each.parent:
                brought[each.cluster, each.parent].append(each.name)
            if each.part_of:
                parts[each.cluster, each.part_of].append(each.name)
        self._brought, self._parts = brought, parts
        self._known: dict[tuple[_Key, bool], tuple[str, ...]] = {}

    def dependents(self, cluster: str, name: str, *, brought: bool = True) -> tuple[str, ...]:
        """Who needs a component, directly or by others, the nearest first; with ``brought`` also what it brings."""
        key = ((cluster, name), brought)
        if key not in self._known:
            self._known[key] = tuple(self._nearest(cluster, name, brought=brought))
        return self._known[key]

    def _nearest(self, cluster: str, name: str, *, brought: bool) -> Iterator[str]:
        seen = {name, *self._parents(cluster, name)}
        level = self.direct(cluster, name, brought=brought)
        while level:
            following: list[str] = []
            for each in level:
                if each not in seen:
                    seen.add(each)
                    yield each
                    following += self.direct(cluster, each, brought=True)
            level = following

    def direct(self, cluster: str, name: str, *, brought: bool) -> list[str]:
        """Who needs a component itself, or what brings it; its settings are among them."""
        # Who waits for a Kustomization waits for the HelmReleases in it.
        above = (name, *self._parents(cluster, name))
        found = [each for key in above for each in self._needed.get((cluster, key), ())]
        found += self._parts.get((cluster, name), ())
        return [*found, *(self._brought.get((cluster, name), ()) if brought else ())]

    def brought(self, cluster: str, name: str) -> tuple[str, ...]:
        """Return what a component brings, with what that brings, the nearest first."""
        found: dict[str, None] = {}
        level = list(self._brought.get((cluster, name), ()))
        while level:
            found.update(dict.fromkeys(level))
            below = [each for parent in level for each in self._brought.get((cluster, parent), ())]
            level = [each for each in below if each not in found and each != name]
        return tuple(found)

    def _parents(self, cluster: str, name: str) -> list[str]:
        """What brings a component, the nearest first."""
        found: list[str] = []
        component = self._components.get((cluster, name))
        while component is not None and component.parent and component.parent not in (name, *found):
            found.append(component.parent)
            component = self._components.get((cluster, component.parent))
        return found

    def followers(self, cluster: str, name: str) -> tuple[str, ...]:
        """What an engine brings from Git, if the component is one that bootstrap installs; nobody says they need it."""
        engine = self._components.get((cluster, name))
        if engine is None or engine.role != "engine" or engine.phase is Phase.GITOPS:
            return ()
        return tuple(
            each.name for each in self._components.values() if each.cluster == cluster and each.phase is Phase.GITOPS
        )

    @functools.cached_property
    def engine_needs(self) -> frozenset[_Key]:
        """What an engine cannot work without, by needs."""
        found: set[_Key] = set()
        waiting = [
            (each.cluster, need)
            for each in self._components.values()
            if each.role == "engine" and each.phase is not Phase.GITOPS
            for need in each.needs
        ]
        while waiting:
            key = waiting.pop()
            if key in found or key not in self._components:
                continue
            found.add(key)
            waiting += [(key[0], need) for need in self._components[key].needs]
        return frozenset(found)
