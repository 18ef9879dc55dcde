"""Whether somebody would be told if the change broke something: alerts and monitors that cover it."""

import dataclasses
import re
from collections.abc import Mapping, Sequence
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
_WATCHER = re.compile(r"prometheus|victoria|alert|mimir|thanos|monitoring|gatus|uptime|datadog", re.IGNORECASE)
"""Names of components that mostly bring alerts for all others."""
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
    seen = _Seen(objects, where, changed)
    notes += [_of(each, scene, seen) for each in touched]
    if machines:
        covers = covering.of_nodes(objects)
        name = f"the machines of {', '.join(machines)}"
        notes.append(_told(name, covers) if covers else _uncovered(seen, scene, machines))
    return notes


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What was looked through."""

    objects: Sequence[Mapping[str, Any]]
    where: str
    changed: set[ObjectId]


def _uncovered(seen: _Seen, scene: Scene, clusters: Sequence[str]) -> Note:
    """That nobody is told of nodes."""
    if unsure := _unsure(seen, scene, clusters):
        return note.person(f"who is told if nodes break: {unsure}", todo=_NODE_EXAMPLE)
    return note.failed(f"no alert in {seen.where} is about nodes", todo=_NODE_EXAMPLE)


def _unsure(seen: _Seen, scene: Scene, clusters: Sequence[str]) -> str:
    """Why it is not wrong that nothing covers something: alerts may be elsewhere, and where none are, nobody means to.

    Empty where alerts of this repo cover other things only.
    """
    every = [each for name in clusters for each in scene.after.platform.components_of(name)]
    hidden = [
        each.name for each in every if _WATCHER.search(each.name) and not scene.after.rendered(each.cluster, each.name)
    ]
    if hidden:
        return f"{', '.join(hidden[:_MOST])} may bring alerts, and was not rendered"
    return "" if covering.is_any(seen.objects) else f"there is no alert or monitor at all in {seen.where}"


def _of(touched: Touched, scene: Scene, seen: _Seen) -> Note:
    """What covers a component; the example is for what has changed of it."""
    mine = scene.after.objects(touched.cluster, touched.component).values()
    watched = Watched(
        component=scene.after.component(touched.cluster, touched.component),
        objects=tuple(sorted(mine, key=lambda each: each.id not in seen.changed)),
    )
    covers = covering.covers(watched, seen.objects)
    name = f"{touched.component} of {touched.cluster}"
    if covers:
        return _told(name, covers)
    place = next((each.place for each in (watched.component.origins if watched.component else ())), None)
    says = f"no alert or monitor in {seen.where} covers {name}"
    if not scene.after.is_whole(touched.cluster, touched.component):
        # What it deploys is not known: it may bring its own monitors.
        says = f"{says}, as far as can be seen without rendering it"
        return note.person(says, todo=covering.example(watched), place=place)
    if unsure := _unsure(seen, scene, [touched.cluster]):
        return note.person(f"who is told if {name} breaks: {unsure}", todo=covering.example(watched), place=place)
    return note.failed(says, todo=covering.example(watched), place=place)


def _told(name: str, covers: tuple[Cover, ...]) -> Note:
    shown = ", ".join(each.name for each in covers[:_MOST]) + (
        f" and {len(covers) - _MOST} more" if len(covers) > _MOST else ""
    )
    only = "" if any(each.is_alert for each in covers) else ", which measures and tells nobody"
    return note.passed(f"{name}: covered by {shown}{only}")
