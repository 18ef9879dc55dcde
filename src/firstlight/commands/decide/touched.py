"""Which components a change belongs to, before it and after it, and who depends on them."""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from firstlight.commands.decide import file_components
from firstlight.commands.decide.file_components import Belonging
from firstlight.document import within
from firstlight.model import flux_names
from firstlight.model.change import Change, ChangedField, ChangeVerb, Level, Matter
from firstlight.model.component import Component, ObjectId, Origin
from firstlight.model.decision import Touched
from firstlight.model.place import Place
from firstlight.model.source import ChartSource, Embedded
from firstlight.plan.dependents import DependencyGraph

_Key = tuple[str, str]
_LISTS = (("resources",), ("bases",))
"""What a kustomization takes in, each by itself."""
_SETTINGS = ("ConfigMap", "Secret")
"""Kinds from which children are given values."""


@dataclasses.dataclass(frozen=True)
class DecisionContext:
    """The platform as it is after a change, and as it was before, where that is known."""

    after: Belonging
    before: Belonging | None
    graph: DependencyGraph
    old_graph: DependencyGraph | None

    def components(self, change: Change) -> tuple[Component, ...]:
        """All that a change belongs to, after it and before it.

        What declares a component is of that one, and not of the root that brings it: where that is all that the other
        state knows of it, it is not asked.
        """
        found: dict[tuple[str, ...], Component] = {}
        now, once = self.now(change), self.once(change)
        if change.verb is ChangeVerb.ADDED and self.after.is_declaring(change.object):
            once = ()
        elif change.verb is ChangeVerb.REMOVED and self.before is not None and self.before.is_declaring(change.object):
            now = ()
        own = (*now, *once)
        for each in (*own, *self._readers(change, {each.cluster for each in own})):
            found.setdefault((each.cluster, each.name, each.owner, each.phase, each.role), each)
        return tuple(found.values())

    def _readers(self, change: Change, clusters: Set[str]) -> Iterator[Component]:
        """What reads the artifacts that a generator of these clusters cuts out."""
        if change.kind != flux_names.ARTIFACT_GENERATOR or change.object is None:
            return
        artifacts = _artifacts(change)
        for belonging in (self.after, self.before):
            for component in belonging.platform.components if belonging is not None else ():
                for origin in component.origins:
                    source = within.mapping(origin.definition, "spec", "sourceRef")
                    is_read = source.get("kind") == flux_names.EXTERNAL_ARTIFACT and source.get("name") in artifacts
                    if is_read and component.cluster in clusters:
                        yield component

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
                dependents, brings = self._affected(change, each)
                found[each.cluster, each.name] = Touched(
                    cluster=each.cluster,
                    component=each.name,
                    role=each.role,
                    phase=each.phase,
                    owner=each.owner,
                    dependents=dependents,
                    brings=brings,
                )
        return tuple(found.values())

    def _affected(self, change: Change, component: Component) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Who needs a component, needs what it brings, or of an engine follows it; and what it brings."""
        graphs = [each for each in (self.graph, self.old_graph) if each is not None]
        followers = [name for each in graphs for name in each.followers(component.cluster, component.name)]
        needing = tuple(dict.fromkeys([*self.dependents(component, brought=False), *followers]))
        is_setting = change.object is not None and change.kind in _SETTINGS
        if not (self._is_received(change.object) if is_setting else _reaches_children(change, component)):
            return needing, ()
        children = {name for each in graphs for name in each.brought(component.cluster, component.name)}
        reached = [each for each in self.dependents(component) if each not in needing]
        behind = (each for each in reached if each not in children)
        return (*needing, *behind), tuple(each for each in reached if each in children)

    def _is_received(self, holder: ObjectId | None) -> bool:
        """Whether children are given values from a ConfigMap or Secret."""
        both = [each.platform for each in (self.after, self.before) if each is not None]
        return holder is not None and any(True for each in both for _ in file_components.receiving(each, holder))

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


def _artifacts(change: Change) -> set[str]:
    """Names of the artifacts of a generator that change; of all where it comes or goes."""
    named = {match["name"] for field in change.fields if (match := _NAMED.fullmatch("".join(field.steps[2:3])))}
    if named and change.verb is ChangeVerb.CHANGED:
        return named
    states = [each for each in (change.before, change.after) if each is not None]
    return {within.text(each, "name") for state in states for each in within.sequence(state, "spec", "artifacts")}


def _reaches_children(change: Change, component: Component) -> bool:
    """Whether what a component brings may change with it.

    Not so where it only applies a plain object besides, or another file: what that brings has changes of its own.
    """
    if change.matter is Matter.KUSTOMIZE and change.fields:
        return not all(each.steps[:1] in _LISTS for each in change.fields)
    if change.object is None:
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


# Which of the components that a file declares a field of it is about: by names in the way to it, or by lines.


_NAMED = re.compile(r"\[name=(?P<name>.*)\]", re.DOTALL)
_VARIABLES = {"vars", "env", "dotenv"}
"""What a Taskfile calls values that commands of all its tasks may use."""
_ASSIGNED = re.compile(r"[A-Za-z_][\w.-]*")
_HIDDEN = "***"
"""What stands in a change where something secret was, perhaps the name that is looked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Anchor:
    """A place of the file at which a component is declared, or the repository of its chart."""

    component: Component
    origin: Origin
    line: int


def concerned(
    change: Change, field: ChangedField | None, components: Sequence[Component], *, scene: DecisionContext
) -> tuple[Component, ...]:
    """The components that a field is about, of those that the change belongs to."""
    if change.matter is Matter.MACHINE:
        if field is None and change.verb in (ChangeVerb.ADDED, ChangeVerb.REMOVED):  # with all that stands in it
            return tuple(components)
        steps = field.steps if field is not None else ()
        return tuple(each for each in components if any(_is_inline_at(origin, steps) for origin in each.origins))
    if field is None or change.matter not in (Matter.RELEASE, Matter.SCRIPT):
        return tuple(components)
    paths = {change.place.path, change.old_path}
    anchors = [
        _Anchor(component, origin, origin.place.line)
        for component in components
        for origin in _origins(component, field, scene)
        if origin.place.path in paths
    ]
    if not anchors:
        return tuple(components)
    is_helmfile = change.matter is Matter.RELEASE
    chosen = _of_release(field, anchors, paths) if is_helmfile else _of_script(change, field, anchors)
    if chosen is None:
        return tuple(components)
    found = {id(each.component) for each in chosen}
    return tuple(each for each in components if id(each) in found)


def _origins(component: Component, field: ChangedField, scene: DecisionContext) -> Iterator[Origin]:
    """A component's origins in the state in which the field's line counts, and then those in the other one."""
    key = (component.cluster, component.name)
    once = scene.before.named(*key) if scene.before is not None else ()
    now = scene.after.named(*key)
    first, then = (once, now) if field.verb is ChangeVerb.REMOVED else (now, once)
    seen: set[str] = set()
    for each in (*first, *then, component):
        for origin in each.origins:
            if origin.id not in seen:
                yield origin
        seen |= {origin.id for origin in each.origins}


def _of_release(field: ChangedField, anchors: Sequence[_Anchor], paths: set[str]) -> Sequence[_Anchor] | None:
    """Of a helmfile; None where the field is for all of its releases."""
    section, *inner = field.steps or ("",)
    if section == "releases":
        match = _NAMED.fullmatch(inner[0]) if inner else None
        if match is not None and "{{" not in match["name"]:
            # One that is declared and not installed is no component's.
            return [each for each in anchors if each.origin.name == match["name"]]
        return _nearest(field.place, anchors)
    if section == "repositories":
        charts = [
            _Anchor(each.component, each.origin, each.origin.source.origin.line)
            for each in anchors
            if isinstance(each.origin.source, ChartSource)
            and each.origin.source.origin is not None
            and each.origin.source.origin.path in paths
        ]
        return _nearest(field.place, charts)
    return None


def _of_script(change: Change, field: ChangedField, anchors: Sequence[_Anchor]) -> Sequence[_Anchor] | None:
    """Of a Taskfile or script; None where the field may be for all of its commands."""
    name = _variable(field)
    if name:
        users = [each for each in anchors if _uses(each.origin.command, name, field)]
        return users or None
    if field.steps[:1] == ("tasks",) and len(field.steps) > 1:
        text = _task(change, field)
        if text and not any(each in text for each in ("{{", "$", _HIDDEN)):
            mine = [each for each in anchors if each.origin.name in text]
            return _nearest(field.place, mine) or mine
    return _nearest(field.place, anchors)


def _nearest(place: Place, anchors: Sequence[_Anchor]) -> Sequence[_Anchor] | None:
    """Whatever begins last before a line or on it; None where nothing does."""
    above = [each.line for each in anchors if 0 < each.line <= place.line]
    return [each for each in anchors if each.line == max(above)] if above else None


def _variable(field: ChangedField) -> str:
    """The name of the variable that a field sets; empty where it is none."""
    if field.steps[0] in _VARIABLES:
        return field.steps[1] if len(field.steps) > 1 else ""
    is_line = len(field.steps) == 2 and field.steps[0].startswith("line ")
    return field.steps[1] if is_line and _ASSIGNED.fullmatch(field.steps[1]) else ""


def _uses(command: str, name: str, field: ChangedField) -> bool:
    """Whether a command has the variable, or what it was or will be."""
    if re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", command):
        return True
    values = [str(each) for each in (field.before, field.after) if each is not None and len(str(each)) > 2]
    return any(value in command for value in values)


def _task(change: Change, field: ChangedField) -> str:
    """All that the task of a field says, as it was and as it will be."""
    states: tuple[Mapping[str, Any] | None, ...] = (change.before, change.after)
    found = [within.at(each, "tasks", field.steps[1]) for each in states if each is not None]
    return " ".join(str(each) for each in found if each is not None)


def _is_inline_at(origin: Origin, steps: Sequence[str]) -> bool:
    """Whether it stands inline where a field of a machine config is."""
    if not isinstance(origin.source, Embedded):
        return False
    # Items are told apart by their names, or else by their numbers.
    numbers = [f"[{each}]" for each in origin.source.steps if isinstance(each, int)]
    lists = [place for place, each in enumerate(steps) if each in ("inlineManifests", "manifests")]
    return any(steps[place + 1 : place + 2] in ((f"[name={origin.name}]",), (*numbers[-1:],)) for place in lists)
