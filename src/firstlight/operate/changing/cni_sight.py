"""What is known of a cluster before its network plugin is upgraded: read from the cluster and from the files."""

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.execute.world import World
from firstlight.gates import cni
from firstlight.model.component import Component, Side
from firstlight.model.plan import Gate, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Verdict
from firstlight.model.work import Watch
from firstlight.operate.changing import cni_agents
from firstlight.operate.changing.cni_choosing import Upgrade
from firstlight.operate.up import Prepared
from firstlight.operate.verify import components
from firstlight.plan import facts
from firstlight.policy.cni import preflight, products
from firstlight.policy.cni.preflight import Sight


async def of(upgrade: Upgrade, prepared: Prepared, world: World) -> Sight:
    """Look at everything.

    Args:
        upgrade: From which version to which.
        prepared: What is rendered with the change.
        world: The cluster.

    Raises:
        errors.ClientError: The API does not answer.
    """
    objects = prepared.ground.objects.get(upgrade.component.name, ())
    nodes = (await world.kube.list("v1", "Node")).items
    is_cilium = upgrade.product == products.CILIUM
    return Sight(
        product=upgrade.product,
        declared=upgrade.before,
        wanted=upgrade.after,
        running=await _running(objects, world),
        kubernetes=str((await world.kube.version()).get("gitVersion") or ""),
        kernels={
            text(each, "metadata", "name"): text(each, "status", "nodeInfo", "kernelVersion") for each in nodes
        },
        kinds=await _kinds(prepared, world) if is_cilium else {},
        values=_values(upgrade.component) if is_cilium else {},
        health=await _health(upgrade, prepared, world),
    )  # fmt: skip


async def _running(objects: Sequence[Object], world: World) -> tuple[str, ...]:
    agents = cni_agents.agents(objects)
    if agents is None:
        return ()
    pods = (await world.kube.list("v1", "Pod", namespace=agents.id.namespace)).items
    return tuple(sorted(set(cni_agents.versions_by_node(pods, agents.id).values())))


async def _health(upgrade: Upgrade, prepared: Prepared, world: World) -> Verdict:
    """The gate of the network, without a word on versions: what runs now must be well."""
    asked = cni.question(Gate(Subject.CNI, upgrade.component.name), Watch(), prepared.ground)
    assert asked is not None
    (verdict,) = await components.judged([asked], world.watching, wait=0.0)
    return verdict


async def _kinds(prepared: Prepared, world: World) -> dict[str, tuple[str, ...]]:
    """Objects of kinds that some version drops: those that Git has, and those that the cluster has besides."""
    found: dict[str, list[str]] = {}
    wanted = preflight.dropped_kinds()
    for rendition in prepared.renditions:
        for each in rendition.objects:
            if (each.id.group, each.id.kind) in wanted:
                version = str(each.value.get("apiVersion") or "").rpartition("/")[2]
                found.setdefault(f"{each.id.group}/{version}/{each.id.kind}", []).append(each.id.name)
    known = {name for names in found.values() for name in names}
    catalog = await world.kube.catalog()
    for group, kind in wanted:
        served = next((one for one in catalog.resources.values() if (one.group, one.kind) == (group, kind)), None)
        if served is None:
            continue
        try:
            items = (await world.kube.list(served.api_version, kind, metadata_only=True)).items
        except kube.NotFound:
            continue
        names = [text(each, "metadata", "name") for each in items]
        found.setdefault(f"{group}//{kind}", []).extend(each for each in names if each not in known)
    return {kind: tuple(dict.fromkeys(names)) for kind, names in found.items() if names}


def _values(component: Component) -> Mapping[str, Any]:
    """The values that checks ask for, as Git has them."""
    side = Side.GITOPS if component.halves[1] else Side.BOOTSTRAP
    found: dict[str, Any] = {}
    for path in preflight.value_paths():
        value = facts.value(component, side, *path)
        if value is not None:
            home = functools.reduce(lambda inner, step: inner.setdefault(step, {}), path[:-1], found)
            home[path[-1]] = value
    return found
