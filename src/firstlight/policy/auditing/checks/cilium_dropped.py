"""What this version of Cilium has no more, and what its next one will not have."""

import dataclasses
import functools
from collections.abc import Iterator

from firstlight.model.cluster import Cluster
from firstlight.model.component import Component
from firstlight.model.finding import Evidence, Severity
from firstlight.plan.versions import minor
from firstlight.policy.auditing import tables
from firstlight.policy.auditing.hit import Hit
from firstlight.policy.auditing.scene import Scene


@dataclasses.dataclass(frozen=True)
class Dropped:
    """A kind or a value that a version of Cilium has no more."""

    since: str
    instead: str
    kind: str = ""
    """``group/Kind``, or ``group/version/Kind`` where only the version is dropped."""
    value: str = ""
    """The way to the value."""
    only: tuple[str, ...] = ()
    """Only these texts of the value."""


@functools.cache
def _dropped() -> tuple[Dropped, ...]:
    """Everything that is known to be dropped."""
    return tables.read("cilium_dropped.yaml", tuple[Dropped, ...])


def used(scene: Scene) -> Iterator[Hit]:
    """What this version of Cilium has no more, or the next one will not have."""
    for cluster in scene.clusters:
        component = next((each for each in scene.with_role("cni", cluster.name) if "cilium" in each.name), None)
        version = minor(component.version) if component else None
        if component is None or version is None:
            continue
        for each in _dropped():
            since = minor(each.since) or (0, 0)
            is_gone = version >= since
            when = f"Cilium {each.since} has" if is_gone else f"Cilium {each.since}, which is next, has"
            if not is_gone and since[1] - version[1] > 1:
                continue
            severity = None if is_gone else Severity.WARNING
            for hit in _uses(scene, cluster, component, each):
                yield dataclasses.replace(hit, message=f"{when} {hit.message}", severity=severity)


def _uses(scene: Scene, cluster: Cluster, component: Component, each: Dropped) -> Iterator[Hit]:
    if each.value:
        given = scene.value(component, *each.value.split("."))
        if given is not None and (not each.only or str(given.value).lower() in each.only):
            shown = f"{each.value}: {given.value}" if each.only else each.value
            yield Hit(
                message=f"no value {shown}",
                place=given.place,
                clusters=(cluster.name,),
                component=component.name,
                fix=each.instead,
            )
        return
    group, _, kind = each.kind.rpartition("/")
    group, _, only = group.partition("/")
    for item in scene.of_cluster(cluster.name, f"{group}/{kind}"):
        if only and item.value.get("apiVersion") != f"{group}/{only}":
            continue
        what = f"no {only} of {kind}" if only else f"no {kind}"
        yield Hit(
            message=f"{what}, which {item.object.id.name} is",
            place=item.object.place,
            clusters=(cluster.name,),
            component=item.component.name,
            evidence=(Evidence(f"Cilium {component.version}", component.origins[0].place),),
            fix=each.instead,
        )
