"""Pods by what makes them: a Deployment with its pods is one thing that works or does not."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, sequence, text
from firstlight.gates import replicas, status
from firstlight.gates.causes import of_pods
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.policy.diagnosing.scene import Scene, name_of

_MAKERS = {"Deployment": "apps/", "DaemonSet": "apps/", "StatefulSet": "apps/", "ReplicaSet": "apps/", "Job": "batch/"}
_VERDICTS = {
    "Deployment": replicas.deployment,
    "DaemonSet": replicas.daemon_set,
    "StatefulSet": replicas.stateful_set,
    "ReplicaSet": replicas.replica_set,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What makes pods, and its pods."""

    subject: str
    workload: Mapping[str, Any] | None
    """None where the pods are made by something that was not seen, or by hand."""
    pods: tuple[Mapping[str, Any], ...]

    @property
    def value(self) -> Mapping[str, Any]:
        """The workload, or else the first pod."""
        return self.workload if self.workload is not None else self.pods[0]

    @property
    def namespace(self) -> str:
        """Where it is."""
        return text(self.value, "metadata", "namespace")

    @property
    def name(self) -> str:
        """What the workload, or else the first pod, is called."""
        return text(self.value, "metadata", "name")

    @property
    def template(self) -> Mapping[str, Any]:
        """What its pods are like."""
        return mapping(self.workload, "spec", "template") if self.workload is not None else self.pods[0]

    @property
    def labels(self) -> Mapping[str, Any]:
        """The labels of its pods."""
        return mapping(self.template, "metadata", "labels")


def all_of(scene: Scene) -> tuple[Group, ...]:
    """All of a cluster, also those without pods; ReplicaSets of a Deployment are the Deployment's."""
    pods: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for pod in scene.of("/Pod"):
        pods.setdefault(_top(scene, pod), []).append(pod)
    made = {
        (kind, text(each, "metadata", "namespace"), text(each, "metadata", "name")): each
        for kind, group in _MAKERS.items()
        for each in scene.of(f"{group}{kind}")
        if not _owner(each) or kind == "Job"
    }
    keys = sorted({*pods, *made})
    return tuple(Group(subject=_named(key), workload=made.get(key), pods=tuple(pods.get(key, ()))) for key in keys)


def subject_of(scene: Scene, pod: Mapping[str, Any]) -> str:
    """What makes a pod."""
    return _named(_top(scene, pod))


def ready_pods(group: Group) -> int:
    """How many of its pods serve."""
    return sum(of_pods.is_ready(each) for each in group.pods)


def verdict(group: Group, scene: Scene) -> Verdict:
    """Whether it has what it must have, as far as nodes take it."""
    workload = group.workload
    rule = _VERDICTS.get(text(workload, "kind"))
    if workload is None or rule is None:
        well = all(of_pods.is_ready(each) for each in group.pods)
        return Passed("") if well else Waiting("")
    if not status.is_seen(workload):
        return Passed("its controller has not come to it")
    return rule(workload, scene.of("/Node"))


def _named(key: tuple[str, str, str]) -> str:
    kind, namespace, name = key
    return name_of({"kind": kind, "metadata": {"namespace": namespace, "name": name}})


def _top(scene: Scene, pod: Mapping[str, Any]) -> tuple[str, str, str]:
    namespace = text(pod, "metadata", "namespace")
    owner = _owner(pod)
    kind, name = text(owner, "kind"), text(owner, "name")
    if kind == "ReplicaSet":
        above = _owner(scene.one("apps/ReplicaSet", name, namespace=namespace) or {})
        digest = text(pod, "metadata", "labels", "pod-template-hash")
        deployment = text(above, "name") or (name.removesuffix(f"-{digest}") if digest else "")
        if scene.one("apps/Deployment", deployment, namespace=namespace) is not None:
            return "Deployment", namespace, deployment
    if kind in _MAKERS:
        return kind, namespace, name
    return "Pod", namespace, text(pod, "metadata", "name")


def _owner(value: Mapping[str, Any]) -> Mapping[str, Any]:
    for each in sequence(value, "metadata", "ownerReferences"):
        if mapping(each).get("controller") is True:
            return mapping(each)
    return {}
