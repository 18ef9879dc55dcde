"""A platform, and what was rendered of it, made the plan of one cluster: every step, and everything in its way."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from firstlight.model import versions
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Owner, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.plan import Plan, Smallest, Step, Tie
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.plan import (
    bootstrap_steps,
    cluster_facts,
    cycles,
    deadlocks,
    gitops_steps,
    machine_checks,
    network,
    plan_context,
    scheduling,
    talos_conflicts,
    version_matrix,
)
from firstlight.plan.plan_context import PlanContext

_PHASES = list(Phase)
_SOFT = (Tie.ORDER, Tie.LIKELY)
"""Ties that give way to others, the surer one first."""


def build(platform: Platform, cluster: Cluster, *, renditions: Iterable[Rendition] = ()) -> Plan:
    """The plan of a cluster; with renditions it knows objects, and finds more.

    Args:
        platform: What was read.
        cluster: One of its clusters.
        renditions: What components deploy, of this and other clusters.
    """
    known = PlanContext(cluster_facts.of(platform, cluster, renditions))
    steps = _steps(known)
    found = [*_problems(known, steps)]
    least = smallest_set(known, steps, found)
    found += spare_problems(known, least)
    return Plan(
        cluster=cluster.name,
        steps=tuple(steps),
        problems=tuple(sorted(dict.fromkeys(found), key=lambda each: -each.severity.rank)),
        smallest=least,
        is_rendered=bool(known.facts.renditions),
    )


def _steps(known: PlanContext) -> list[Step]:
    first = [*bootstrap_steps.machine_steps(known), *bootstrap_steps.bootstrap_steps(known)]
    tree = gitops_steps.EngineTree(known)
    steps = [*first, *gitops_steps.handover_steps(known, tree, first), *gitops_steps.gitops_steps(known, tree)]
    there = {each.id for each in steps}
    steps = [_whole(each, there) for each in steps]
    steps = gitops_steps.with_the_way_there(_without_contradictions(steps))
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


def _problems(known: PlanContext, steps: Sequence[Step]) -> Iterator[Diagnostic]:
    yield from machine_checks.problems([known.facts.cluster])
    yield from _no_engine(known)
    yield from cycles.problems(steps)
    yield from cycles.missing(known.facts)
    yield from deadlocks.deadlock_problems(known)
    yield from network.problems(known.facts)
    yield from scheduling.problems(known.facts)
    yield from talos_conflicts.problems(known.facts)
    yield from deadlocks.webhook_problems(known.facts)
    yield from deadlocks.foundation_problems(known.facts)
    yield from deadlocks.early_problems(known)
    yield from _halves(known)
    yield from _left_with_bootstrap(known)
    yield from known.facts.manual if known.facts.bootstrap else ()
    yield from _unrendered(known)
    yield from version_matrix.problems(known.facts)
    yield from _omni(known)


def _omni(known: PlanContext) -> Iterator[Diagnostic]:
    """That what Omni does cannot be tried before."""
    cluster = known.facts.cluster
    if cluster.omni_template:
        yield Diagnostic.note(
            "not-rehearsed",
            "Omni: not rehearsed. It configures the machines and bootstraps etcd by itself",
            evidence=(Evidence("is the Omni template", cluster.place, where=cluster.omni_template),),
            fix="firstlight lab omni TEMPLATE merges its patches as Omni would, and starts what comes of it.",
        )


def _halves(known: PlanContext) -> Iterator[Diagnostic]:
    """Components that bootstrap and GitOps declare in two versions; a range may mean both."""
    for component in known.facts.bootstrap:
        first, then = cluster_facts.versions(component)
        if first.removeprefix("v") != then.removeprefix("v") and versions.minor(first) and versions.minor(then):
            places = [half[0].place for half in component.halves]
            yield Diagnostic.note(
                "halves-differ",
                f"{component.name} is {first} in bootstrap and {then} in GitOps: "
                "the first reconcile changes it at once",
                evidence=(
                    Evidence(f"{first} in bootstrap", places[0], where=component.name),
                    Evidence(f"{then} in GitOps", places[1], where=component.name),
                ),
                fix="Let bootstrap read the version that Git has; firstlight boundary shows what differs.",
                subject=component.name,
            )


def _left_with_bootstrap(known: PlanContext) -> Iterator[Diagnostic]:
    """Components that Git is to own in the end, and that nothing which Git applies deploys."""
    doubts = [
        Evidence(origin.doubt, origin.place, where=each.name)
        for each in known.facts.gitops
        for origin in each.origins
        if origin.doubt
    ]
    for component in known.facts.bootstrap:
        is_kept = component.phase != Phase.CRDS and component.owner is Owner.GITOPS
        if is_kept and not cluster_facts.is_adopted(component) and known.facts.gitops:
            yield Diagnostic.warning(
                "owner-without-source",
                f"Git is to own {component.name} in the end, and nothing that Git applies deploys it: "
                "it stays with bootstrap",
                evidence=(
                    *(Evidence("is bootstrap's", each.place, where=component.name) for each in component.origins),
                    *doubts,
                ),
                fix=f"Let the engine apply what {component.name} is made from, or set owner: bootstrap.",
                subject=component.name,
            )


def _unrendered(known: PlanContext) -> Iterator[Diagnostic]:
    """What could not be rendered, so that the plan knows only what the repo says of it."""
    for side, severity in ((Side.BOOTSTRAP, Severity.WARNING), (Side.GITOPS, Severity.NOTE)):
        failed = [
            (name, next(each for each in rendition.diagnostics if each.severity == Severity.ERROR))
            for (name, other), rendition in known.facts.renditions.items()
            if other == side and any(each.severity == Severity.ERROR for each in rendition.diagnostics)
        ]
        if failed:
            names = ", ".join(name for name, _ in failed[:3]) + (f" and {len(failed) - 3} more" if failed[3:] else "")
            yield Diagnostic(
                code="not-rendered",
                severity=severity,
                message=f"{names} could not be rendered for {side}: only what the repo says of them is known",
                evidence=tuple(
                    Evidence(diagnostic.message, diagnostic.place, where=name) for name, diagnostic in failed
                ),
                fix="See firstlight render.",
            )


def _no_engine(known: PlanContext) -> Iterator[Diagnostic]:
    cluster = known.facts.cluster
    if known.engines or not known.facts.gitops:
        return
    name = {"flux": "Flux", "argocd": "Argo CD"}.get(cluster.engine or "", "a GitOps engine")
    # Of a cluster whose machines are elsewhere, the installation of its engine may be, too.
    is_elsewhere = not (known.facts.has_talos or cluster.omni_template)
    yield Diagnostic(
        code="bootstrap-without-engine",
        severity=Severity.WARNING if is_elsewhere else Severity.ERROR,
        message=f"nothing in this repo installs {name}: it must be there before the run, which only begins GitOps"
        if is_elsewhere
        else f"nothing in bootstrap installs {name}: the run would end before GitOps begins",
        evidence=(
            Evidence(
                f"has {_counted(len(known.facts.gitops))} that only GitOps brings", cluster.place, where=cluster.name
            ),
            Evidence("has no engine", where="bootstrap"),
        ),
        fix=_how_to_install(known, name),
    )


def _how_to_install(known: PlanContext, name: str) -> str:
    """Return what makes bootstrap install the engine: what Git brings of it can, but not the root that it follows."""
    candidates = [
        each.name
        for each in known.facts.gitops
        if each.role == "engine"
        and not each.part_of
        and any(origin.form is not SourceForm.KUSTOMIZATION for origin in each.origins)
    ]
    if len(candidates) == 1:
        return (
            f"Write components: {{{candidates[0]}: {{phase: engine}}}} in firstlight.yaml: bootstrap installs it first."
        )
    return f"Give the component that installs {name} the phase engine in firstlight.yaml."


def _counted(number: int) -> str:
    return "1 component" if number == 1 else f"{number} components"


# The smallest bootstrap set: what the engine cannot work without, by what things are and what objects refer to.
#
# What the repo declares as a need is not counted: Flux that is installed after cert-manager need not need it.


_MISSING = {"cni-missing": "a CNI", "dns-missing": "cluster DNS", "bootstrap-without-engine": "an engine"}


def smallest_set(known: PlanContext, steps: Sequence[Step], problems: Iterable[Diagnostic]) -> Smallest:
    """What is needed, what of it is missing, and what is there without need."""
    if not known.engines:
        return Smallest(missing=tuple(_MISSING[each.code] for each in problems if each.code in _MISSING))
    needed = _closure(known, steps)
    mine = [each for each in known.facts.bootstrap if each.phase != Phase.MACHINE]
    others = [each for each in mine if each.name not in needed]
    # Whose kinds somebody uses is not known before everything that is needed was rendered.
    is_sure = all(known.facts.rendition(each, Side.BOOTSTRAP) for each in mine if each.name in needed)
    unknown = [each.name for each in others if each.phase == Phase.CRDS and not is_sure]
    return Smallest(
        needed=tuple(each.name for each in mine if each.name in needed),
        missing=tuple(dict.fromkeys(_missing(known, needed, problems))),
        spare=tuple(each.name for each in others if each.name not in unknown),
        unknown=tuple(unknown),
    )


def _closure(known: PlanContext, steps: Sequence[Step]) -> set[str]:
    by_id = {each.id: each for each in steps}
    waiting = [plan_context.SOURCE, *(plan_context.bootstrap_id(each) for each in known.engines)]
    seen: set[str] = set()
    while waiting:
        step = by_id.get(name := waiting.pop())
        if name in seen or step is None:
            continue
        seen.add(name)
        waiting += [need.step for need in step.needs if need.tie == Tie.FACT]
    return {by_id[name].component for name in seen} - {""}


def _missing(known: PlanContext, needed: set[str], problems: Iterable[Diagnostic]) -> Iterable[str]:
    later = {each.name for each in known.facts.gitops}
    for each in problems:
        if each.code in _MISSING:
            yield each.subject or _MISSING[each.code]
        elif each.severity == Severity.ERROR and each.subject in needed:
            yield from (link.where for link in each.evidence if link.where in later)


def spare_problems(known: PlanContext, found: Smallest) -> list[Diagnostic]:
    """What bootstrap has without need, as information."""
    return [_spare(known.facts.by_name[name]) for name in found.spare]


def _spare(component: Component) -> Diagnostic:
    declared = f" ({component.why})" if component.is_why_declared else ""
    return Diagnostic.note(
        "without-need",
        f"{component.name} is in bootstrap{declared}, and nothing that the engine needs uses it",
        evidence=(Evidence(component.why, cluster_facts.place(component, Side.BOOTSTRAP), where=component.name),),
        fix="Nothing must be done; it could as well be left to GitOps.",
        subject=component.name,
    )
