"""Whether names are found in the cluster: the DNS workload, and endpoints of its Service that are ready."""

from collections.abc import Mapping
from typing import Any

from firstlight.document.within import at, sequence
from firstlight.gates import gate_parts, workload
from firstlight.gates.gate_parts import GateContext, GatePart, GateQuestion
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Task

_TALOS = (ObjectId("apps", "Deployment", "kube-system", "coredns"), ("kube-system", "kube-dns"))
"""What Talos brings itself."""


def question(gate: Gate, task: Task, ground: GateContext) -> GateQuestion | None:
    """A component's DNS, or Talos's own where the gate has no component."""
    hint = "See: kubectl -n kube-system logs -l k8s-app=kube-dns"
    if not gate.component:
        identity, (namespace, name) = _TALOS
        own = gate_parts.in_turn([workload.of(identity), endpoints_part(namespace, name)], last=True)
        return gate_parts.make_question(gate, "dns", own, hint=hint)
    objects = gate_parts.gate_objects(gate, task, ground)
    services = [each for each in objects if each.id.kind == "Service" and not each.id.group and _is_dns(each)]
    asked = [*workload.of_objects(objects), *(endpoints_part(each.id.namespace, each.id.name) for each in services)]
    return (
        gate_parts.make_question(gate, f"dns {gate.component}", gate_parts.in_turn(asked, last=True), hint=hint)
        if asked
        else None
    )


def _is_dns(service: Object) -> bool:
    return any(at(each, "port") == 53 for each in sequence(service.value, "spec", "ports"))


# Whether somebody answers for a Service.


_OF_SERVICE = "kubernetes.io/service-name"


def endpoints_part(namespace: str, name: str) -> GatePart:
    """The question whether a Service has a ready endpoint."""
    look = endpoint_slices(namespace, name)

    def judge(view: GateView) -> Verdict:
        if count_ready(view, look):
            return Passed(f"Service {namespace}/{name} answers")
        usually = "its pods are not ready, or its selector matches none"
        return Waiting(f"Service {namespace}/{name} has no ready endpoint; usually {usually}")

    return GatePart((look,), judge)


def endpoint_slices(namespace: str, name: str) -> WatchTarget:
    """The look at the endpoints of a Service."""
    labels = f"{_OF_SERVICE}={name}"
    return WatchTarget(api_version="discovery.k8s.io/v1", kind="EndpointSlice", namespace=namespace, labels=labels)


def count_ready(view: GateView, look: WatchTarget) -> int:
    """How many endpoints are ready."""
    return sum(_is_ready(each) for found in view.all(look) for each in sequence(found, "endpoints"))


def _is_ready(endpoint: Mapping[str, Any]) -> bool:
    # "unknown" is to be taken for ready, the API says; it is left out for Services that have no pods of their own.
    ready = at(endpoint, "conditions", "ready")
    return bool(sequence(endpoint, "addresses")) and (ready is True or ready is None)


# The EndpointSlice of CoreDNS with one of two pods ready:
#
# apiVersion: discovery.k8s.io/v1
# kind: EndpointSlice
# metadata:
#   name: kube-dns-7x5fk
#   namespace: kube-system
#   labels: {kubernetes.io/service-name: kube-dns}
# addressType: IPv4
# endpoints:
# - addresses: [10.244.0.7]
#   conditions: {ready: true, serving: true, terminating: false}
#   targetRef: {kind: Pod, name: coredns-7b8f9c6d5-abcde, namespace: kube-system}
# - addresses: [10.244.0.9]
#   conditions: {ready: false, serving: false, terminating: false}
#   targetRef: {kind: Pod, name: coredns-7b8f9c6d5-fghij, namespace: kube-system}
# ports:
# - {name: dns, port: 53, protocol: UDP}
