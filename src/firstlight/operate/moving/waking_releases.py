"""What helm-controller would do with a release when its HelmRelease goes on: one upgrade, and nothing that uninstalls.

It has a history of its own, in which the last revision is none that bootstrap has written. So it upgrades once, to what
Git has. It uninstalls where it finds that the release is called otherwise now, and, if it is told so, where an upgrade
fails.
"""

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.applying import helm_releases
from firstlight.execute.world import World
from firstlight.gates import looking
from firstlight.model.component import Origin
from firstlight.model.move import Seat
from firstlight.model.source import Chart
from firstlight.operate.moving.scene import Scene
from firstlight.ownership import release_targets
from firstlight.plan import asking


async def check(scene: Scene, world: World) -> None:
    """See that nothing is uninstalled when HelmReleases go on, before they do.

    Raises:
        errors.Refused: Something might be.
        errors.ClientError: The API does not answer.
    """
    for each in scene.moved:
        for origin in each.helm_releases if each.before is Seat.KEPT else ():
            await _check(origin, world)


async def _check(origin: Origin, world: World) -> None:
    id = asking.declared_by(origin)
    if id is None:
        return
    if release_targets.uninstalls(origin.definition):
        raise errors.Refused(
            f"{id} uninstalls its release where an upgrade fails, and it begins with one",
            hint="Set spec.upgrade.remediation.strategy to rollback first, at least until it is proven.",
        )
    try:
        live = await world.kube.get(looking.at(id).api_version, id.kind, id.name, namespace=id.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return
    chart = origin.source if isinstance(origin.source, Chart) else None
    kept = await helm_releases.last(world.kube, chart.release, chart.namespace) if chart is not None else None
    other = release_targets.changed(origin.definition, live, chart=kept.chart if kept is not None else "")
    if other is not None:
        raise errors.Refused(
            f"{id} knows its release by another {other.what}: {other.known}, and now it is {other.now}; it would "
            "uninstall that one first",
            hint=f"Let it forget: kubectl -n {id.namespace} delete helmrelease {id.name}; as long as it rests that "
            "uninstalls nothing, and Flux makes it anew from Git.",
        )
