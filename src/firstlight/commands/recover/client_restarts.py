"""Workloads that remember what the Kubernetes API told them: after etcd was restored they must begin anew.

Resource versions go backwards then. A watch that goes on from a later one sees nothing, and what was cached is from a
future that did not happen. Who may watch is written in RBAC; agents of the network are known by what they mount.
"""

import asyncio
import dataclasses
import datetime
import enum
import time
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.recover import etcd_recovery
from firstlight.document.within import mapping, number, sequence, text
from firstlight.execute import cluster_access
from firstlight.execute.gate_wait import POLL
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.gates import replicas
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.machine_report import MachineStanding
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe import machine_survey

_ENGINES = frozenset({"flux", "argocd"})
_PART_OF = "app.kubernetes.io/part-of"
_NETWORK = ("/etc/cni", "/opt/cni")
_EVERYBODY = "system:serviceaccounts"


class RestartTurn(enum.IntEnum):
    """Who begins anew first: pods need a network, and the engine what others serve."""

    NETWORK = 0
    OTHERS = 1
    ENGINE = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class ApiClient:
    """A workload that watches the API."""

    id: ObjectId
    turn: RestartTurn
    is_rolling: bool = True
    """Whether it replaces its pods itself when its template changes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rights:
    """Who may do what: objects as the API lists them."""

    roles: Sequence[Mapping[str, Any]] = ()
    cluster_roles: Sequence[Mapping[str, Any]] = ()
    role_bindings: Sequence[Mapping[str, Any]] = ()
    cluster_role_bindings: Sequence[Mapping[str, Any]] = ()


def api_clients_of(workloads: Mapping[str, Sequence[Mapping[str, Any]]], rights: Rights) -> tuple[ApiClient, ...]:
    """Those that watch, in the order of their turns.

    Args:
        workloads: Deployments, DaemonSets and StatefulSets, by kind.
        rights: RBAC of the cluster.
    """
    watching = _watching(rights)
    found = []
    for kind, values in workloads.items():
        for value in values:
            namespace = text(value, "metadata", "namespace")
            pod = mapping(value, "spec", "template", "spec")
            account = text(pod, "serviceAccountName") or "default"
            is_network = kind == "DaemonSet" and _is_network(pod)
            groups = {_EVERYBODY, f"{_EVERYBODY}:{namespace}"}
            if not is_network and (namespace, account) not in watching and not groups & watching:
                continue
            turn = (
                RestartTurn.NETWORK if is_network else RestartTurn.ENGINE if _is_engine(value) else RestartTurn.OTHERS
            )
            strategy = text(value, "spec", "updateStrategy", "type")
            identity = ObjectId("apps", kind, namespace, text(value, "metadata", "name"))
            found.append(ApiClient(id=identity, turn=turn, is_rolling=strategy != "OnDelete"))
    return tuple(sorted(found, key=lambda each: (each.turn, each.id.namespace, each.id.name, each.id.kind)))


def _watching(rights: Rights) -> set[tuple[str, str] | str]:
    """Service accounts, by namespace and name, and groups of them."""
    everywhere = {text(each, "metadata", "name") for each in rights.cluster_roles if _watches(each)}
    somewhere = {
        (text(each, "metadata", "namespace"), text(each, "metadata", "name"))
        for each in rights.roles
        if _watches(each)
    }  # fmt: skip
    found: set[tuple[str, str] | str] = set()
    for binding in (*rights.cluster_role_bindings, *rights.role_bindings):
        namespace, role = text(binding, "metadata", "namespace"), text(binding, "roleRef", "name")
        is_cluster_role = text(binding, "roleRef", "kind") == "ClusterRole"
        if role in everywhere if is_cluster_role else (namespace, role) in somewhere:
            found |= set(_subjects(binding, namespace))
    return found


def _subjects(binding: Mapping[str, Any], namespace: str) -> list[tuple[str, str] | str]:
    found: list[tuple[str, str] | str] = []
    for each in sequence(binding, "subjects"):
        if text(each, "kind") == "ServiceAccount":
            found.append((text(each, "namespace") or namespace, text(each, "name")))
        elif text(each, "kind") == "Group" and text(each, "name").startswith(_EVERYBODY):
            found.append(text(each, "name"))
    return found


def _watches(role: Mapping[str, Any]) -> bool:
    return any(
        sequence(rule, "resources") and {"watch", "*"} & set(map(str, sequence(rule, "verbs")))
        for rule in sequence(role, "rules")
    )


def _is_network(pod: Mapping[str, Any]) -> bool:
    return any(text(each, "hostPath", "path").startswith(_NETWORK) for each in sequence(pod, "volumes"))


def _is_engine(value: Mapping[str, Any]) -> bool:
    return text(value, "metadata", "labels", _PART_OF) in _ENGINES


# Whoever remembers what the API said before etcd was restored begins anew: kubelets, network, operators, engine.
#
# A workload is restarted as ``kubectl rollout restart`` does it: its own strategy decides how many pods go at once.


MANAGER = "firstlight"
RESTARTED = "kubectl.kubernetes.io/restartedAt"
KINDS = ("DaemonSet", "Deployment", "StatefulSet")
_RULES = {
    "DaemonSet": replicas.daemon_set, "Deployment": replicas.deployment, "StatefulSet": replicas.stateful_set,
}  # fmt: skip
_RBAC = "rbac.authorization.k8s.io/v1"
_TURNS = {
    RestartTurn.NETWORK: ("etcd:network", "agents of the network restarted"),
    RestartTurn.OTHERS: ("etcd:operators", "controllers restarted"),
    RestartTurn.ENGINE: ("etcd:engine", "the engine restarted"),
}


def kubelets(cluster: Cluster) -> WalkStage:
    """The kubelets of machines that were not rebooted for the recovery."""
    id = "etcd:kubelets"

    async def look(world: World) -> PendingChange | None:
        record = etcd_recovery.read(world.state, cluster.name)
        if record is None:
            raise errors.Refused("somebody has taken the record of this recovery away", hint="Begin anew.")
        way = await cluster_access.ensure(world)
        fresh = {*record.planes, *record.kubelets}
        others = [each for each in cluster.machines if each.name not in fresh]
        reports = await machine_survey.look_at_all(others, way)
        there = [each.machine for each in reports if each.standing is MachineStanding.OURS]
        for each in reports:
            if each.standing is not MachineStanding.OURS:
                world.tell(id, f"{each.machine.name} does not answer: its kubelet begins anew when it boots")
        if not there:
            return None

        async def perform() -> None:
            done = record
            for machine in there:
                await way.admin.service_action(way.at(machine), "kubelet", "restart")
                done = dataclasses.replace(done, kubelets=(*done.kubelets, machine.name))
                etcd_recovery.write(done, world.state, cluster.name)

        return PendingChange(writes=tuple(f"restart the kubelet of {each.name}" for each in there), perform=perform)

    return WalkStage(id=id, name="kubelets restarted", look=look)


def stages(cluster: Cluster, *, timeout: float) -> tuple[WalkStage, WalkStage, WalkStage]:
    """Agents of the network, all other controllers, the engine; each waited for."""
    network, others, engine = (_stage(cluster, turn, timeout=timeout) for turn in RestartTurn)
    return network, others, engine


def _stage(cluster: Cluster, turn: RestartTurn, *, timeout: float) -> WalkStage:
    id, name = _TURNS[turn]

    async def look(world: World) -> PendingChange | None:
        since = _since(world, cluster)
        found = await _found(world)
        mine = [each for each in api_clients_of(found, await _rights(world)) if each.turn is turn]
        old = [each for each in mine if _restarted(_value(found, each.id)) < since]
        for each in old:
            if not each.is_rolling:
                world.tell(id, f"{each.id} replaces no pods by itself: delete them, one after the other")
        rolling = [each for each in old if each.is_rolling]
        if not rolling:
            return None
        return PendingChange(
            writes=tuple(f"restart {each.id}" for each in rolling), perform=lambda: _restart(rolling, world)
        )

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

    return WalkStage(id=id, name=name, look=look, wait=wait)


async def _restart(clients: Sequence[ApiClient], world: World) -> None:
    now = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {"spec": {"template": {"metadata": {"annotations": {RESTARTED: now}}}}}
    for each in clients:
        try:
            await world.kube.patch(
                "apps/v1", each.id.kind, each.id.name, body, manager=MANAGER, namespace=each.id.namespace
            )
        except kube.NotFound:
            continue  # somebody has deleted it meanwhile


async def _judged(turn: RestartTurn, world: World) -> Verdict:
    try:
        found = await _found(world)
        nodes = (await world.kube.list("v1", "Node")).items
        mine = [each for each in api_clients_of(found, await _rights(world)) if each.turn is turn]
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
    record = etcd_recovery.read(world.state, cluster.name)
    return float(int(record.restored)) if record is not None else 0.0
