"""Nodes: every declared machine has joined and is ready; none lacks memory, disk or processes; no guard is left."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from firstlight.document import conditions
from firstlight.document.within import mapping, number, sequence, text
from firstlight.engines import adapters, revisions
from firstlight.engines.engine_kind import EngineKind, VerdictFacts
from firstlight.gates import gate_parts, node_ready, pod_placement, replicas
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.cluster import Cluster, Machine
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

_PRESSURES = ("MemoryPressure", "DiskPressure", "PIDPressure")
_GUARDS = ("node.cilium.io/agent-not-ready", "node.cloudprovider.kubernetes.io/uninitialized")
"""Taints that something takes away when it works."""


def nodes_question(machines: Sequence[Machine]) -> GateQuestion:
    """All nodes against the declared machines."""
    part = gate_parts.GatePart((gate_parts.NODES,), lambda view: judge_nodes(view, machines))
    return gate_parts.make_question(Gate(Subject.NODES), "nodes", part, hint="See: kubectl describe nodes")


def judge_nodes(view: GateView, machines: Sequence[Machine]) -> Verdict:
    """What the gate says, and what a node complains of besides."""
    verdict = node_ready.judge(view, machines)
    complaints = [told for node in view.all(gate_parts.NODES) for told in _complaints(node)]
    if not isinstance(verdict, Passed) or not complaints:
        return verdict
    return Waiting("; ".join(complaints))


def _complaints(node: Mapping[str, Any]) -> list[str]:
    name = text(node, "metadata", "name")
    pressures = [f"{name} reports {each}" for each in _PRESSURES if conditions.is_true(node, each)]
    guards = [text(each, "key") for each in pod_placement.taints(node)]
    return pressures + [f"{name} still has the taint {each}" for each in guards if each in _GUARDS]


# Agents: every DaemonSet runs on every node that it is for, and the CNI's on all of them.


DAEMON_SETS = WatchTarget(api_version="apps/v1", kind="DaemonSet")


def agents_question() -> GateQuestion:
    """All DaemonSets against all nodes."""
    part = gate_parts.GatePart((DAEMON_SETS, gate_parts.NODES), judge_agents)
    return gate_parts.make_question(
        Gate(Subject.CNI), "agents on all nodes", part, hint="See: kubectl get daemonsets -A"
    )


def judge_agents(view: GateView) -> Verdict:
    """The worst of them, or how many of each there are."""
    nodes = view.all(gate_parts.NODES)
    found = [_judged(each, nodes) for each in view.all(DAEMON_SETS) if not conditions.is_going(each)]
    return gate_parts.worst(found) if found else Skipped("there is no DaemonSet")


def _judged(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Verdict:
    name = text(value, "metadata", "name")
    verdict = replicas.daemon_set(value, nodes)
    desired = number(value, "status", "desiredNumberScheduled")
    if isinstance(verdict, Passed) and _is_network(value) and desired < len(nodes):
        return Waiting(f"{name} is to be on {desired} of {len(nodes)} nodes, and pods have no network without it")
    return type(verdict)(f"{name} {verdict.reason}")


def _is_network(value: Mapping[str, Any]) -> bool:
    """Whether it writes CNI's configuration on the host."""
    volumes = sequence(value, "spec", "template", "spec", "volumes")
    return any("/cni/net.d" in text(each, "hostPath", "path") for each in volumes)


# Operators with replicas that keep apart: as many as nodes can take, and none was scaled by hand to get there.


DEPLOYMENTS = WatchTarget(api_version="apps/v1", kind="Deployment")
_AUTOSCALER = "kube-controller-manager"
"""As whom a HorizontalPodAutoscaler scales."""


def operators_question() -> GateQuestion:
    """All Deployments whose replicas cannot share a node."""
    part = gate_parts.GatePart((DEPLOYMENTS, gate_parts.NODES), judge_operators)
    return gate_parts.make_question(
        Gate(Subject.WORKLOAD), "operator replicas", part, hint="See: kubectl get deployments -A"
    )


def judge_operators(view: GateView) -> Verdict:
    """The worst of them, or how many replicas each has."""
    nodes = view.all(gate_parts.NODES)
    found = [_operators_judged(each, nodes) for each in view.all(DEPLOYMENTS) if _is_apart(each, nodes)]
    if not found:
        return Skipped("no Deployment keeps its replicas apart")
    verdict = gate_parts.worst(found)
    return Passed(f"{verdict.reason}; none was scaled by hand") if isinstance(verdict, Passed) else verdict


def _is_apart(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> bool:
    is_several = number(value, "spec", "replicas") > 1 and not conditions.is_going(value)
    return is_several and bool(pod_placement.room(mapping(value, "spec", "template"), nodes).apart)


def _operators_judged(value: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> Verdict:
    name = text(value, "metadata", "name")
    by_hand = sorted(
        text(entry, "manager")
        for entry in sequence(value, "metadata", "managedFields")
        if text(entry, "subresource") == "scale" and text(entry, "manager") != _AUTOSCALER
    )
    if by_hand:
        return Failed(f"{name} was scaled by {', '.join(by_hand)}, not by the scheduler's finding a node")
    verdict = replicas.deployment(value, nodes)
    return type(verdict)(f"{name} {verdict.reason}")


# The engine: everything that it follows is synced, and at the commit that was rendered.


def engine_question(cluster: Cluster, revision: str, *, resting: Collection[ObjectId] = ()) -> GateQuestion:
    """Ask of everything that the engine follows: all Kustomizations, or all Applications.

    Args:
        cluster: Whose engine.
        revision: The commit that was rendered; empty where it is not known.
        resting: Those that Git lets rest: bootstrap keeps what they declare, and nobody waits for them.
    """
    kind = adapters.followed(cluster.engine) if cluster.engine else None
    part = gate_parts.GatePart(
        (kind.everything, *kind.verdicts.beside) if kind is not None else (),
        lambda view: judge_engine(view, cluster=cluster, revision=revision, resting=resting),
    )
    hint = f"See: {adapters.ADAPTERS[cluster.engine].list_command}" if cluster.engine else ""
    return gate_parts.make_question(Gate(Subject.ENGINE), "engine", part, hint=hint)


def judge_engine(view: GateView, *, cluster: Cluster, revision: str, resting: Collection[ObjectId] = ()) -> Verdict:
    """The worst of what it follows, or how many there are at which commit."""
    if cluster.engine is None:
        return Skipped("no engine is declared")
    kind = adapters.followed(cluster.engine)
    look, facts = kind.everything, VerdictFacts(view=view, expected=revision, url=cluster.url)
    if look in view.unserved:
        return Waiting(f"{look.kind} is not served: {cluster.engine} is not installed")
    followed = view.all(look)
    if not followed:
        return Waiting(f"there is no {look.kind}: {cluster.engine} follows nothing yet")

    def judged(value: Mapping[str, Any]) -> Verdict:
        space, called = text(value, "metadata", "namespace"), text(value, "metadata", "name")
        name = f"{look.kind} {space}/{called}"
        is_declared = ObjectId(kind.group, kind.kind, space, called) in resting
        if (paused := kind.verdicts.suspended(value, name, is_declared=is_declared)) is not None:
            return paused
        return kind.verdicts.judge(value, name, facts) if kind.verdicts.judge else Skipped(f"{name} has no state")

    verdicts = [judged(each) for each in followed]
    verdict = gate_parts.worst(verdicts)
    if not isinstance(verdict, Passed):
        return verdict
    at_rest = sum(isinstance(each, Skipped) for each in verdicts)
    count = len(followed) - at_rest
    plural = "" if count == 1 else "s"
    rests = f", {at_rest} at rest" if at_rest else ""
    working = [each for each, one in zip(followed, verdicts, strict=True) if not isinstance(one, Skipped)]
    commits = _commits(working, kind, [each for one in kind.verdicts.beside for each in view.all(one)], cluster.url)
    return Passed(f"{count} {look.kind}{plural} synced{commits}{rests}")


def _commits(
    followed: Sequence[Mapping[str, Any]], kind: EngineKind, sources: Sequence[Mapping[str, Any]], url: str
) -> str:
    """At which commits of the repo they are, as they say themselves; others follow other repositories."""
    applied = [each for each in (kind.applied_from(one, sources, url) for one in followed) if each]
    if not applied:
        return f", none of them from {url or 'a Git repository'}"
    names = ", ".join(sorted({revisions.commit(each)[:7] or revisions.short(each) for each in applied}))
    return f" at {names}" if len(applied) == len(followed) else f", {len(applied)} of them at {names}"
