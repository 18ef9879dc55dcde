"""What is being deleted and does not go: finalizers that nobody removes, namespaces, pods of lost nodes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import symptoms, workload_groups
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.model import argocd_names, flux_names
from firstlight.observe.cluster.observation import ClusterObservation, kind_of, name_of

_LONG = 5.0
"""Times the patience: deleting takes a while when much is deleted."""
_REMOVERS = {
    argocd_names.RESOURCES_FINALIZER: argocd_names.APPLICATION_CONTROLLER,
    argocd_names.PRE_DELETE_FINALIZER: argocd_names.APPLICATION_CONTROLLER,
    argocd_names.POST_DELETE_FINALIZER: argocd_names.APPLICATION_CONTROLLER,
    "external-secrets.io/": "external-secrets",
    "finalizer.acme.cert-manager.io": "cert-manager",
    "acme.cert-manager.io/finalizer": "cert-manager",
    "service.kubernetes.io/load-balancer-cleanup": "cilium-operator",
}
_FLUX = {
    "source": flux_names.SOURCE_CONTROLLER,
    "kustomize": flux_names.KUSTOMIZE_CONTROLLER,
    "helm": flux_names.HELM_CONTROLLER,
    "notification": flux_names.NOTIFICATION_CONTROLLER,
}
_SYSTEM = {
    "kubernetes.io/pvc-protection": "a pod still uses it",
    "kubernetes.io/pv-protection": "a claim still uses it",
    "foregroundDeletion": "what it owns is deleted before it",
    "customresourcecleanup.apiextensions.k8s.io": "objects of this kind are still there",
}


def stuck_deletions(scene: ClusterObservation) -> Iterator[Symptom]:
    """Objects whose finalizers stay."""
    there = {workload_groups.controller_of(each): each for each in workload_groups.pod_groups(scene)}
    for value in scene.objects:
        since = conditions.moment(text(value, "metadata", "deletionTimestamp"))
        waits = [each for each in sequence(value, "metadata", "finalizers") if isinstance(each, str)]
        if since is None or not waits or kind_of(value) == "/Namespace" or not scene.is_over(since, times=_LONG):
            continue
        finalizer = waits[0]
        remover = remover_of(finalizer, value)
        yield symptoms.symptom(
            code="stuck-finalizer",
            subject=name_of(value),
            message=f"{name_of(value)} is being deleted and waits for its finalizer {finalizer}: "
            + _who(finalizer, remover, there),
            evidence=(
                symptoms.of_field(value, "metadata.deletionTimestamp", text(value, "metadata", "deletionTimestamp")),
                symptoms.of_field(value, "metadata.finalizers", ", ".join(waits)),
            ),
            next=(
                _look(remover, there),
                symptoms.kubectl("get -o yaml", value, "what it says of its own deletion"),
            ),
            since=since,
            needs=symptoms.names(symptoms.controller(remover) if remover else "", _users(value, finalizer, scene)),
        )


def remover_of(finalizer: str, value: Mapping[str, Any]) -> str:
    """The controller that must remove a finalizer; empty where nobody knows it."""
    if finalizer == flux_names.FINALIZER:
        return _FLUX.get(kind_of(value).partition(".")[0], "")
    return next((name for start, name in _REMOVERS.items() if finalizer.startswith(start)), "")


def _who(finalizer: str, remover: str, there: Mapping[str, workload_groups.PodGroup]) -> str:
    if finalizer in _SYSTEM:
        return _SYSTEM[finalizer]
    if not remover:
        owner = finalizer.partition("/")[0]
        return f"the controller of {owner} must remove it, if it still runs"
    if remover not in there:
        return f"{remover}, which must remove it, is not there"
    if not workload_groups.ready_pods(there[remover]):
        return f"{remover}, which must remove it, does not run"
    return f"{remover} must remove it, and runs: its log tells why it does not"


def _look(remover: str, there: Mapping[str, workload_groups.PodGroup]) -> NextCommand:
    group = there.get(remover)
    if group is None or group.workload is None:
        return symptoms.command("kubectl get deployments -A", "whether the controller that must remove it is there")
    kind = text(group.workload, "kind").lower()
    return symptoms.command(f"kubectl -n {group.namespace} logs {kind}/{group.name}", "why it does not remove it")


def _users(value: Mapping[str, Any], finalizer: str, scene: ClusterObservation) -> Iterator[str]:
    """What is deleted before it: custom resources before their CRD, pods before their claim."""
    if finalizer.startswith("customresourcecleanup"):
        kind = text(value, "spec", "names", "kind")
        yield from (name_of(each) for each in scene.objects if text(each, "kind") == kind and conditions.is_going(each))


def going_namespaces(scene: ClusterObservation) -> Iterator[Symptom]:
    """Namespaces that do not go."""
    for value in scene.of("/Namespace"):
        since = conditions.moment(text(value, "metadata", "deletionTimestamp"))
        if since is None or not scene.is_over(since, times=_LONG):
            continue
        name = text(value, "metadata", "name")
        kinds = ("NamespaceDeletionDiscoveryFailure", "NamespaceFinalizersRemaining", "NamespaceContentRemaining",
                 "NamespaceDeletionContentFailure")  # fmt: skip
        true = [each for each in kinds if conditions.is_true(value, each)]
        message = conditions.said(text(conditions.condition(value, true[0]), "message")) if true else ""
        inside = {
            name_of(each)
            for each in scene.objects
            if text(each, "metadata", "namespace") == name and conditions.is_going(each)
        }
        down = set(re.findall(r"\b([a-z0-9.-]+/v[0-9][a-z0-9]*)\b", message)) if true[:1] == [kinds[0]] else set()
        services = {f"APIService {version}.{group}" for group, _, version in (each.partition("/") for each in down)}
        yield symptoms.symptom(
            code="namespace-terminating",
            subject=name_of(value),
            message=f"{name_of(value)} is being deleted and does not go: {message or 'something in it stays'}",
            evidence=tuple(symptoms.of_condition(value, each) for each in true[:2])
            or (symptoms.of_field(value, "metadata.deletionTimestamp", text(value, "metadata", "deletionTimestamp")),),
            next=(symptoms.command(f"kubectl get namespace {name} -o yaml", "its conditions name what stays"),),
            since=since,
            needs=symptoms.names(inside, services),
        )


def going_pods(scene: ClusterObservation) -> Iterator[Symptom]:
    """Pods that should have ended long ago: their node does not answer."""
    for value in scene.of("/Pod"):
        since = conditions.moment(text(value, "metadata", "deletionTimestamp"))
        if since is None or sequence(value, "metadata", "finalizers") or not scene.is_over(since, times=_LONG):
            continue
        node = text(value, "spec", "nodeName")
        yield symptoms.symptom(
            code="pod-terminating",
            subject=name_of(value),
            message=f"{name_of(value)} should have ended, and its node {node or '(none)'} has not said so",
            evidence=(
                symptoms.of_field(value, "metadata.deletionTimestamp", text(value, "metadata", "deletionTimestamp")),
            ),
            next=(
                symptoms.command(
                    f"kubectl get node {node} -o wide" if node else "kubectl get nodes", "whether it answers"
                ),
            ),
            since=since,
            needs=symptoms.names(f"Node {node}" if node else ""),
        )
