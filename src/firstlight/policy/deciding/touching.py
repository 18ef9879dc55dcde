"""Which components a change belongs to, before it and after it, and who depends on them."""

import dataclasses
from collections.abc import Sequence

from firstlight.document import within
from firstlight.model.change import Change, Level, Matter, Verb
from firstlight.model.component import Component
from firstlight.model.decision import Touched
from firstlight.policy.deciding.belonging import Belonging
from firstlight.policy.dependents import Graph

_Key = tuple[str, str]
_SETTINGS = ("ConfigMap", "Secret")
"""Kinds from which children are given values."""


@dataclasses.dataclass(frozen=True)
class Scene:
    """The platform as it is after a change, and as it was before, where that is known."""

    after: Belonging
    before: Belonging | None
    graph: Graph
    old_graph: Graph | None

    def components(self, change: Change) -> tuple[Component, ...]:
        """All that a change belongs to, after it and before it.

        What declares a component is of that one, and not of the root that brings it: where that is all that the other
        state knows of it, it is not asked.
        """
        found: dict[tuple[str, ...], Component] = {}
        now, once = self.now(change), self.once(change)
        if change.verb is Verb.ADDED and self.after.is_declaring(change.object):
            once = ()
        elif change.verb is Verb.REMOVED and self.before is not None and self.before.is_declaring(change.object):
            now = ()
        for each in (*now, *once):
            found.setdefault((each.cluster, each.name, each.owner, each.phase, each.role), each)
        return tuple(found.values())

    def now(self, change: Change) -> tuple[Component, ...]:
        """What it belongs to after it."""
        return _of(self.after, change, change.place.path)

    def once(self, change: Change) -> tuple[Component, ...]:
        """What it belonged to before it."""
        return _of(self.before, change, change.old_path or change.place.path) if self.before else ()

    def clusters(self, change: Change, components: Sequence[Component]) -> tuple[str, ...]:
        """All clusters that a change reaches."""
        if declared := self._declared(change):
            return declared
        found = [change.cluster] if change.cluster else []
        found += [each.cluster for each in components]
        for belonging, path in ((self.after, change.place.path), (self.before, change.old_path or change.place.path)):
            if belonging is not None and not components:
                found += belonging.clusters(path)
            elif belonging is not None:
                found += belonging.machines.get(path, ())
        return tuple(dict.fromkeys(found))

    def _declared(self, change: Change) -> tuple[str, ...]:
        """The clusters whose declarations in firstlight.yaml change; none where it also says something of all."""
        if change.matter is not Matter.PLATFORM or not all(each.steps[:1] == ("clusters",) for each in change.fields):
            return ()
        both = [each.platform for each in (self.after, self.before) if each is not None]
        known = {each.name for one in both for each in one.clusters}
        named = dict.fromkeys(each.steps[1] for each in change.fields if len(each.steps) > 1)
        return tuple(named) if named.keys() <= known else ()

    def parts(self, change: Change) -> tuple[Change, ...]:
        """A change; where something moved to a place that its cluster does not look at, that it went and came."""
        if not change.apart or self.before is None:
            return (change,)
        path = change.place.path
        once = {each.cluster for each in self.once(change)}
        now = set() if self.after.is_unlisted(path) else {each.cluster for each in self.after.of(path)}
        return change.apart if once - now else (change,)

    def dependents(self, component: Component, *, brought: bool = True) -> tuple[str, ...]:
        """Who needs a component, after the change and before it."""
        graphs = [each for each in (self.graph, self.old_graph) if each is not None]
        found = [
            name for graph in graphs for name in graph.dependents(component.cluster, component.name, brought=brought)
        ]
        return tuple(dict.fromkeys(found))

    def touched(self, change: Change, components: Sequence[Component]) -> tuple[Touched, ...]:
        """Components that a change is about with their dependents, each once."""
        found: dict[_Key, Touched] = {}
        for each in components:
            if (each.cluster, each.name) not in found:
                found[each.cluster, each.name] = Touched(
                    cluster=each.cluster,
                    component=each.name,
                    role=each.role,
                    phase=each.phase,
                    owner=each.owner,
                    dependents=self._affected(change, each),
                )
        return tuple(found.values())

    def _affected(self, change: Change, component: Component) -> tuple[str, ...]:
        """Who feels a change of a component: who needs it, and of an engine all that it brings."""
        graphs = [each for each in (self.graph, self.old_graph) if each is not None]
        needed = self.dependents(component, brought=_reaches_children(change, component))
        brought = [name for each in graphs for name in each.followers(component.cluster, component.name)]
        return tuple(dict.fromkeys([*needed, *brought]))

    def is_of_machines(self, change: Change) -> bool:
        """Whether it stands in a file that shapes machines, or stood in one."""
        both = [each for each in (self.after, self.before) if each is not None]
        return any(path in each.machines for each in both for path in (change.place.path, change.old_path))

    def is_unlisted(self, change: Change) -> bool:
        """Whether a kustomization leaves its file out, now and before."""
        both = [each for each in (self.after, self.before) if each is not None]
        return all(each.is_unlisted(change.place.path) for each in both)

    def is_needed_by_engine(self, component: Component) -> bool:
        """Whether an engine cannot work without it."""
        key = (component.cluster, component.name)
        return any(graph is not None and key in graph.engine_needs for graph in (self.graph, self.old_graph))


def _reaches_children(change: Change, component: Component) -> bool:
    """Whether what a component brings may change with it: not so where it only applies a plain object besides."""
    if change.object is None or change.kind in _SETTINGS:
        return True
    return any(
        (change.kind, change.object.name) == (within.text(each, "kind"), within.text(each, "metadata", "name"))
        for origin in component.origins
        for each in (origin.definition, origin.maker)
    )


def _of(belonging: Belonging, change: Change, path: str) -> tuple[Component, ...]:
    if change.level is Level.RENDERED or change.component:
        return belonging.declaring(change.cluster, change.object) or belonging.named(change.cluster, change.component)
    return belonging.of(path, change.object)
