"""What helm-controller would do with a release when its HelmRelease goes on: one upgrade, and nothing that uninstalls.

It has a history of its own, in which the last revision is none that bootstrap has written. So it upgrades once, to what
Git has. It uninstalls where it finds that the release is called otherwise now, and, if it is told so, where an upgrade
fails.
"""

from collections.abc import Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import at, mapping, sequence, text
from firstlight.execute.applying import helm_releases
from firstlight.execute.world import World
from firstlight.gates import looking
from firstlight.model.component import ObjectId, Origin
from firstlight.model.move import Seat
from firstlight.operate.changing import engine_objects
from firstlight.operate.moving.scene import Scene
from firstlight.ownership import engine_marks


async def check(scene: Scene, world: World) -> None:
    """See that nothing is uninstalled when HelmReleases go on, before they do.

    Raises:
        errors.Refused: Something might be.
        errors.ClientError: The API does not answer.
    """
    for each in scene.moved:
        for origin in each.helm_releases if each.before is Seat.KEPT else ():
            _check_remedy(origin)
            await _check_target(origin, world)


def _check_remedy(origin: Origin) -> None:
    remedy = mapping(origin.definition, "spec", "upgrade", "remediation")
    if text(remedy, "strategy") == "uninstall":
        raise errors.Refused(
            f"HelmRelease {origin.namespace}/{origin.name} uninstalls where an upgrade fails, and it begins with one",
            hint="Set spec.upgrade.remediation.strategy to rollback first, at least until it is proven.",
        )


async def _check_target(origin: Origin, world: World) -> None:
    id = ObjectId(engine_objects.GROUPS[origin.form], origin.form.value, origin.namespace, origin.name)
    try:
        live = await world.kube.get(looking.at(id).api_version, id.kind, id.name, namespace=id.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return
    history = sequence(live, "status", "history")
    if not history or not text(live, "status", "storageNamespace"):
        return  # it knows no release, and takes what is there
    known, wanted = _known(live), _wanted(origin.definition, origin.namespace)
    kept = await helm_releases.last(world.kube, wanted["name"], wanted["namespace"])
    if kept is not None and at(origin.definition, "spec", "upgrade", "chartNameChangeStrategy") != "InPlace":
        known, wanted = {**known, "chart": text(history[0], "chartName")}, {**wanted, "chart": kept.chart}
    for what, name in wanted.items():
        if known[what] != name:
            raise errors.Refused(
                f"{id} knows its release by another {_WORDS[what]} ({known[what]}, and it is {name} now): it would "
                "uninstall that one first",
                hint=f"Let it forget: kubectl -n {id.namespace} delete helmrelease {id.name}; as long as it rests that "
                "uninstalls nothing, and Flux makes it anew from Git.",
            )


_WORDS = {"storage": "namespace of its history", "namespace": "namespace", "name": "name", "chart": "chart"}


def _known(live: Mapping[str, Any]) -> dict[str, str]:
    last = sequence(live, "status", "history")[0]
    return {
        "storage": text(live, "status", "storageNamespace"), "namespace": text(last, "namespace"),
        "name": text(last, "name"),
    }  # fmt: skip


def _wanted(definition: Mapping[str, Any], own: str) -> dict[str, str]:
    spec = mapping(definition, "spec")
    return {
        "storage": text(spec, "storageNamespace") or own, "namespace": text(spec, "targetNamespace") or own,
        "name": engine_marks.release_name(definition),
    }  # fmt: skip
