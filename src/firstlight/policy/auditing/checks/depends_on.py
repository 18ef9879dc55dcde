"""What waits for something that never comes."""

from collections.abc import Iterator

from firstlight.model.component import Form
from firstlight.model.finding import Severity
from firstlight.policy.auditing import waiting_circles
from firstlight.policy.auditing.checks import planned
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene

_GITOPS = (Form.KUSTOMIZATION, Form.HELM_RELEASE, Form.APPLICATION)


def nothing(scene: Scene) -> Iterator[Hit]:
    """A dependsOn that names what the cluster does not have, or what is suspended."""
    for component in scene.platform.components:
        if not any(each.form in _GITOPS for each in component.origins):
            continue
        for need in component.missing:
            if need.why == waiting_circles.DEPENDS_ON:
                yield Hit(
                    message=f"{component.name} depends on {need.id}, which nothing deploys there",
                    place=need.place,
                    clusters=(component.cluster,),
                    component=component.name,
                )
    yield from planned.problems(scene, "suspended-need", severity=Severity.WARNING)


def circles(scene: Scene) -> Iterator[Hit]:
    """Kustomizations and HelmReleases that wait for each other."""
    for cluster in scene.clusters:
        for each in waiting_circles.circles(scene, cluster.name):
            *names, last = (waiting_circles.shown(origin) for _, origin in each.members)
            yield Hit(
                message=f"{', '.join(names)} and {last} wait for each other" if names else f"{last} waits for itself",
                place=each.evidence[0].place or each.members[0][1].place,
                clusters=(cluster.name,),
                component=each.members[0][0].name,
                evidence=each.evidence,
            )
