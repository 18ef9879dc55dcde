"""The network of the cluster: a CNI that is missing or not everywhere, and DNS that nobody answers for."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import symptoms, workload_groups
from firstlight.commands.doctor.symptoms import Symptom
from firstlight.document import conditions
from firstlight.document.within import number, text
from firstlight.gates.causes import scheduling
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_UNAVAILABLE = "NetworkUnavailable"
_UP = ("CiliumIsUp", "FlannelIsUp", "CalicoIsUp")
"""What agents write that are known by the names of their DaemonSets, too."""


def agents(scene: ClusterObservation) -> Iterator[Symptom]:
    """The CNI: missing, or not running on nodes that need it."""
    found_agents = [each for each in workload_groups.pod_groups(scene) if workload_groups.is_agent(each)]
    for group in found_agents:
        desired = number(group.workload, "status", "desiredNumberScheduled")
        names = workload_groups.names_of_group(group, scene)
        without = sorted(each for each in names if each.startswith("network of "))
        created = conditions.created(group.value)
        if group.workload is None or not without or not scene.is_over(created, times=2) or not scene.of("/Node"):
            continue
        well = workload_groups.ready_pods(group)
        sick = [each for each in group.pods if not conditions.is_true(each, "Ready")]
        began = [
            moment
            for each in sick
            if (moment := conditions.condition_since(each, "Ready") or conditions.created(each)) is not None
        ]
        if sick and not scene.is_over(min(began, default=None)):
            continue
        nodes = [each.removeprefix("network of ") for each in without]
        yield symptoms.symptom(
            code="cni-agents-down",
            subject=f"agents of {group.name}",
            message=f"{group.name} runs on {well} of {max(desired, len(scene.of('/Node')))} nodes, and not on "
            f"{', '.join(nodes[:3])}{' …' if len(nodes) > 3 else ''}: pods there get no network",
            evidence=(symptoms.of_field(group.value, "status.numberReady", well),),
            next=(
                symptoms.kubectl("describe", group.value),
                symptoms.command(f"kubectl -n {group.namespace} get pods -o wide"),
            ),
            since=min(began, default=created),
            names=names - {group.subject},
            needs=symptoms.names(
                group.subject, (f"machine {each}" for each in nodes), (f"Node {each}" for each in _silent(nodes, scene))
            ),
        )
    if not found_agents:
        yield from _no_agents(scene)


def _silent(nodes: list[str], scene: ClusterObservation) -> list[str]:
    return [
        each for each in nodes if text(conditions.condition(scene.one("/Node", each), "Ready"), "status") == "Unknown"
    ]


def _no_agents(scene: ClusterObservation) -> Iterator[Symptom]:
    bare = [
        each
        for each in scene.of("/Node")
        if (cause := scheduling.node_cause(each)) and "no CNI" in cause.what and scene.is_over(cause.since, times=2)
    ]
    if not scene.is_listed("apps/DaemonSet"):
        return
    if not bare:
        yield from _gone(scene)
        return
    yield symptoms.symptom(
        code="cni-not-installed",
        subject="network",
        message=f"no CNI is in the cluster: {symptoms.counted(len(bare), 'node')} without a network",
        evidence=(symptoms.of_condition(bare[0], "Ready"),),
        next=(symptoms.command(f"firstlight up {scene.cluster.name} --until inline", "brings what Talos applies"),),
        since=min((conditions.condition_since(each, "Ready") or scene.now for each in bare), default=None),
        names=frozenset({symptoms.NETWORK, *(symptoms.network_of(text(each, "metadata", "name")) for each in bare)}),
    )


def _gone(scene: ClusterObservation) -> Iterator[Symptom]:
    """Nodes that stay ready by what the CNI has left on their disks, though nobody is there any more to serve pods."""
    nodes = [each for each in scene.of("/Node") if _says_it_is_up(each)]
    if not nodes:
        return
    reason = text(conditions.condition(nodes[0], _UNAVAILABLE), "reason")
    yield symptoms.symptom(
        code="cni-not-installed",
        subject="network",
        message=f"the CNI is not in the cluster any more ({symptoms.counted(len(nodes), 'node')} had it: "
        f"{reason}): new pods "
        "get no network",
        evidence=(symptoms.of_condition(nodes[0], _UNAVAILABLE),),
        next=(
            symptoms.command(
                f"firstlight recover {scene.cluster.name}", "whether the engine can bring it back, or who else"
            ),
        ),
        names=frozenset({symptoms.NETWORK, *(symptoms.network_of(text(each, "metadata", "name")) for each in nodes)}),
    )


def _says_it_is_up(node: Mapping[str, Any]) -> bool:
    """Whether an agent wrote that it has made the node's network; it takes that back only while it runs."""
    found = conditions.condition(node, _UNAVAILABLE)
    return text(found, "status") == "False" and text(found, "reason") in _UP


def dns(scene: ClusterObservation) -> Iterator[Symptom]:
    """Cluster DNS that nobody answers for."""
    for service in scene.of("/Service"):
        space, name = text(service, "metadata", "namespace"), text(service, "metadata", "name")
        if (
            space != "kube-system"
            or name not in ("kube-dns", "coredns")
            or not scene.is_over(conditions.created(service), times=2)
        ):
            continue
        if workload_groups.endpoints(scene, space, name) == 0:
            group = next((each for each in workload_groups.pod_groups(scene) if workload_groups.is_dns(each)), None)
            message = (
                "no CoreDNS is in the cluster"
                if group is None
                else f"none of the {len(group.pods)} pods of {group.name} is ready"
            )
            yield symptoms.symptom(
                code="dns-down",
                subject=f"Service {space}/{name}",
                message=f"names are not found in the cluster: {message}",
                evidence=(symptoms.evidence(f"Service {space}/{name}, EndpointSlices", "no endpoint is ready"),),
                next=(
                    symptoms.command(
                        "kubectl -n kube-system get pods -l k8s-app=kube-dns -o wide", "why none is ready"
                    ),
                ),
                since=conditions.created(service),
                names=frozenset({symptoms.DNS}),
                needs=symptoms.names(
                    group.subject if group else "",
                    symptoms.NETWORK,
                    (symptoms.network_of(text(pod, "spec", "nodeName")) for pod in (group.pods if group else ())),
                    (f"Node {text(pod, 'spec', 'nodeName')}" for pod in (group.pods if group else ())),
                ),
            )


# Ways in from outside: Gateways that are not programmed, Ingresses of a class that does not exist.


def gateways(scene: ClusterObservation) -> Iterator[Symptom]:
    """Gateways that nobody has taken, or set up."""
    for value in scene.of("gateway.networking.k8s.io/Gateway"):
        bad = next((each for each in ("Accepted", "Programmed") if conditions.is_false(value, each)), "")
        unseen = text(conditions.condition(value, "Accepted"), "status") in ("", "Unknown")
        if not scene.is_over(conditions.created(value), times=2) or conditions.is_going(value) or not (bad or unseen):
            continue
        name = text(value, "spec", "gatewayClassName")
        space = text(value, "metadata", "namespace")
        is_known = scene.one("gateway.networking.k8s.io/GatewayClass", name) is not None
        said = conditions.said(text(conditions.condition(value, bad), "message")) if bad else ""
        why = said or ("no controller has taken it" if is_known else f"the GatewayClass {name} does not exist")
        own = [
            name_of(each)
            for each in scene.of("/Service")
            if text(each, "metadata", "namespace") == space
            and text(each, "metadata", "labels", "gateway.networking.k8s.io/gateway-name")
            == text(value, "metadata", "name")
        ]
        yield symptoms.symptom(
            code="gateway-not-programmed",
            subject=name_of(value),
            message=f"{name_of(value)} does not carry traffic: {why}",
            evidence=(symptoms.of_condition(value, bad or "Accepted"),),
            next=(
                symptoms.kubectl("describe", value),
                symptoms.command("kubectl get gatewayclasses", "which there are"),
            ),
            since=conditions.condition_since(value, bad) if bad else conditions.created(value),
            needs=symptoms.names(
                own,
                f"Service {space}/cilium-gateway-{text(value, 'metadata', 'name')}",
                symptoms.NETWORK,
                symptoms.controller("cilium-operator"),
                f"Namespace {space}",
                f"GatewayClass {name}",
            ),
        )


def ingresses(scene: ClusterObservation) -> Iterator[Symptom]:
    """Ingresses of a class that nobody serves."""
    if not scene.is_listed("networking.k8s.io/IngressClass"):
        return
    for value in scene.of("networking.k8s.io/Ingress"):
        name = text(value, "spec", "ingressClassName")
        if (
            not name
            or scene.one("networking.k8s.io/IngressClass", name) is not None
            or not scene.is_over(conditions.created(value))
        ):
            continue
        yield symptoms.symptom(
            code="ingress-class-missing",
            subject=name_of(value),
            message=f"{name_of(value)} is of the class {name}, which does not exist: nobody serves it",
            evidence=(symptoms.of_field(value, "spec.ingressClassName", name),),
            next=(symptoms.command("kubectl get ingressclasses", "which there are"),),
            since=conditions.created(value),
            needs=frozenset({f"Namespace {text(value, 'metadata', 'namespace')}"}),
        )
