"""What the engine brings by itself, as a graph to watch: who creates whom, who waits for whom.

A Kustomization has two moments: it is applied, and it is ready. Its children appear when it is applied. With ``wait``
it is ready only when they are; without it the two moments are one. The steps stand for being ready.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property

from firstlight.document.within import at, sequence, text
from firstlight.model.component import Component, ObjectId, Phase, Side, SourceForm
from firstlight.model.plan import Action, Gate, Step, StepNeed, Subject, Tie
from firstlight.plan import cluster_facts, final_owners, plan_context
from firstlight.plan.plan_context import PlanContext
from firstlight.plan.supplies import ProvisionStanding

_ROOT = StepNeed(plan_context.ROOT, "the root object brings it", Tie.BROUGHT)
_DEEPEST = 50
"""Parents above parents; real trees have five."""


class EngineTree:
    """The components that the engine reconciles, with their parents."""

    def __init__(self, known: PlanContext) -> None:
        self._known = known
        self._facts = known.facts
        self._waits: dict[str, tuple[Component, ...]] = {}

    @cached_property
    def members(self) -> Mapping[str, Component]:
        """What the engine reconciles: GitOps' own components, and those that it takes over."""
        return {
            each.name: each
            for each in self._facts.components
            if not cluster_facts.in_bootstrap(each) or cluster_facts.is_adopted(each)
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
        return (plan_context.adoption_id if cluster_facts.in_bootstrap(component) else plan_context.gitops_id)(
            component
        )

    def needs(self, component: Component) -> tuple[StepNeed, ...]:
        """What its step comes after."""
        needs = (*self._own(component), *self._waited(component), *self._applied(self._bringer(component), _DEEPEST))
        step = self.step(component)
        return (*plan_context.once(needs, besides=step), *self._known.of_itself(component, Side.GITOPS, step=step))

    def _own(self, component: Component) -> Iterator[StepNeed]:
        """What must be ready before it is applied."""
        # What a script says of a component that is left to GitOps counts too, as the order that it is.
        halves = (
            cluster_facts.origins(component, Side.GITOPS)
            if cluster_facts.in_bootstrap(component)
            else component.origins
        )
        declared = [(origin, need) for origin in halves for need in origin.needs]
        for origin, need in declared:
            other = self._facts.by_name.get(self._facts.by_origin.get(need.id, ""))
            if other is not None and other is not component:
                yield StepNeed(self._ready(other), need.why or "dependsOn", cluster_facts.tie(origin, need), need.place)
        if host := self._facts.by_name.get(component.part_of):
            # Bootstrap's half is enough, and is up by then; the engine waits for its own only where it is told to.
            is_up = cluster_facts.in_bootstrap(host)
            ready = plan_context.bootstrap_id(host) if is_up else self._ready(host)
            yield StepNeed(ready, f"it configures {host.name}", Tie.FACT)
        if not cluster_facts.in_bootstrap(component):
            explained = {self._facts.by_origin.get(need.id) for _, need in declared}
            for name in component.needs:
                if name not in explained and (other := self._facts.by_name.get(name)):
                    yield StepNeed(self._ready(other), "needs", Tie.DECLARED, self._facts.wished(component))
        yield from self._supplied(component)

    def _supplied(self, component: Component) -> Iterator[StepNeed]:
        """Secrets and values that another component of GitOps brings."""
        for demand, way in self._known.provisions.get((component.name, Side.GITOPS), ()):
            if way.standing != ProvisionStanding.GITOPS:
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
            yield StepNeed(self.step(child), why, Tie.WAITED, cluster_facts.place(component, Side.GITOPS))

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
        return self.step(component) if component.name in self.members else plan_context.bootstrap_id(component)

    def waits_for(self, component: Component) -> tuple[Component, ...]:
        """The children that must be ready before a Kustomization is: all with ``wait``, else the ones it names."""
        if component.name not in self._waits:
            self._waits[component.name] = self._waited_by(component)
        return self._waits[component.name]

    def _waited_by(self, component: Component) -> tuple[Component, ...]:
        waited: dict[str, Component] = {}
        for origin in cluster_facts.origins(component, Side.GITOPS):
            if origin.form != SourceForm.KUSTOMIZATION:
                continue
            spec = at(origin.definition, "spec")
            named = {(text(each, "kind"), text(each, "name")) for each in sequence(spec, "healthChecks")}
            for child in self.children.get(component.name, ()):
                kinds = {(each.form.value, each.name) for each in cluster_facts.origins(child, Side.GITOPS)}
                if at(spec, "wait") is True or kinds & named:
                    waited[child.name] = child
        return tuple(waited.values())


def gitops_steps(known: PlanContext, tree: EngineTree) -> list[Step]:
    """A step for each component that only GitOps has."""
    return [
        Step(
            id=plan_context.gitops_id(each),
            phase=Phase.GITOPS,
            action=Action.WATCH,
            name=each.name,
            component=each.name,
            side=Side.GITOPS,
            what=_what(each),
            needs=tree.needs(each),
            gates=plan_context.gitops_gates(each),
            creates=_creates(known, each),
            place=cluster_facts.place(each, Side.GITOPS),
        )
        for each in known.facts.gitops
    ]


def _what(component: Component) -> str:
    form = (
        cluster_facts.origins(component, Side.GITOPS)[0].form if cluster_facts.origins(component, Side.GITOPS) else ""
    )
    return " ".join(each for each in (form, component.version) if each)


def _creates(known: PlanContext, component: Component) -> tuple[ObjectId, ...] | None:
    rendition = known.facts.rendition(component, Side.GITOPS)
    return None if rendition is None else tuple(each.id for each in rendition.objects)


# The passing of objects from bootstrap to the engine: predict, save, migrate, root object, adopt, release, prove.


def handover_steps(known: PlanContext, tree: EngineTree, before: list[Step]) -> list[Step]:
    """The steps of the phase; without an engine there is nobody to hand over to."""
    if not known.engines and not known.facts.gitops:
        return []
    adopted = [each for each in known.facts.bootstrap if cluster_facts.is_adopted(each)]
    found = [_baseline(known, before)]
    if adopted:
        found.append(_owners(known, adopted))
    found.append(_root(known, found[-1]))
    found += [_adoption(tree, each) for each in adopted]
    if inline := [each for each in adopted if cluster_facts.is_inline(each)]:
        found.append(_release(known, inline))
    if adopted:
        proven = [each.id for each in found if each.action in (Action.WATCH_ADOPTION, Action.RELEASE)]
        found.append(_certificate(known, [*proven, *_besides(known, tree, before)]))
    return found


def _besides(known: PlanContext, tree: EngineTree, before: list[Step]) -> list[str]:
    """The steps of what GitOps alone deploys and yet has a namespace or a CRD that bootstrap has created for it."""
    made = [each for step in before for each in step.creates or ()]
    names = dict.fromkeys(each.component for each in final_owners.passing_objects(known.facts, made))
    return [tree.step(known.facts.by_name[each]) for each in names if each in tree.members]


def _baseline(known: PlanContext, before: list[Step]) -> Step:
    why = "everything that bootstrap installs is there before Git takes over"
    # Workers join whenever they are ready; what needs one waits for it itself.
    needs = tuple(StepNeed(each.id, why, Tie.RUN) for each in before if each.id != plan_context.WORKERS)
    return Step(
        id=plan_context.BASELINE, phase=Phase.HANDOVER, action=Action.SAVE_BASELINE, name="baseline", needs=needs,
        what="what the engine will change, and everything as it is now", gates=(Gate(Subject.BASELINE),),
        place=known.facts.cluster.place,
    )  # fmt: skip


def _owners(known: PlanContext, adopted: list[Component]) -> Step:
    return Step(
        id=plan_context.OWNERS, phase=Phase.HANDOVER, action=Action.MIGRATE_OWNERS, name="owners",
        what=", ".join(each.name for each in adopted), targets=tuple(each.name for each in adopted),
        needs=(StepNeed(plan_context.BASELINE, "no owner changes before the baseline is saved", Tie.RUN),),
        gates=(Gate(Subject.OWNERS),), place=known.facts.cluster.place,
    )  # fmt: skip


def _root(known: PlanContext, last: Step) -> Step:
    cluster = known.facts.cluster
    noun = {"flux": "root Kustomization", "argocd": "root Application"}.get(cluster.engine or "", "root object")
    return Step(
        id=plan_context.ROOT, phase=Phase.HANDOVER, action=Action.CREATE_ROOT, name="root", gates=(Gate(Subject.ROOT),),
        what=" ".join(each for each in (noun, cluster.path) if each),
        needs=(StepNeed(last.id, "nothing is reconciled before", Tie.RUN),), place=known.facts.said("path"),
    )  # fmt: skip


def _adoption(tree: EngineTree, component: Component) -> Step:
    return Step(
        id=plan_context.adoption_id(component), phase=Phase.HANDOVER, action=Action.WATCH_ADOPTION, name=component.name,
        component=component.name, side=component.side, what=component.version, needs=tree.needs(component),
        gates=(Gate(Subject.ADOPTION, component.name), *plan_context.gitops_gates(component)),
        place=cluster_facts.place(component, Side.GITOPS),
    )  # fmt: skip


def _release(known: PlanContext, inline: list[Component]) -> Step:
    why = "only what the engine owns is released"
    return Step(
        id=plan_context.RELEASE, phase=Phase.HANDOVER, action=Action.RELEASE, name="release",
        what=", ".join(each.name for each in inline), targets=tuple(each.name for each in inline),
        gates=(Gate(Subject.INVENTORY),),
        needs=tuple(StepNeed(plan_context.adoption_id(each), why, Tie.RUN) for each in inline),
        place=known.facts.cluster.place,
    )  # fmt: skip


def _certificate(known: PlanContext, proven: list[str]) -> Step:
    needs = tuple(StepNeed(each, "it proves the whole handover", Tie.RUN) for each in dict.fromkeys(proven))
    return Step(
        id=plan_context.CERTIFICATE, phase=Phase.HANDOVER, action=Action.CERTIFY, name="certificate", needs=needs,
        gates=(Gate(Subject.CERTIFICATE),), place=known.facts.cluster.place,
    )  # fmt: skip


def with_the_way_there(steps: list[Step]) -> list[Step]:
    """What the engine must bring before it can adopt belongs to the handover as well."""
    by_id = {each.id: each for each in steps}
    wanted = [need.step for each in steps if each.phase == Phase.HANDOVER for need in each.needs]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen or name not in by_id or by_id[name].phase != Phase.GITOPS:
            continue
        seen.add(name)
        wanted += [need.step for need in by_id[name].needs]
    return [dataclasses.replace(each, phase=Phase.HANDOVER) if each.id in seen else each for each in steps]
