"""Whether names are found in the cluster: the DNS workload, and endpoints of its Service that are ready."""

from firstlight.document.within import at, sequence
from firstlight.gates import endpoints, parts, workload
from firstlight.gates import ground as grounds
from firstlight.gates.ground import GateGround
from firstlight.gates.question import Question
from firstlight.model.component import ObjectId
from firstlight.model.plan import Gate
from firstlight.model.rendition import Object
from firstlight.model.work import Task

_TALOS = (ObjectId("apps", "Deployment", "kube-system", "coredns"), ("kube-system", "kube-dns"))
"""What Talos brings itself."""


def question(gate: Gate, task: Task, ground: GateGround) -> Question | None:
    """A component's DNS, or Talos's own where the gate has no component."""
    hint = "See: kubectl -n kube-system logs -l k8s-app=kube-dns"
    if not gate.component:
        identity, (namespace, name) = _TALOS
        own = parts.in_turn([workload.of(identity), endpoints.of(namespace, name)], last=True)
        return parts.question(gate, "dns", own, hint=hint)
    objects = grounds.objects(gate, task, ground)
    services = [each for each in objects if each.id.kind == "Service" and not each.id.group and _is_dns(each)]
    asked = [*workload.of_objects(objects), *(endpoints.of(each.id.namespace, each.id.name) for each in services)]
    return parts.question(gate, f"dns {gate.component}", parts.in_turn(asked, last=True), hint=hint) if asked else None


def _is_dns(service: Object) -> bool:
    return any(at(each, "port") == 53 for each in sequence(service.value, "spec", "ports"))


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
