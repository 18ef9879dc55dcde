"""Nodes: silent, without a network, under pressure, with a taint that nobody takes away, without a certificate."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.commands.doctor import symptoms
from firstlight.commands.doctor.symptoms import NextCommand, Symptom
from firstlight.document import conditions
from firstlight.document.within import sequence, text
from firstlight.gates.causes import scheduling
from firstlight.model.machine_report import MachineStanding
from firstlight.observe.cluster.observation import ClusterObservation, name_of

_PRESSURES = {
    "DiskPressure": "its disk is full",
    "MemoryPressure": "its memory is used up",
    "PIDPressure": "it has too many processes",
}
_TAINTS = {
    "node.cloudprovider.kubernetes.io/uninitialized": "no cloud controller manager has initialised it",
    "node.cilium.io/agent-not-ready": "the Cilium operator has not taken the taint away",
}
_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")


def unready_nodes(scene: ClusterObservation) -> Iterator[Symptom]:
    """Nodes that are not Ready, by reason."""
    for node in scene.of("/Node"):
        cause = scheduling.node_cause(node)
        if cause is None or not scene.is_over(cause.since):
            continue
        name = text(node, "metadata", "name")
        ready = conditions.condition(node, "Ready")
        if "no CNI" in cause.what:
            code, needs = (
                "node-without-network",
                symptoms.names(symptoms.network_of(name), symptoms.NETWORK),
            )
        elif text(ready, "status") == "Unknown":
            code, needs = "node-silent", frozenset()
        else:
            code, needs = "node-not-ready", frozenset()
        yield symptoms.symptom(
            code=code,
            subject=name_of(node),
            message=cause.what + (f"; usually {cause.usually}" if cause.usually else ""),
            evidence=(symptoms.of_condition(node, "Ready"),),
            next=_next(code, node, scene),
            since=cause.since,
            names=frozenset({symptoms.network_of(name)} if code == "node-silent" else ()),
            needs=symptoms.names(needs, f"machine {_machine(node, scene)}", symptoms.API),
        )


def _machine(node: Mapping[str, Any], scene: ClusterObservation) -> str:
    """The machine that a node runs on: of the same name, or at its address."""
    name = text(node, "metadata", "name")
    addresses = {text(each, "address") for each in sequence(node, "status", "addresses")}
    declared = scene.cluster.machines
    return next(
        (each.name for each in declared if each.name == name or (each.address and each.address in addresses)), name
    )


def _next(code: str, node: Mapping[str, Any], scene: ClusterObservation) -> tuple[NextCommand, ...]:
    if code == "node-without-network":
        return (symptoms.command("kubectl -n kube-system get pods -o wide", "whether the CNI's pod runs on it"),)
    address = next(
        (text(each, "address") for each in sequence(node, "status", "addresses") if text(each, "type") == "InternalIP"),
        "",
    )
    asked = symptoms.command(f"talosctl -n {address} services", "whether its kubelet runs") if address else None
    return (*((asked,) if asked else ()), symptoms.kubectl("describe", node))


def pressed_nodes(scene: ClusterObservation) -> Iterator[Symptom]:
    """Nodes that evict pods since something runs out."""
    for node in scene.of("/Node"):
        for kind, why in _PRESSURES.items():
            if conditions.is_true(node, kind):
                name = text(node, "metadata", "name")
                yield symptoms.symptom(
                    code="node-pressure",
                    subject=name_of(node),
                    message=f"node {name} has {kind}: {why}, and pods are evicted",
                    evidence=(symptoms.of_condition(node, kind),),
                    next=(symptoms.command(f"kubectl describe node {name}", "what uses it"),),
                    since=conditions.condition_since(node, kind),
                    needs=symptoms.names(f"machine {_machine(node, scene)}"),
                )
                break


def tainted_nodes(scene: ClusterObservation) -> Iterator[Symptom]:
    """Nodes with a taint that a controller puts there and should have taken away."""
    for node in scene.of("/Node"):
        for taint in sequence(node, "spec", "taints"):
            key = text(taint, "key")
            ready = conditions.condition_since(node, "Ready")
            if key not in _TAINTS or not conditions.is_true(node, "Ready") or not scene.is_over(ready, times=2):
                continue
            name = text(node, "metadata", "name")
            yield symptoms.symptom(
                code="node-taint",
                subject=name_of(node),
                message=f"node {name} is Ready and takes no pods: it has the taint {key}, since {_TAINTS[key]}",
                evidence=(symptoms.of_field(node, "spec.taints", f"{key}:{text(taint, 'effect')}"),),
                next=(symptoms.command(f"kubectl describe node {name}", "its taints and conditions"),),
                since=ready,
                needs=symptoms.names(
                    symptoms.controller("cilium-operator") if "cilium" in key else "",
                    symptoms.network_of(name),
                    symptoms.NETWORK,
                ),
            )


def waiting_requests(scene: ClusterObservation) -> Iterator[Symptom]:
    """Certificates that kubelets ask for and nobody approves."""
    oldest: dict[str, Mapping[str, Any]] = {}
    for each in scene.of("certificates.k8s.io/CertificateSigningRequest"):
        decided = sequence(each, "status", "conditions") or text(each, "status", "certificate")
        if (
            decided
            or text(each, "spec", "signerName") not in _SIGNERS
            or not scene.is_over(conditions.created(each), times=2)
        ):
            continue
        who = text(each, "spec", "username")
        if who not in oldest or (conditions.created(each) or 0.0) < (conditions.created(oldest[who]) or 0.0):
            oldest[who] = each
    for who, each in sorted(oldest.items()):
        node = who.removeprefix("system:node:")
        name = text(each, "metadata", "name")
        serving = text(each, "spec", "signerName") == _SIGNERS[0]
        yield symptoms.symptom(
            code="csr-pending",
            subject=f"Node {node}",
            message=f"the kubelet of {node} waits for its {'serving' if serving else 'client'} certificate: nobody "
            f"approves its request {name}"
            + (", so that logs and metrics of its pods cannot be read" if serving else ""),
            evidence=(symptoms.of_field(each, "status", "neither approved nor denied"),),
            next=(
                symptoms.command("kubectl get csr", "who asks"),
                symptoms.command(f"kubectl certificate approve {name}", "once it is clear that the node is yours"),
            ),
            since=conditions.created(each),
            needs=symptoms.names(
                symptoms.controller("kubelet-serving-cert-approver"),
                symptoms.controller("kubelet-csr-approver"),
            ),
        )


def missing_nodes(scene: ClusterObservation) -> Iterator[Symptom]:
    """Machines that run and never became a node."""
    if not scene.is_listed("/Node") or not scene.of("/Node"):
        return
    known = {text(each, "metadata", "name") for each in scene.of("/Node")}
    known |= {
        text(address, "address") for each in scene.of("/Node") for address in sequence(each, "status", "addresses")
    }
    for each in scene.machines:
        is_up = each.report.standing is MachineStanding.OURS and each.report.stage == "running"
        if is_up and each.name not in known and each.machine.address not in known:
            yield symptoms.symptom(
                code="node-missing",
                subject=f"Node {each.name}",
                message=f"the machine {each.name} runs and is no node of the cluster: "
                "its kubelet has not registered it",
                evidence=(symptoms.evidence(f"machine {each.name}", f"stage {each.report.stage}"),),
                next=(
                    symptoms.command(f"talosctl -n {each.machine.address} logs kubelet", "why it does not register"),
                ),
                needs=symptoms.names(f"machine {each.name}", symptoms.API),
            )
