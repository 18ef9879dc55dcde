"""What stands on a workload: the network of nodes, DNS, an engine, Services, so that its trouble explains theirs."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, mapping, sequence, text
from firstlight.gates import selecting
from firstlight.gates.causes import of_pods
from firstlight.model.diagnosis import Layer
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.groups import Group
from firstlight.policy.diagnosing.scene import Scene

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
FLUX = ("source-controller", "kustomize-controller", "helm-controller", "notification-controller")
ARGOCD = ("argocd-application-controller", "argocd-repo-server", "argocd-server", "argocd-redis")
_OPERATORS = ("flux-operator",)
_SECRETS = ("external-secrets", "external-secrets-webhook", "sealed-secrets-controller")
_CERTIFICATES = ("cert-manager", "cert-manager-webhook", "cert-manager-cainjector")

_PLANE = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
_KNOWN = (*FLUX, *ARGOCD, *_OPERATORS, *_SECRETS, *_CERTIFICATES, "cilium-operator")


def is_agent(group: Group) -> bool:
    """Whether it makes the network of nodes."""
    return group.subject.startswith("DaemonSet ") and group.name in _AGENTS


def is_dns(group: Group) -> bool:
    """Whether it answers for names in the cluster."""
    return text(group.labels, "k8s-app") in ("kube-dns", "coredns") or group.name == "coredns"


def is_engine(group: Group) -> bool:
    """Whether it is a controller of Flux or Argo CD."""
    return controller_of(group) in (*FLUX, *ARGOCD, *_OPERATORS)


def controller_of(group: Group) -> str:
    """The controller that a workload is, by the name that its project gave it."""
    labels = group.labels
    name = text(labels, "app.kubernetes.io/name")
    if text(labels, "app.kubernetes.io/part-of") == "argocd":
        return name if name.startswith("argocd-") else f"argocd-{text(labels, 'app.kubernetes.io/component')}"
    called = {group.name, text(labels, "app"), name}
    for known in _KNOWN:
        if known in called:
            return known
    return group.name


def _plane(group: Group) -> str:
    """The part of the control plane that a static pod is; empty for other pods."""
    if group.namespace != "kube-system" or not group.subject.startswith("Pod "):
        return ""
    return next((each for each in _PLANE if group.name.startswith(f"{each}-")), "")


def layer(group: Group) -> Layer | None:
    """Where its trouble counts; None where it is a workload as any other."""
    if _plane(group):
        return Layer.API
    if is_agent(group) or controller_of(group) == "cilium-operator":
        return Layer.NETWORK
    if is_dns(group):
        return Layer.DNS
    if is_engine(group):
        return Layer.ENGINE
    name = controller_of(group)
    if name in _SECRETS:
        return Layer.SECRETS
    return Layer.ADMISSION if name in _CERTIFICATES else None


def names(group: Group, scene: Scene) -> frozenset[str]:
    """What does not work while it does not."""
    told = {found.controller(controller_of(group)), *(f"Pod {group.namespace}/{_name(each)}" for each in group.pods)}
    for service in scene.inside("/Service", group.namespace):
        if selecting.matches({"matchLabels": mapping(service, "spec", "selector")}, group.labels):
            told.add(f"Service {group.namespace}/{_name(service)}")
    for storage in scene.of("storage.k8s.io/StorageClass"):
        provisioner = text(storage, "provisioner")
        if provisioner and provisioner in str(group.template.get("spec")):
            told.add(f"provisioner {provisioner}")
    if is_agent(group):
        told |= _networks(group, scene)
    if plane := _plane(group):
        told |= {found.controller(plane), *((found.API,) if plane == "kube-apiserver" else ())}
    if is_dns(group) and not any(of_pods.is_ready(each) for each in group.pods):
        told.add(found.DNS)
    if is_engine(group):
        told.add(found.ENGINE)
    return frozenset(told)


def endpoints(scene: Scene, namespace: str, name: str) -> int | None:
    """How many ready endpoints a Service has; None where that was not seen."""
    if not scene.is_listed("discovery.k8s.io/EndpointSlice"):
        return None
    return sum(
        bool(sequence(each, "addresses")) and at(each, "conditions", "ready") is not False
        for slice_ in scene.inside("discovery.k8s.io/EndpointSlice", namespace)
        if text(slice_, "metadata", "labels", "kubernetes.io/service-name") == name
        for each in sequence(slice_, "endpoints")
    )


def _networks(group: Group, scene: Scene) -> set[str]:
    well = {text(each, "spec", "nodeName") for each in group.pods if of_pods.is_ready(each)}
    without = [_name(node) for node in scene.of("/Node") if _name(node) not in well]
    return {found.network_of(each) for each in without} | (set() if well else {found.NETWORK})


def _name(value: Mapping[str, Any]) -> str:
    return text(value, "metadata", "name")
