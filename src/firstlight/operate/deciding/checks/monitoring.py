"""Whether somebody would be told if the change broke something: alerts and monitors that cover it."""

from collections.abc import Mapping
from typing import Any

from firstlight.model.change import Matter
from firstlight.model.component import ObjectId
from firstlight.model.decision import Decision, Touched
from firstlight.operate.deciding.checks import known_objects
from firstlight.operate.deciding.checks import scene as scenes
from firstlight.operate.deciding.checks.scene import Scene
from firstlight.policy.checking import covering, note
from firstlight.policy.checking.covering import Cover, Watched
from firstlight.policy.checking.note import Note

KINDS: Mapping[tuple[str, str], str] = {
    ("monitoring.coreos.com", "PrometheusRule"): "v1",
    ("monitoring.coreos.com", "ServiceMonitor"): "v1",
    ("monitoring.coreos.com", "PodMonitor"): "v1",
    ("operator.victoriametrics.com", "VMRule"): "v1beta1",
    ("operator.victoriametrics.com", "VMServiceScrape"): "v1beta1",
    ("operator.victoriametrics.com", "VMPodScrape"): "v1beta1",
    ("notification.toolkit.fluxcd.io", "Alert"): "v1beta3",
    ("argoproj.io", "Application"): "v1alpha1",
}
_NODE_EXAMPLE = (
    "write a PrometheusRule with an alert whose expr is "
    'kube_node_status_condition{condition="Ready", status="true"} == 0'
)
_MOST = 3


async def look(decision: Decision, scene: Scene) -> list[Note]:
    """For each touched component, and for machines, what watches it."""
    touched = [
        each
        for each in scenes.meant(decision, scene)
        if scene.after.component(each.cluster, each.component) is not None
    ]
    machines = sorted(
        {cluster for item in decision.items if item.change.matter == Matter.MACHINE for cluster in item.clusters}
    )
    if not touched and not machines:
        return [note.skipped("it touches nothing that runs and stays")]
    objects = [*known_objects.in_repo(scene.after, set(KINDS))]
    notes: list[Note] = []
    where = "the repo"
    if scene.client is not None:
        live, unread = await known_objects.live(scene.client, KINDS)
        objects += live
        where = "the repo and the cluster"
        notes += [note.skipped(each) for each in unread]
    changed = {each.id for each in scenes.pairs(decision, scene)}
    notes += [_of(each, scene, objects, where=where, changed=changed) for each in touched]
    if machines:
        covers = covering.of_nodes(objects)
        name = f"the machines of {', '.join(machines)}"
        notes.append(
            _told(name, covers) if covers else note.failed(f"no alert in {where} is about nodes", todo=_NODE_EXAMPLE)
        )
    return notes


def _of(
    touched: Touched, scene: Scene, objects: list[Mapping[str, Any]], *, where: str, changed: set[ObjectId]
) -> Note:
    """What covers a component; the example is for what has changed of it."""
    mine = scene.after.objects(touched.cluster, touched.component).values()
    watched = Watched(
        component=scene.after.component(touched.cluster, touched.component),
        objects=tuple(sorted(mine, key=lambda each: each.id not in changed)),
    )
    covers = covering.covers(watched, objects)
    name = f"{touched.component} of {touched.cluster}"
    if covers:
        return _told(name, covers)
    place = next((each.place for each in (watched.component.origins if watched.component else ())), None)
    says = f"no alert or monitor in {where} covers {name}"
    if not scene.after.is_whole(touched.cluster, touched.component):
        # What it deploys is not known: it may bring its own monitors.
        says = f"{says}, as far as can be seen without rendering it"
        return note.person(says, todo=covering.example(watched), place=place)
    return note.failed(says, todo=covering.example(watched), place=place)


def _told(name: str, covers: tuple[Cover, ...]) -> Note:
    shown = ", ".join(each.name for each in covers[:_MOST]) + (
        f" and {len(covers) - _MOST} more" if len(covers) > _MOST else ""
    )
    only = "" if any(each.is_alert for each in covers) else ", which measures and tells nobody"
    return note.passed(f"{name}: covered by {shown}{only}")
