"""What the plan of a cluster finds already, as findings: it knows the order of a run, and rules need not."""

from collections.abc import Iterator

from firstlight.model.finding import Evidence, Severity
from firstlight.model.place import Place
from firstlight.model.plan import Problem
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene


def problems(scene: Scene, *rules: str, severity: Severity | None = None) -> Iterator[Hit]:
    """The problems of plans that have one of these rules."""
    for cluster, plan in scene.plans.items():
        for problem in plan.problems:
            if problem.rule in rules:
                yield hit(problem, cluster, scene, severity=severity)


def hit(problem: Problem, cluster: str, scene: Scene, *, severity: Severity | None = None) -> Hit:
    """What a plan has found, as the place where a rule fits."""
    said = next((each.place for each in problem.chain if each.place is not None), None)
    return Hit(
        message=problem.message,
        place=said or _declared(scene, cluster),
        clusters=(cluster,),
        component=problem.component,
        evidence=tuple(Evidence(f"{each.name} {each.says}".strip(), each.place) for each in problem.chain),
        fix=problem.way_out,
        severity=severity,
    )


def _declared(scene: Scene, cluster: str) -> Place:
    found = scene.platform.cluster(cluster)
    return found.place if found else Place(".")


def cni_twice(scene: Scene) -> Iterator[Hit]:
    """Talos's flannel beside another network plugin."""
    return problems(scene, "cni-twice")


def cni_missing(scene: Scene) -> Iterator[Hit]:
    """No network plugin in bootstrap."""
    return problems(scene, "cni-missing")


def dns_twice(scene: Scene) -> Iterator[Hit]:
    """Talos's CoreDNS beside another."""
    return problems(scene, "dns-twice")


def dns_missing(scene: Scene) -> Iterator[Hit]:
    """No cluster DNS before the engine."""
    return problems(scene, "dns-missing")


def unschedulable(scene: Scene) -> Iterator[Hit]:
    """What no node takes."""
    return problems(scene, "unschedulable")


def versions_refused(scene: Scene) -> Iterator[Hit]:
    """Versions that refuse each other."""
    return problems(scene, "version-refused")
