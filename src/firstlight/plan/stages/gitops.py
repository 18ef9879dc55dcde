"""What the engine brings by itself, as a graph to watch: who creates whom, who waits for whom.

A Kustomization has two moments: it is applied, and it is ready. Its children appear when it is applied. With ``wait``
it is ready only when they are; without it the two moments are one. The steps stand for being ready.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from firstlight.document.within import at, sequence, text
from firstlight.model.component import Component, Form, ObjectId, Phase, Side
from firstlight.model.plan import Action, Step, StepNeed, Tie
from firstlight.plan import asking, facts, ground
from firstlight.plan.ground import Ground
from firstlight.plan.provision import Standing

_ROOT = StepNeed(ground.ROOT, "the root object brings it", Tie.BROUGHT)
_DEEPEST = 50
"""Parents above parents; real trees have five."""


class Tree:
    """The components that the engine reconciles, with their parents."""

    def __init__(self, known: Ground) -> None:
        self._known = known
        self._facts = known.facts
        self._waits: dict[str, tuple[Component, ...]] = {}

    @cached_property
    def members(self) -> Mapping[str, Component]:
        """What the engine reconciles: GitOps' own components, and those that it takes over."""
        return {
            each.name: each for each in self._facts.components if not facts.in_bootstrap(each) or facts.is_adopted(each)
        }

    @cached_property
    def children(self) -> Mapping[str, tuple[Component, ...]]:
        """Components by the name of the one that brings them."""
        found: dict[str, list[Component]] = defaultdict(list)
        for each in self.members.values():
            found[each.parent].append(each)
        return {name: tuple(each) for name, each in found.items()}

    def step(self, component: Component) -> str:
        """The step that stands for its being ready, as the engine sees it."""
        return (ground.adoption_id if facts.in_bootstrap(component) else ground.gitops_id)(component)

    def needs(self, component: Component) -> tuple[StepNeed, ...]:
        """What its step comes after."""
        needs = (*self._own(component), *self._waited(component), *self._applied(self._bringer(component), _DEEPEST))
        step = self.step(component)
        return (*ground.once(needs, besides=step), *self._known.of_itself(component, Side.GITOPS, step=step))

    def _own(self, component: Component) -> Iterator[StepNeed]:
        """What must be ready before it is applied."""
        # What a script says of a component that is left to GitOps counts too, as the order that it is.
        halves = facts.origins(component, Side.GITOPS) if facts.in_bootstrap(component) else component.origins
        declared = [(origin, need) for origin in halves for need in origin.needs]
        for origin, need in declared:
            other = self._facts.by_name.get(self._facts.by_origin.get(need.id, ""))
            if other is not None and other is not component:
                yield StepNeed(self._ready(other), need.why or "dependsOn", facts.tie(origin, need), need.place)
        if host := self._facts.by_name.get(component.part_of):
            # What brings its host as well cannot wait until the engine has that: bootstrap's half is what it needs.
            is_own = facts.in_bootstrap(host) and host.parent == component.name
            ready = ground.bootstrap_id(host) if is_own else self._ready(host)
            yield StepNeed(ready, f"it configures {host.name}", Tie.FACT)
        if not facts.in_bootstrap(component):
            explained = {self._facts.by_origin.get(need.id) for _, need in declared}
            for name in component.needs:
                if name not in explained and (other := self._facts.by_name.get(name)):
                    yield StepNeed(self._ready(other), "needs", Tie.DECLARED, self._facts.wished(component))
        yield from self._supplied(component)

    def _supplied(self, component: Component) -> Iterator[StepNeed]:
        """Secrets and values that another component of GitOps brings."""
        for demand, way in self._known.provisions.get((component.name, Side.GITOPS), ()):
            if way.standing != Standing.GITOPS:
                continue
            for supply in way.chain:
                other = self._facts.by_name.get(supply.component)
                if other is not None and supply.side == Side.GITOPS:
                    thing = str(supply.thing)
                    yield StepNeed(self.step(other), thing, Tie.FACT, demand.place, thing)

    def _waited(self, component: Component) -> Iterator[StepNeed]:
        """The children that it waits for before it is ready."""
        for child in self.waits_for(component):
            why = f"it waits until {child.name} is ready"
            yield StepNeed(self.step(child), why, Tie.WAITED, facts.place(component, Side.GITOPS))

    def _bringer(self, component: Component) -> Component | None:
        """Who creates a component; None where that is the root object."""
        parent = self._parent(component)
        above, seen = parent, set[str]()
        while above is not None and above.name not in seen:
            seen.add(above.name)
            above = self._parent(above)
        return None if component.name in seen else parent

    def _parent(self, component: Component) -> Component | None:
        """What the repo says brings it; what the engine itself brings is the root."""
        parent = self.members.get(component.parent)
        return None if parent is None or parent.role == "engine" else parent

    def _applied(self, component: Component | None, depth: int) -> Iterator[StepNeed]:
        """What must be before a component is applied: for one that does not wait, that it is ready."""
        if component is None or not depth:
            yield _ROOT
        elif not self.waits_for(component):
            yield StepNeed(self.step(component), f"{component.name} brings it", Tie.BROUGHT)
        else:
            yield from self._own(component)
            yield from self._applied(self._bringer(component), depth - 1)

    def _ready(self, component: Component) -> str:
        """The step that stands for a component that another one needs, whoever brings it."""
        return self.step(component) if component.name in self.members else ground.bootstrap_id(component)

    def waits_for(self, component: Component) -> tuple[Component, ...]:
        """The children that must be ready before a Kustomization is: all with ``wait``, else the ones it names."""
        if component.name not in self._waits:
            self._waits[component.name] = self._waited_by(component)
        return self._waits[component.name]

    def _waited_by(self, component: Component) -> tuple[Component, ...]:
        waited: dict[str, Component] = {}
        for origin in facts.origins(component, Side.GITOPS):
            if origin.form != Form.KUSTOMIZATION:
                continue
            spec = at(origin.definition, "spec")
            named = {(text(each, "kind"), text(each, "name")) for each in sequence(spec, "healthChecks")}
            for child in self.children.get(component.name, ()):
                kinds = {(each.form.value, each.name) for each in facts.origins(child, Side.GITOPS)}
                if at(spec, "wait") is True or kinds & named:
                    waited[child.name] = child
        return tuple(waited.values())


def steps(known: Ground, tree: Tree) -> list[Step]:
    """A step for each component that only GitOps has."""
    return [
        Step(
            id=ground.gitops_id(each), phase=Phase.GITOPS, action=Action.WATCH, name=each.name, component=each.name,
            side=Side.GITOPS, what=_what(each), needs=tree.needs(each), gates=asking.of_gitops(each),
            creates=_creates(known, each), place=facts.place(each, Side.GITOPS),
        )
        for each in known.facts.gitops
    ]  # fmt: skip


def _what(component: Component) -> str:
    form = facts.origins(component, Side.GITOPS)[0].form if facts.origins(component, Side.GITOPS) else ""
    return " ".join(each for each in (form, component.version) if each)


def _creates(known: Ground, component: Component) -> tuple[ObjectId, ...] | None:
    rendition = known.facts.rendition(component, Side.GITOPS)
    return None if rendition is None else tuple(each.id for each in rendition.objects)
