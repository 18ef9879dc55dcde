"""Workloads that remember what the Kubernetes API told them: after etcd was restored they must begin anew.

Resource versions go backwards then. A watch that goes on from a later one sees nothing, and what was cached is from a
future that did not happen. Who may watch is written in RBAC; agents of the network are known by what they mount.
"""

import dataclasses
import enum
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.model.component import ObjectId

_ENGINES = frozenset({"flux", "argocd"})
_PART_OF = "app.kubernetes.io/part-of"
_NETWORK = ("/etc/cni", "/opt/cni")
_EVERYBODY = "system:serviceaccounts"


class Turn(enum.IntEnum):
    """Who begins anew first: pods need a network, and the engine what others serve."""

    NETWORK = 0
    OTHERS = 1
    ENGINE = 2


@dataclasses.dataclass(frozen=True, kw_only=True)
class Client:
    """A workload that watches the API."""

    id: ObjectId
    turn: Turn
    is_rolling: bool = True
    """Whether it replaces its pods itself when its template changes."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rights:
    """Who may do what: objects as the API lists them."""

    roles: Sequence[Mapping[str, Any]] = ()
    cluster_roles: Sequence[Mapping[str, Any]] = ()
    role_bindings: Sequence[Mapping[str, Any]] = ()
    cluster_role_bindings: Sequence[Mapping[str, Any]] = ()


def clients(workloads: Mapping[str, Sequence[Mapping[str, Any]]], rights: Rights) -> tuple[Client, ...]:
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
            turn = Turn.NETWORK if is_network else Turn.ENGINE if _is_engine(value) else Turn.OTHERS
            strategy = text(value, "spec", "updateStrategy", "type")
            identity = ObjectId("apps", kind, namespace, text(value, "metadata", "name"))
            found.append(Client(id=identity, turn=turn, is_rolling=strategy != "OnDelete"))
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
