"""Agents: every DaemonSet runs on every node that it is for, and the CNI's on all of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import number, sequence, text
from firstlight.gates import looking, parts, replicas, status
from firstlight.gates.question import Question
from firstlight.model.observation import Look, View
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Skipped, Verdict, Waiting

DAEMON_SETS = Look(api_version="apps/v1", kind="DaemonSet")


def question() -> Question:
    """All DaemonSets against all nodes."""
    part = parts.Part((DAEMON_SETS, looking.NODES), judge)
    return parts.question(Gate(Subject.CNI), "agents on all nodes", part, hint="See: kubectl get daemonsets -A")


def judge(view: View) -> Verdict:
    """The worst of them, or how many of each there are."""
    nodes = view.all(looking.NODES)
    found = [_judged(each, nodes) for each in view.all(DAEMON_SETS) if not status.is_going(each)]
    return parts.worst(found) if found else Skipped("there is no DaemonSet")


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
