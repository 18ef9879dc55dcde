"""Dependency analysis of a move: two plans of a cluster in, who needs the component and what would deadlock out."""

import dataclasses
from collections.abc import Iterable, Sequence

from firstlight.model.component import Component, Origin, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.move import BootstrapDependent, MoveAnalysis, MoveRequest, Seat
from firstlight.model.plan import Plan, Tie
from firstlight.plan import cluster_facts

_TOLD = (Severity.ERROR, Severity.WARNING)


def seat_of(component: Component) -> Seat:
    """Where a component is."""
    if not cluster_facts.in_bootstrap(component):
        return Seat.GITOPS
    return Seat.KEPT if component.owner == Owner.BOOTSTRAP else Seat.HANDED_OVER


def analyse(
    component: Component, components: Sequence[Component], *, seat: Seat, before: Plan, after: Plan
) -> MoveAnalysis:  # fmt: skip
    """What a move means for a cold start.

    Args:
        component: As it would be.
        components: All of its cluster, as they would be.
        seat: Where it is now.
        before: The plan of the cluster as the repo has it.
        after: The plan of the cluster as it would be.
    """
    late = tuple(_late(component, components)) if seat is Seat.GITOPS and cluster_facts.in_bootstrap(component) else ()
    return MoveAnalysis(
        cluster=after.cluster, before=seat, after=seat_of(component),
        is_needed=component.name in before.smallest.needed, users=tuple(_users(component.name, before)),
        new=(*late, *beyond(after.problems, (*before.problems, *late))),
        solved=beyond(before.problems, after.problems), is_rendered=after.is_rendered,
    )  # fmt: skip


def imagined(component: Component, wish: MoveRequest) -> Component:
    """A component as it would be read if the repo said what is wished, where a person has to write it."""
    early, late = component.halves
    first = component.origins[0]
    if wish.seat is Seat.GITOPS:
        brought = late or (dataclasses.replace(first, form=SourceForm.KUSTOMIZATION, side=Side.GITOPS, phase=None),)
        return dataclasses.replace(
            component, phase=Phase.GITOPS, side=Side.GITOPS, owner=Owner.GITOPS, origins=brought, hooks=()
        )  # fmt: skip
    own = Origin(
        form=SourceForm.DECLARED,
        side=Side.BOOTSTRAP,
        place=first.place,
        name=component.name,
        cluster=component.cluster,
        phase=wish.phase,
        source=first.source,
        version=first.version,
    )
    return dataclasses.replace(
        component, phase=component.phase if early else wish.phase, side=Side.HYBRID if late else Side.BOOTSTRAP,
        owner=Owner.BOOTSTRAP if wish.seat is Seat.KEPT else Owner.GITOPS, why=wish.why or component.why,
        origins=component.origins if early else (own, *late),
    )  # fmt: skip


def _late(component: Component, components: Sequence[Component]) -> Iterable[Diagnostic]:
    """What Git says that it needs, and bootstrap does not bring: itself, or all that it brings in turn."""
    by_name = {each.name: each for each in components}
    for name in component.needs:
        other = by_name.get(name)
        if other is None or cluster_facts.in_bootstrap(other):
            continue
        children = [each for each in components if each.parent == name]
        if children and all(cluster_facts.in_bootstrap(each) for each in children):
            continue
        yield Diagnostic.error(
            "needs-gitops",
            f"{component.name} is in bootstrap and needs {name}, which only GitOps brings",
            evidence=(
                Evidence(f"needs {name}", cluster_facts.place(component, Side.GITOPS), where=component.name),
                Evidence("is brought by GitOps", cluster_facts.place(other, Side.GITOPS), where=name),
            ),
            fix=f"Move {name} first (firstlight move {name} --to bootstrap), or take the need away.",
            subject=component.name,
        )


def _users(name: str, plan: Plan) -> Iterable[BootstrapDependent]:
    """Steps of bootstrap that need a step of the component."""
    own = {each.id for each in plan.steps if each.component == name}
    early = [
        each for each in plan.steps if each.phase in cluster_facts.BOOTSTRAP_PHASES and each.component not in ("", name)
    ]
    for step in early:
        for need in step.needs:
            if need.step in own:
                why = f"{need.why}: {need.thing}" if need.thing not in ("", need.why) else need.why
                yield BootstrapDependent(name=step.component, why=why, place=need.place, is_fact=need.tie == Tie.FACT)
                break


def beyond(found: Iterable[Diagnostic], known: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Problems that are not among others, wherever their lines are by now."""
    there = {(each.code, each.severity, each.subject, each.message) for each in known}
    return tuple(
        each
        for each in found
        if each.severity in _TOLD and (each.code, each.severity, each.subject, each.message) not in there
    )
