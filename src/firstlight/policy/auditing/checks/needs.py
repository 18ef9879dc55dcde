"""What bootstrap needs and does not get in time."""

import dataclasses
from collections.abc import Iterator

from firstlight.model import plan as plans
from firstlight.model.component import Form, Phase, Side
from firstlight.model.finding import Evidence, Severity
from firstlight.model.plan import Problem
from firstlight.plan import facts
from firstlight.policy.auditing import chart_crds
from firstlight.policy.auditing.checks import planned
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.reach import comes_after, users
from firstlight.policy.auditing.scene import Scene

_LATE = ("-from-gitops", "-from-nowhere")
_LATE_TOO = {"needs-gitops", "inline-kind-late", "webhook-before-service", "host-from-inside"}
_ORDERED = {Form.HELMFILE, Form.HOOK}
"""What helmfile runs side by side unless it is told the order."""


def from_gitops(scene: Scene) -> Iterator[Hit]:
    """What bootstrap waits for and GitOps alone brings, and kinds that nothing brings."""
    for cluster in scene.clusters:
        for problem in scene.plans[cluster.name].problems:
            is_late = problem.rule.endswith(_LATE) or problem.rule in _LATE_TOO
            if is_late and problem.severity != plans.Severity.INFO and any(each.place for each in problem.chain):
                hit = planned.hit(problem, cluster.name, scene, severity=_severity(problem))
                yield dataclasses.replace(hit, message=problem.message.partition(";")[0])


def _severity(problem: Problem) -> Severity | None:
    if "were not rendered and may bring it" in problem.message:
        return Severity.NOTE
    return None if problem.severity == plans.Severity.ERROR else Severity.WARNING


def missing(scene: Scene) -> Iterator[Hit]:
    """Needs of bootstrap that nothing meets, and what uses the engine's kinds without needing it."""
    for cluster in scene.clusters:
        known = scene.facts[cluster.name]
        for component in known.bootstrap:
            for need in component.missing:
                # Of what Flux waits for, another rule speaks.
                if need.why not in (facts.TASK_ORDER, "dependsOn"):
                    yield Hit(
                        message=f"{component.name} needs {need.id.partition('/')[2]}, which nothing deploys",
                        place=need.place,
                        clusters=(cluster.name,),
                        component=component.name,
                    )
        yield from _unordered(scene, cluster.name)


def _unordered(scene: Scene, cluster: str) -> Iterator[Hit]:
    """Of other kinds that come with their chart another rule speaks: they are better applied before."""
    known = scene.facts[cluster]
    for component in known.with_role("engine"):
        for chart in facts.charts(component, Side.BOOTSTRAP):
            about = chart_crds.of(chart.name)
            if about is None or not about.groups or not _is_ordered(scene, cluster, component.name):
                continue
            if any(set(about.groups) & set(_first(each)) for each in _crd_charts(scene, cluster)):
                continue
            for other, (made, place) in users(scene, cluster, about.groups, but=component.name):
                if _is_ordered(scene, cluster, other.name) and not comes_after(known, other, component):
                    yield Hit(
                        message=f"{other.name} has {made} and does not need {component.name}, which brings that kind",
                        place=place,
                        clusters=(cluster,),
                        component=other.name,
                        evidence=(
                            Evidence(f"{component.name} brings its CRDs", facts.place(component, Side.BOOTSTRAP)),
                        ),
                        fix=f"Write needs: [{chart.namespace}/{chart.release or component.name}] there.",
                    )


def _is_ordered(scene: Scene, cluster: str, name: str) -> bool:
    component = scene.facts[cluster].by_name[name]
    return any(each.form in _ORDERED for each in facts.origins(component, Side.BOOTSTRAP))


def _crd_charts(scene: Scene, cluster: str) -> Iterator[str]:
    for component in scene.facts[cluster].bootstrap:
        if component.phase is Phase.CRDS:
            yield from (each.name for each in facts.charts(component, Side.BOOTSTRAP))


def _first(chart: str) -> tuple[str, ...]:
    known = chart_crds.of(chart)
    return known.groups if known else ()
