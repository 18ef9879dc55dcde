"""Whoever remembers what the API said before etcd was restored begins anew: kubelets, network, operators, engine.

A workload is restarted as ``kubectl rollout restart`` does it: its own strategy decides how many pods go at once.
"""

import asyncio
import dataclasses
import datetime
import time
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import number, text
from firstlight.execute import cluster_keys
from firstlight.execute.change import Change
from firstlight.execute.machine_gates import POLL
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import replicas
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.machine_report import Standing
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe import machines as observed
from firstlight.operate.recover import etcd_record
from firstlight.policy import api_clients
from firstlight.policy.api_clients import Client, Rights, Turn

MANAGER = "firstlight"
RESTARTED = "kubectl.kubernetes.io/restartedAt"
KINDS = ("DaemonSet", "Deployment", "StatefulSet")
_RULES = {
    "DaemonSet": replicas.daemon_set, "Deployment": replicas.deployment, "StatefulSet": replicas.stateful_set,
}  # fmt: skip
_RBAC = "rbac.authorization.k8s.io/v1"
_TURNS = {
    Turn.NETWORK: ("etcd:network", "agents of the network restarted"),
    Turn.OTHERS: ("etcd:operators", "controllers restarted"),
    Turn.ENGINE: ("etcd:engine", "the engine restarted"),
}


def kubelets(cluster: Cluster) -> Stage:
    """The kubelets of machines that were not rebooted for the recovery."""
    id = "etcd:kubelets"

    async def look(world: World) -> Change | None:
        record = etcd_record.read(world.state, cluster.name)
        if record is None:
            raise errors.Refused("somebody has taken the record of this recovery away", hint="Begin anew.")
        way = await cluster_keys.ensure(world)
        fresh = {*record.planes, *record.kubelets}
        others = [each for each in cluster.machines if each.name not in fresh]
        reports = await observed.look_at_all(others, way)
        there = [each.machine for each in reports if each.standing is Standing.OURS]
        for each in reports:
            if each.standing is not Standing.OURS:
                world.tell(id, f"{each.machine.name} does not answer: its kubelet begins anew when it boots")
        if not there:
            return None

        async def perform() -> None:
            done = record
            for machine in there:
                await way.admin.service_action(way.at(machine), "kubelet", "restart")
                done = dataclasses.replace(done, kubelets=(*done.kubelets, machine.name))
                etcd_record.write(done, world.state, cluster.name)

        return Change(writes=tuple(f"restart the kubelet of {each.name}" for each in there), perform=perform)

    return Stage(id=id, name="kubelets restarted", look=look)


def stages(cluster: Cluster, *, timeout: float) -> tuple[Stage, Stage, Stage]:
    """Agents of the network, all other controllers, the engine; each waited for."""
    network, others, engine = (_stage(cluster, turn, timeout=timeout) for turn in Turn)
    return network, others, engine


def _stage(cluster: Cluster, turn: Turn, *, timeout: float) -> Stage:
    id, name = _TURNS[turn]

    async def look(world: World) -> Change | None:
        since = _since(world, cluster)
        found = await _found(world)
        mine = [each for each in api_clients.clients(found, await _rights(world)) if each.turn is turn]
        old = [each for each in mine if _restarted(_value(found, each.id)) < since]
        for each in old:
            if not each.is_rolling:
                world.tell(id, f"{each.id} replaces no pods by itself: delete them, one after the other")
        rolling = [each for each in old if each.is_rolling]
        if not rolling:
            return None
        return Change(writes=tuple(f"restart {each.id}" for each in rolling), perform=lambda: _restart(rolling, world))

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        deadline = time.monotonic() + timeout
        last: Verdict | None = None
        while True:
            verdict = await _judged(turn, world)
            if verdict != last:
                last = verdict
                on_verdict(verdict)
            if isinstance(verdict, Passed) or time.monotonic() >= deadline:
                return verdict, "" if isinstance(verdict, Passed) else "Why: firstlight doctor. Then run again."
            await asyncio.sleep(POLL)

    return Stage(id=id, name=name, look=look, wait=wait)


async def _restart(clients: Sequence[Client], world: World) -> None:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {"spec": {"template": {"metadata": {"annotations": {RESTARTED: now}}}}}
    for each in clients:
        try:
            await world.kube.patch(
                "apps/v1", each.id.kind, each.id.name, body, manager=MANAGER, namespace=each.id.namespace
            )
        except kube.NotFound:
            continue  # somebody has deleted it meanwhile


async def _judged(turn: Turn, world: World) -> Verdict:
    try:
        found = await _found(world)
        nodes = (await world.kube.list("v1", "Node")).items
        mine = [each for each in api_clients.clients(found, await _rights(world)) if each.turn is turn]
    except (errors.Unreachable, errors.TimedOut, kube.ServerError) as error:
        return Waiting(f"the Kubernetes API does not answer: {error.message}")
    waiting = []
    for each in mine:
        value = _value(found, each.id)
        verdict = _RULES[each.id.kind](value, nodes)
        if number(value, "status", "observedGeneration") < number(value, "metadata", "generation"):
            verdict = Waiting("its controller has not seen it yet")
        if not isinstance(verdict, Passed):
            waiting.append(f"{each.id}: {verdict.reason}")
    return Waiting("; ".join(waiting)) if waiting else Passed(f"{len(mine)} of {len(mine)}")


async def _found(world: World) -> dict[str, Sequence[Mapping[str, Any]]]:
    listed = await asyncio.gather(*(world.kube.list("apps/v1", kind) for kind in KINDS))
    return {kind: each.items for kind, each in zip(KINDS, listed, strict=True)}


async def _rights(world: World) -> Rights:
    kinds = ("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding")
    roles, cluster_roles, bindings, cluster_bindings = await asyncio.gather(
        *(world.kube.list(_RBAC, kind) for kind in kinds)
    )
    return Rights(
        roles=roles.items, cluster_roles=cluster_roles.items, role_bindings=bindings.items,
        cluster_role_bindings=cluster_bindings.items,
    )  # fmt: skip


def _value(found: Mapping[str, Sequence[Mapping[str, Any]]], id: ObjectId) -> Mapping[str, Any]:
    for each in found[id.kind]:
        if (text(each, "metadata", "namespace"), text(each, "metadata", "name")) == (id.namespace, id.name):
            return each
    return {}


def _restarted(value: Mapping[str, Any]) -> float:
    """When a workload was restarted last; never is 0."""
    written = text(value, "spec", "template", "metadata", "annotations", RESTARTED)
    try:
        return datetime.datetime.fromisoformat(written).timestamp()
    except ValueError:
        return 0.0


def _since(world: World, cluster: Cluster) -> float:
    record = etcd_record.read(world.state, cluster.name)
    return float(int(record.restored)) if record is not None else 0.0
