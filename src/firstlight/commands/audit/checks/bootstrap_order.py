"""What the plan of a cluster finds already, as findings: it knows the order of a run, and rules need not."""

import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

from firstlight.commands.audit.bootstrap_needs import comes_after, reaches, users
from firstlight.commands.audit.rule_form import AuditRule
from firstlight.document.within import sequence, text
from firstlight.model.component import Component, Origin, Phase, Side, SourceForm
from firstlight.model.diagnostic import Diagnostic, Evidence, Severity
from firstlight.model.fact import Fact
from firstlight.model.finding import Finding
from firstlight.model.place import Place
from firstlight.plan import cluster_facts, deadlocks, well_known
from firstlight.plan.cluster_facts import ClusterFacts
from firstlight.repo.platform_view import PlatformView


def plan_problems(
    rule: AuditRule, scene: PlatformView, *rules: str, severity: Severity | None = None
) -> Iterator[Finding]:
    """The problems of plans that have one of these rules."""
    for cluster, plan in scene.plans.items():
        for problem in plan.problems:
            if problem.code in rules:
                # A plan knows how sure it is: what rests on a default that may not hold is milder there.
                yield problem_finding(rule, problem, cluster, scene, severity=severity or problem.severity)


def problem_finding(
    rule: AuditRule, problem: Diagnostic, cluster: str, scene: PlatformView, *, severity: Severity | None = None
) -> Finding:
    """What a plan has found, as the place where a rule fits."""
    said = next((each.place for each in problem.evidence if each.place is not None), None)
    return rule.finding(
        problem.message,
        at=said or _declared(scene, cluster),
        clusters=(cluster,),
        subject=problem.subject,
        evidence=tuple(Evidence(f"{each.where} {each.text}".strip(), each.place) for each in problem.evidence),
        fix=problem.fix,
        severity=severity,
        rests=(problem.basis,),
    )


def _declared(scene: PlatformView, cluster: str) -> Place:
    found = scene.platform.cluster(cluster)
    return found.place if found else Place(".")


def _not_judged(rule: AuditRule, scene: PlatformView, of: Callable[[ClusterFacts], Fact[Any]]) -> Iterator[Finding]:
    """That a plan could not say it, since nobody knows what Talos brings to a cluster that has a bootstrap here."""
    for cluster in scene.clusters:
        facts = scene.facts[cluster.name]
        known = of(facts)
        if facts.has_talos and facts.bootstrap and not known.is_known:
            message = "what Talos brings is not known"
            yield rule.finding(message, at=known.place or cluster.place, clusters=(cluster.name,), rests=(known,))


def cni_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Talos's flannel beside another network plugin."""
    yield from plan_problems(rule, scene, "cni-twice")
    yield from _not_judged(rule, scene, lambda facts: facts.cni)


def cni_missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """No network plugin in bootstrap."""
    yield from plan_problems(rule, scene, "cni-missing")
    yield from _not_judged(rule, scene, lambda facts: facts.cni)


def dns_twice(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Talos's CoreDNS beside another."""
    yield from plan_problems(rule, scene, "dns-twice")
    yield from _not_judged(rule, scene, lambda facts: facts.core_dns)


def dns_missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """No cluster DNS before the engine."""
    yield from plan_problems(rule, scene, "dns-missing")
    yield from _not_judged(rule, scene, lambda facts: facts.core_dns)


def unschedulable(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """What no node takes."""
    return plan_problems(rule, scene, "pods-unschedulable")


def versions_refused(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Versions that refuse each other."""
    return plan_problems(rule, scene, "version-refused")


def fields_replaced(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Old fields of Talos beside the documents that replace them."""
    return plan_problems(rule, scene, "talos-fields-replaced")


# What bootstrap needs and does not get in time.


_ORDERED = {SourceForm.HELMFILE, SourceForm.HOOK}
"""What helmfile runs side by side unless it is told the order."""


def needs_from_gitops(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """What bootstrap waits for and GitOps alone brings, and kinds that nothing brings."""
    for cluster in scene.clusters:
        for problem in scene.plans[cluster.name].problems:
            if (
                problem.code in deadlocks.LATE
                and problem.severity != Severity.NOTE
                and any(each.place for each in problem.evidence)
            ):
                short = dataclasses.replace(problem, message=problem.message.partition(";")[0])
                yield problem_finding(rule, short, cluster.name, scene, severity=_severity(problem))


def _severity(problem: Diagnostic) -> Severity | None:
    if problem.code == "need-unrendered":
        return Severity.NOTE
    return None if problem.severity == Severity.ERROR else Severity.WARNING


def needs_missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """Needs of bootstrap that nothing meets, and what uses the engine's kinds without needing it."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        for component in known.bootstrap:
            for need in component.missing:
                # Of what Flux waits for, another rule speaks.
                if not need.is_order and not need.is_awaited:
                    yield rule.finding(
                        f"{component.name} needs {need.id.partition('/')[2]}, which nothing deploys",
                        at=need.place,
                        clusters=(cluster.name,),
                        subject=component.name,
                    )
        yield from _unordered(rule, scene, cluster.name)


def _unordered(rule: AuditRule, scene: PlatformView, cluster: str) -> Iterator[Finding]:
    """Of other kinds that come with their chart another rule speaks: they are better applied before."""
    known = scene.facts[cluster]
    for component in known.with_role("engine"):
        for chart in cluster_facts.charts(component, Side.BOOTSTRAP):
            about = well_known.chart_crds_of(chart.name)
            if about is None or not about.groups or not _is_ordered(scene, cluster, component.name):
                continue
            if any(set(about.groups) & set(_first(each)) for each in _crd_charts(scene, cluster)):
                continue
            for other, (made, place) in users(scene, cluster, about.groups, but=component.name):
                if _is_ordered(scene, cluster, other.name) and not comes_after(known, other, component):
                    yield rule.finding(
                        f"{other.name} has {made} and does not need {component.name}, which brings that kind",
                        at=place,
                        clusters=(cluster,),
                        subject=other.name,
                        evidence=(
                            Evidence(
                                f"{component.name} brings its CRDs", cluster_facts.place(component, Side.BOOTSTRAP)
                            ),
                        ),
                        fix=f"Write needs: [{chart.namespace}/{chart.release or component.name}] there.",
                    )


def _is_ordered(scene: PlatformView, cluster: str, name: str) -> bool:
    component = scene.facts[cluster].by_name[name]
    return any(each.form in _ORDERED for each in cluster_facts.origins(component, Side.BOOTSTRAP))


def _crd_charts(scene: PlatformView, cluster: str) -> Iterator[str]:
    for component in scene.facts[cluster].bootstrap:
        if component.phase is Phase.CRDS:
            yield from (each.name for each in cluster_facts.charts(component, Side.BOOTSTRAP))


def _first(chart: str) -> tuple[str, ...]:
    known = well_known.chart_crds_of(chart)
    return known.groups if known else ()


# Whether bootstrap waits for the network before it goes on to the engine.


_WAITS = re.compile(r"\brollout status\b|\bwait\b|\bcilium status\b|--wait\b|--atomic\b")
_ASKED = re.compile(r"^[^#]*(?:rollout status|\bwait\b|cilium status|get (?:pods?|nodes?|ds|daemonset)).*")


def cni_gate_missing(rule: AuditRule, scene: PlatformView) -> Iterator[Finding]:
    """A CNI in bootstrap that nothing waits for, with the engine after it."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        engines = known.with_role("engine")
        for component in known.with_role("cni") if engines else ():
            for origin in cluster_facts.origins(component, Side.BOOTSTRAP):
                if not _is_awaited(scene, known, component, origin):
                    engine = engines[-1]
                    after = Evidence(
                        f"{engine.name} is installed after it", cluster_facts.place(engine, Side.BOOTSTRAP)
                    )
                    yield rule.finding(
                        f"nothing waits until {component.name} is up before {engine.name} is installed",
                        at=origin.place,
                        clusters=(cluster.name,),
                        subject=component.name,
                        evidence=(after,),
                        fix=_fix(origin),
                    )


def _is_awaited(scene: PlatformView, known: ClusterFacts, component: Component, origin: Origin) -> bool:
    match origin.form:
        case SourceForm.HELMFILE:
            return _waits(origin) or any(_waits(each) for each in _between(known, component))
        case SourceForm.HELM_COMMAND:
            return bool(_WAITS.search(origin.command)) or _script_waits(scene, known)
    # Talos applies inline manifests all at once and tries again; of other forms too little is known.
    return True


def _waits(origin: Origin) -> bool:
    given = origin.definition
    hooks: list[Any] = [each for each in sequence(given, "hooks") if "postsync" in sequence(each, "events")]
    asked = any(_WAITS.search(text(each, "command")) or ".sh" in text(each, "command") for each in hooks)
    return asked or any(given.get(key) is True for key in ("wait", "waitForJobs", "atomic"))


def _between(known: ClusterFacts, cni: Component) -> Iterator[Origin]:
    """Releases that the engine needs, and that need the network themselves: whoever waits for one waits for it."""
    for engine in known.with_role("engine"):
        for component in known.bootstrap:
            is_between = reaches(known, engine.name, component.name) and reaches(known, component.name, cni.name)
            if component.name not in (cni.name, engine.name) and is_between:
                yield from (each for each in component.origins if each.form is SourceForm.HELMFILE)


def _script_waits(scene: PlatformView, known: ClusterFacts) -> bool:
    """Whether any script of bootstrap asks for nodes or pods to be ready."""
    paths = {
        origin.place.path
        for component in known.bootstrap
        for origin in cluster_facts.origins(component, Side.BOOTSTRAP)
    }
    return any(next(scene.lines(path, _ASKED.pattern), None) is not None for path in sorted(paths))


def _fix(origin: Origin) -> str:
    if origin.form is SourceForm.HELMFILE:
        return "Write wait: true there, or a postsync hook with kubectl rollout status daemonset/…"
    return "Add --wait, or kubectl rollout status daemonset/… after it."
