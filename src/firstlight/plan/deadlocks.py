"""Cold-start deadlocks: bootstrap needs what only GitOps brings, and GitOps begins when bootstrap has ended."""

import dataclasses
from collections.abc import Iterable, Iterator

from firstlight.model.component import Component, Phase, Side
from firstlight.model.plan import Link, Problem, Severity, Tie
from firstlight.plan import facts
from firstlight.plan import known as catalogue
from firstlight.plan.ground import Ground
from firstlight.plan.provision import Provision, Standing
from firstlight.plan.stages import bootstrap
from firstlight.plan.things import Demand, Sort, Supply, Thing

RULES = {
    Sort.SECRET: "secret-from-gitops",
    Sort.CONFIG_MAP: "config-from-gitops",
    Sort.KIND: "kind-from-gitops",
    Sort.OPERATOR: "operator-from-gitops",
    Sort.STORE: "store-from-gitops",
    Sort.STORAGE_CLASS: "storage-from-gitops",
    Sort.PRIORITY_CLASS: "priority-from-gitops",
    Sort.SERVICE: "webhook-before-service",
    Sort.HOST: "host-from-inside",
}
"""What a problem is called, by what comes too late."""


def problems(known: Ground) -> Iterator[Problem]:
    """Everything that bootstrap needs and only GitOps brings, and kinds that nobody brings."""
    for component in known.facts.bootstrap:
        yield from _declared(known, component)
        for demand, way in _together(known.provisions.get((component.name, Side.BOOTSTRAP), ())):
            if way.standing == Standing.GITOPS:
                yield _late(known, component, demand, way)
            elif way.standing == Standing.NOWHERE:
                yield from _nowhere(known, component, demand)
            elif component.phase == Phase.INLINE and demand.thing.sort == Sort.KIND:
                yield from _after_inline(known, component, demand, way)


def _together(ways: Iterable[tuple[Demand, Provision]]) -> Iterator[tuple[Demand, Provision]]:
    """What is needed for sure; kinds of one group that come from one place are one demand."""
    found: dict[tuple[object, ...], list[tuple[Demand, Provision]]] = {}
    for demand, way in ways:
        if demand.is_soft:
            continue
        key: tuple[object, ...] = (demand.thing,)
        if demand.thing.sort == Sort.KIND:
            group = demand.thing.name.rpartition("/")[0]
            key = (group, way.standing, demand.severity, tuple(each.component for each in way.chain))
        found.setdefault(key, []).append((demand, way))
    for same in found.values():
        demand, way = same[0]
        if len(same) > 1:
            group = demand.thing.name.rpartition("/")[0]
            kinds = ", ".join(each.thing.name.rpartition("/")[2] for each, _ in same)
            demand = dataclasses.replace(demand, thing=Thing(Sort.KIND, f"{group}/{kinds}"))
        yield demand, way


def _declared(known: Ground, component: Component) -> Iterator[Problem]:
    """A component that declares to need one that only GitOps has."""
    for name, need in bootstrap.declared(known, component):
        other = known.facts.by_name.get(name)
        if other is not None and not facts.in_bootstrap(other) and need.tie == Tie.DECLARED:
            yield Problem(
                rule="needs-gitops",
                severity=Severity.ERROR,
                message=f"{component.name} is in bootstrap and needs {name}, which only GitOps brings",
                chain=(
                    Link(component.name, f"needs {name}{'' if need.why == 'needs' else f': {need.why}'}", need.place),
                    Link(name, "is brought by GitOps", facts.place(other, Side.GITOPS)),
                    *_round(component.name),
                ),
                way_out=f"Install {name} in bootstrap too (components.{name}.phase: core), or take the need away.",
                component=component.name,
            )


def _round(name: str) -> tuple[Link, ...]:
    """The end of every such chain."""
    return (Link("gitops", f"begins when all of bootstrap is up, {name} among it"),)


def _late(known: Ground, component: Component, demand: Demand, way: Provision) -> Problem:
    late = next(each for each in way.chain if each.side == Side.GITOPS)
    links = [Link(component.name, demand.how, demand.place)]
    links += [Link(each.component or "foundation", _brings(each), each.place) for each in way.chain]
    return Problem(
        rule=RULES[demand.thing.sort],
        severity=Severity.WARNING if _is_tried_again(component, demand) else demand.severity,
        message=f"{component.name} is in bootstrap and needs {demand.thing}, which only GitOps brings",
        chain=(*links, *_round(component.name)),
        way_out=_way_out(component, demand, late),
        component=component.name,
    )


def _is_tried_again(component: Component, demand: Demand) -> bool:
    """Whether nothing else is held up: Talos applies the rest and tries again. Not so with a component's own kinds."""
    about = catalogue.of(component)
    is_own = about is not None and demand.thing.name.rpartition("/")[0] in about[1].operates
    return component.phase == Phase.INLINE and demand.thing.sort == Sort.KIND and not is_own


def _brings(supply: Supply) -> str:
    side = " in GitOps" if supply.side == Side.GITOPS else ""
    return " ".join(each for each in (f"brings {supply.thing}", supply.how) if each) + side


def _way_out(component: Component, demand: Demand, late: Supply) -> str:
    name, thing = late.component, demand.thing
    # An engine that is left to GitOps would never come.
    install = f"nstall {name} in bootstrap too"
    or_leave = "" if component.role == "engine" else f", or leave {component.name} to GitOps"
    match thing.sort:
        case Sort.SECRET | Sort.CONFIG_MAP:
            return f"Put {thing} into the foundation (secrets: in firstlight.yaml), or i{install}{or_leave}."
        case Sort.KIND:
            group = thing.name.rpartition("/")[0]
            return (
                f"Apply the CRDs of {group} in the phase crds, install {name} in bootstrap too, "
                f"or switch these objects off in {component.name}."
            )
        case Sort.HOST:
            return f"Fetch it from outside the cluster for the start, or install {name} in bootstrap too."
        case Sort.SERVICE:
            return f"Let {name} bring the webhook too, or give it failurePolicy: Ignore."
        case Sort.STORAGE_CLASS:
            return f"Install {name} in bootstrap too, or let {component.name} start without a volume."
    return f"I{install}{or_leave}."


def _nowhere(known: Ground, component: Component, demand: Demand) -> Iterator[Problem]:
    """Kinds, stores and classes that nothing brings; Secrets may be made by the component itself when it runs."""
    thing = demand.thing
    if thing.sort in (Sort.HOST, Sort.CONFIG_MAP):
        return
    if thing.sort == Sort.SECRET and not demand.by_rendering:
        yield Problem(
            rule="secret-unknown",
            severity=Severity.INFO,
            message=f"{component.name} needs {thing}, which nothing in the repo brings; perhaps it makes it itself",
            chain=(Link(component.name, demand.how, demand.place),),
            way_out="If it does not: put it into the foundation (secrets: in firstlight.yaml).",
            component=component.name,
        )
        return
    if thing.sort == Sort.OPERATOR and known.facts.unrendered:
        return
    unsure = [each for each in known.facts.unrendered if each != component.name]
    severity = Severity.WARNING if unsure or _is_tried_again(component, demand) else demand.severity
    doubt = f"; {len(unsure)} components were not rendered and may bring it" if unsure else ""
    yield Problem(
        rule=f"{RULES[thing.sort].partition('-')[0]}-from-nowhere",
        severity=severity,
        message=f"{component.name} needs {thing}, which nothing in the repo brings{doubt}",
        chain=(Link(component.name, demand.how, demand.place),),
        way_out=_from_nowhere(component, demand),
        component=component.name,
    )


def _from_nowhere(component: Component, demand: Demand) -> str:
    match demand.thing.sort:
        case Sort.KIND:
            group = demand.thing.name.rpartition("/")[0]
            return f"Add the CRDs of {group} to the phase crds, or switch these objects off in {component.name}."
        case Sort.SECRET:
            return "Put it into the foundation (secrets: in firstlight.yaml), or into Git, encrypted."
    return f"Add it to bootstrap, or let {component.name} do without."


def _after_inline(known: Ground, component: Component, demand: Demand, way: Provision) -> Iterator[Problem]:
    """What Talos applies finds only kinds that Talos applied before it."""
    supply = way.chain[0]
    other = known.facts.by_name.get(supply.component)
    if other is None or other.phase == Phase.INLINE:
        return
    yield Problem(
        rule="inline-kind-late",
        severity=Severity.WARNING if _is_tried_again(component, demand) else demand.severity,
        message=f"{component.name} is inline and needs {demand.thing}, "
        f"which comes after it, in the phase {other.phase}",
        chain=(
            Link(component.name, demand.how, demand.place),
            Link(other.name, f"{_brings(supply)} in the phase {other.phase}", supply.place),
        ),
        way_out=f"Embed these CRDs too, before {component.name}: firstlight render --inline does it.",
        component=component.name,
    )
