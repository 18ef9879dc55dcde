"""A platform, and what was rendered of it, made the plan of one cluster: every step, and everything in its way."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase, Side
from firstlight.model.plan import Link, Plan, Problem, Severity, Step, Tie
from firstlight.model.platform import Platform
from firstlight.model.remark import Grade
from firstlight.model.rendition import Rendition
from firstlight.plan import (
    cycles,
    deadlocks,
    early,
    facts,
    foundation,
    network,
    scheduling,
    smallest,
    versions,
    webhooks,
)
from firstlight.plan.ground import Ground
from firstlight.plan.stages import bootstrap, gitops, handover, machine

_PHASES = list(Phase)
_SEVERITIES = list(Severity)
_SOFT = (Tie.ORDER, Tie.LIKELY)
"""Ties that give way to others, the surer one first."""


def build(platform: Platform, cluster: Cluster, *, renditions: Iterable[Rendition] = ()) -> Plan:
    """The plan of a cluster; with renditions it knows objects, and finds more.

    Args:
        platform: What was read.
        cluster: One of its clusters.
        renditions: What components deploy, of this and other clusters.
    """
    known = Ground(facts.of(platform, cluster, renditions))
    steps = _steps(known)
    found = [*_problems(known, steps)]
    least = smallest.of(known, steps, found)
    found += smallest.spare(known, least)
    return Plan(
        cluster=cluster.name,
        steps=tuple(steps),
        problems=tuple(sorted(dict.fromkeys(found), key=lambda each: _SEVERITIES.index(each.severity))),
        smallest=least,
        is_rendered=bool(known.facts.renditions),
    )


def _steps(known: Ground) -> list[Step]:
    first = [*machine.steps(known), *bootstrap.steps(known)]
    tree = gitops.Tree(known)
    steps = [*first, *handover.steps(known, tree, first), *gitops.steps(known, tree)]
    there = {each.id for each in steps}
    steps = [_whole(each, there) for each in steps]
    steps = handover.with_the_way_there(_without_contradictions(steps))
    return sorted(steps, key=lambda each: _PHASES.index(each.phase))


def _whole(step: Step, there: set[str]) -> Step:
    """A step without needs that no step stands for, such as a network that is missing: a problem tells of them."""
    return dataclasses.replace(step, needs=tuple(each for each in step.needs if each.step in there))


def _without_contradictions(steps: Sequence[Step]) -> list[Step]:
    """Steps without the needs that are only likely and contradict what is known."""
    needs = {each.id: {need.step for need in each.needs if need.tie not in _SOFT} for each in steps}
    for tie in _SOFT:
        for step in steps:
            for need in step.needs:
                if need.tie == tie and not cycles.reaches(need.step, step.id, needs):
                    needs[step.id].add(need.step)
    return [
        dataclasses.replace(each, needs=tuple(need for need in each.needs if need.step in needs[each.id]))
        for each in steps
    ]


def _problems(known: Ground, steps: Sequence[Step]) -> Iterator[Problem]:
    yield from _no_engine(known)
    yield from cycles.problems(steps)
    yield from cycles.missing(known.facts)
    yield from deadlocks.problems(known)
    yield from network.problems(known.facts)
    yield from scheduling.problems(known.facts)
    yield from webhooks.problems(known.facts)
    yield from foundation.problems(known.facts)
    yield from early.problems(known)
    yield from _halves(known)
    yield from _unrendered(known)
    yield from versions.problems(known.facts)
    yield from _omni(known)


def _omni(known: Ground) -> Iterator[Problem]:
    """That what Omni does cannot be tried before."""
    cluster = known.facts.cluster
    if cluster.omni_template:
        yield Problem(
            rule="not-rehearsed",
            severity=Severity.INFO,
            message="Omni: not rehearsed. It configures the machines and bootstraps etcd by itself",
            chain=(Link(cluster.omni_template, "is the Omni template", cluster.place),),
            way_out="firstlight lab omni TEMPLATE merges its patches as Omni would, and starts what comes of it.",
        )


def _halves(known: Ground) -> Iterator[Problem]:
    """Components that bootstrap and GitOps declare in two versions; a range may mean both."""
    for component in known.facts.bootstrap:
        first, then = facts.versions(component)
        if first.removeprefix("v") != then.removeprefix("v") and versions.minor(first) and versions.minor(then):
            places = [half[0].place for half in component.halves]
            yield Problem(
                rule="halves-differ",
                severity=Severity.INFO,
                message=f"{component.name} is {first} in bootstrap and {then} in GitOps: "
                "the first reconcile changes it at once",
                chain=(
                    Link(component.name, f"{first} in bootstrap", places[0]),
                    Link(component.name, f"{then} in GitOps", places[1]),
                ),
                way_out="Let bootstrap read the version that Git has; firstlight boundary shows what differs.",
                component=component.name,
            )


def _unrendered(known: Ground) -> Iterator[Problem]:
    """What could not be rendered, so that the plan knows only what the repo says of it."""
    for side, severity in ((Side.BOOTSTRAP, Severity.WARNING), (Side.GITOPS, Severity.INFO)):
        failed = [
            (name, next(each for each in rendition.remarks if each.grade == Grade.ERROR))
            for (name, other), rendition in known.facts.renditions.items()
            if other == side and any(each.grade == Grade.ERROR for each in rendition.remarks)
        ]
        if failed:
            names = ", ".join(name for name, _ in failed[:3]) + (f" and {len(failed) - 3} more" if failed[3:] else "")
            yield Problem(
                rule="not-rendered",
                severity=severity,
                message=f"{names} could not be rendered for {side}: only what the repo says of them is known",
                chain=tuple(Link(name, remark.message, remark.place) for name, remark in failed),
                way_out="See firstlight render.",
            )


def _no_engine(known: Ground) -> Iterator[Problem]:
    cluster = known.facts.cluster
    if known.engines or not known.facts.gitops:
        return
    name = {"flux": "Flux", "argocd": "Argo CD"}.get(cluster.engine or "", "a GitOps engine")
    yield Problem(
        rule="engine-missing",
        severity=Severity.ERROR,
        message=f"nothing in bootstrap installs {name}: the run would end before GitOps begins",
        chain=(
            Link(cluster.name, f"has {_counted(len(known.facts.gitops))} that only GitOps brings", cluster.place),
            Link("bootstrap", "has no engine"),
        ),
        way_out=f"Give the component that installs {name} the phase engine in firstlight.yaml.",
    )


def _counted(number: int) -> str:
    return "1 component" if number == 1 else f"{number} components"
