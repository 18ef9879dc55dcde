"""Pods by what makes them: a Deployment with its pods is one thing that works or does not."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from firstlight.commands.doctor import symptoms
from firstlight.commands.doctor.symptoms import SymptomLayer
from firstlight.document import conditions
from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import label_selector, replicas
from firstlight.gates.causes import pods as causes_pods
from firstlight.model import argocd_names, flux_names
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_MAKERS = {"Deployment": "apps/", "DaemonSet": "apps/", "StatefulSet": "apps/", "ReplicaSet": "apps/", "Job": "batch/"}
_VERDICTS = {
    "Deployment": replicas.deployment,
    "DaemonSet": replicas.daemon_set,
    "StatefulSet": replicas.stateful_set,
    "ReplicaSet": replicas.replica_set,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PodGroup:
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


def pod_groups(scene: ClusterObservation) -> tuple[PodGroup, ...]:
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
    return tuple(PodGroup(subject=_named(key), workload=made.get(key), pods=tuple(pods.get(key, ()))) for key in keys)


def subject_of(scene: ClusterObservation, pod: Mapping[str, Any]) -> str:
    """What makes a pod."""
    return _named(_top(scene, pod))


def ready_pods(group: PodGroup) -> int:
    """How many of its pods serve."""
    return sum(causes_pods.is_ready(each) for each in group.pods)


def group_verdict(group: PodGroup, scene: ClusterObservation) -> Verdict:
    """Whether it has what it must have, as far as nodes take it."""
    workload = group.workload
    rule = _VERDICTS.get(text(workload, "kind"))
    if workload is None or rule is None:
        well = all(causes_pods.is_ready(each) for each in group.pods)
        return Passed("") if well else Waiting("")
    if not conditions.is_seen(workload):
        return Passed("its controller has not come to it")
    return rule(workload, scene.of("/Node"))


def _named(key: tuple[str, str, str]) -> str:
    kind, namespace, name = key
    return name_of({"kind": kind, "metadata": {"namespace": namespace, "name": name}})


def _top(scene: ClusterObservation, pod: Mapping[str, Any]) -> tuple[str, str, str]:
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


# What stands on a workload: the network of nodes, DNS, an engine, Services, so that its trouble explains theirs.


_AGENTS = (
    "cilium",
    "kube-flannel",
    "kube-flannel-ds",
    "calico-node",
    "canal",
    "antrea-agent",
    "kube-ovn-cni",
    "kube-router",
)
"""DaemonSets that make a node's network."""
FLUX_CONTROLLERS = (
    flux_names.SOURCE_CONTROLLER,
    flux_names.KUSTOMIZE_CONTROLLER,
    flux_names.HELM_CONTROLLER,
    flux_names.NOTIFICATION_CONTROLLER,
)
ARGOCD_CONTROLLERS = (
    argocd_names.APPLICATION_CONTROLLER,
    argocd_names.REPO_SERVER,
    argocd_names.SERVER,
    argocd_names.REDIS,
)
_OPERATORS = (flux_names.FLUX_OPERATOR,)
_SECRETS = ("external-secrets", "external-secrets-webhook", "sealed-secrets-controller")
_CERTIFICATES = ("cert-manager", "cert-manager-webhook", "cert-manager-cainjector")

_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_KNOWN = (*FLUX_CONTROLLERS, *ARGOCD_CONTROLLERS, *_OPERATORS, *_SECRETS, *_CERTIFICATES, "cilium-operator")


def is_agent(group: PodGroup) -> bool:
    """Whether it makes the network of nodes."""
    return group.subject.startswith("DaemonSet ") and group.name in _AGENTS


def is_dns(group: PodGroup) -> bool:
    """Whether it answers for names in the cluster."""
    return text(group.labels, "k8s-app") in ("kube-dns", "coredns") or group.name == "coredns"


def is_engine(group: PodGroup) -> bool:
    """Whether it is a controller of Flux or Argo CD."""
    return controller_of(group) in (*FLUX_CONTROLLERS, *ARGOCD_CONTROLLERS, *_OPERATORS)


def controller_of(group: PodGroup) -> str:
    """The controller that a workload is, by the name that its project gave it."""
    labels = group.labels
    name = text(labels, "app.kubernetes.io/name")
    if text(labels, "app.kubernetes.io/part-of") == argocd_names.PART_OF:
        return name if name.startswith("argocd-") else f"argocd-{text(labels, 'app.kubernetes.io/component')}"
    called = {group.name, text(labels, "app"), name}
    for known in _KNOWN:
        if known in called:
            return known
    return group.name


def _plane(group: PodGroup) -> str:
    """The part of the control plane that a static pod is; empty for other pods."""
    if group.namespace != "kube-system" or not group.subject.startswith("Pod "):
        return ""
    return next((each for each in _PLANE if group.name.startswith(f"{each}-")), "")


def layer_of_group(group: PodGroup) -> SymptomLayer | None:
    """Where its trouble counts; None where it is a workload as any other."""
    if _plane(group):
        return SymptomLayer.API
    if is_agent(group) or controller_of(group) == "cilium-operator":
        return SymptomLayer.NETWORK
    if is_dns(group):
        return SymptomLayer.DNS
    if is_engine(group):
        return SymptomLayer.ENGINE
    name = controller_of(group)
    if name in _SECRETS:
        return SymptomLayer.SECRETS
    return SymptomLayer.ADMISSION if name in _CERTIFICATES else None


def names_of_group(group: PodGroup, scene: ClusterObservation) -> frozenset[str]:
    """What does not work while it does not."""
    told = {
        symptoms.controller(controller_of(group)),
        *(f"Pod {group.namespace}/{_name(each)}" for each in group.pods),
    }
    for service in scene.inside("/Service", group.namespace):
        if label_selector.matches({"matchLabels": mapping(service, "spec", "selector")}, group.labels):
            told.add(f"Service {group.namespace}/{_name(service)}")
    for storage in scene.of("storage.k8s.io/StorageClass"):
        provisioner = text(storage, "provisioner")
        if provisioner and provisioner in str(group.template.get("spec")):
            told.add(f"provisioner {provisioner}")
    if is_agent(group):
        told |= _networks(group, scene)
    if plane := _plane(group):
        told |= {symptoms.controller(plane), *((symptoms.API,) if plane == "kube-apiserver" else ())}
    if is_dns(group) and not any(causes_pods.is_ready(each) for each in group.pods):
        told.add(symptoms.DNS)
    if is_engine(group):
        told.add(symptoms.ENGINE)
    return frozenset(told)


def endpoints(scene: ClusterObservation, namespace: str, name: str) -> int | None:
    """How many ready endpoints a Service has; None where that was not seen."""
    if not scene.is_listed("discovery.k8s.io/EndpointSlice"):
        return None
    return sum(
        bool(sequence(each, "addresses")) and at(each, "conditions", "ready") is not False
        for slice_ in scene.inside("discovery.k8s.io/EndpointSlice", namespace)
        if text(slice_, "metadata", "labels", "kubernetes.io/service-name") == name
        for each in sequence(slice_, "endpoints")
    )


def _networks(group: PodGroup, scene: ClusterObservation) -> set[str]:
    well = {text(each, "spec", "nodeName") for each in group.pods if causes_pods.is_ready(each)}
    without = [_name(node) for node in scene.of("/Node") if _name(node) not in well]
    return {symptoms.network_of(each) for each in without} | (set() if well else {symptoms.NETWORK})


def _name(value: Mapping[str, Any]) -> str:
    return text(value, "metadata", "name")
