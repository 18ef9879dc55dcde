"""Nodes: silent, without a network, under pressure, with a taint that nobody takes away, without a certificate."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document.within import sequence, text
from firstlight.gates import status
from firstlight.gates.causes import of_nodes
from firstlight.model.diagnosis import NextCommand
from firstlight.model.machine_report import Standing
from firstlight.policy.diagnosing import found
from firstlight.policy.diagnosing.found import Found
from firstlight.policy.diagnosing.scene import Scene, name_of

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


def unready_nodes(scene: Scene) -> Iterator[Found]:
    """Nodes that are not Ready, by reason."""
    for node in scene.of("/Node"):
        cause = of_nodes.of(node)
        if cause is None or not scene.is_over(cause.since):
            continue
        name = text(node, "metadata", "name")
        ready = status.condition(node, "Ready")
        if "no CNI" in cause.what:
            rule, needs = "node-without-network", found.names(found.network_of(name), found.NETWORK)
        elif text(ready, "status") == "Unknown":
            rule, needs = "node-silent", frozenset()
        else:
            rule, needs = "node-not-ready", frozenset()
        yield Found(
            rule=rule,
            subject=name_of(node),
            says=cause.what + (f"; usually {cause.usually}" if cause.usually else ""),
            evidence=(found.of_condition(node, "Ready"),),
            next=_next(rule, node, scene),
            since=cause.since,
            names=frozenset({found.network_of(name)} if rule == "node-silent" else ()),
            needs=found.names(needs, f"machine {_machine(node, scene)}", found.API),
        )


def _machine(node: Mapping[str, Any], scene: Scene) -> str:
    """The machine that a node runs on: of the same name, or at its address."""
    name = text(node, "metadata", "name")
    addresses = {text(each, "address") for each in sequence(node, "status", "addresses")}
    declared = scene.cluster.machines
    return next(
        (each.name for each in declared if each.name == name or (each.address and each.address in addresses)), name
    )


def _next(rule: str, node: Mapping[str, Any], scene: Scene) -> tuple[NextCommand, ...]:
    if rule == "node-without-network":
        return (found.command("kubectl -n kube-system get pods -o wide", "whether the CNI's pod runs on it"),)
    address = next(
        (text(each, "address") for each in sequence(node, "status", "addresses") if text(each, "type") == "InternalIP"),
        "",
    )
    asked = found.command(f"talosctl -n {address} services", "whether its kubelet runs") if address else None
    return (*((asked,) if asked else ()), found.kubectl("describe", node))


def pressed_nodes(scene: Scene) -> Iterator[Found]:
    """Nodes that evict pods since something runs out."""
    for node in scene.of("/Node"):
        for kind, why in _PRESSURES.items():
            if status.is_true(node, kind):
                name = text(node, "metadata", "name")
                yield Found(
                    rule="node-pressure",
                    subject=name_of(node),
                    says=f"node {name} has {kind}: {why}, and pods are evicted",
                    evidence=(found.of_condition(node, kind),),
                    next=(found.command(f"kubectl describe node {name}", "what uses it"),),
                    since=status.since(node, kind),
                    needs=found.names(f"machine {_machine(node, scene)}"),
                )
                break


def tainted_nodes(scene: Scene) -> Iterator[Found]:
    """Nodes with a taint that a controller puts there and should have taken away."""
    for node in scene.of("/Node"):
        for taint in sequence(node, "spec", "taints"):
            key = text(taint, "key")
            ready = status.since(node, "Ready")
            if key not in _TAINTS or not status.is_true(node, "Ready") or not scene.is_over(ready, times=2):
                continue
            name = text(node, "metadata", "name")
            yield Found(
                rule="node-taint",
                subject=name_of(node),
                says=f"node {name} is Ready and takes no pods: it has the taint {key}, since {_TAINTS[key]}",
                evidence=(found.of_field(node, "spec.taints", f"{key}:{text(taint, 'effect')}"),),
                next=(found.command(f"kubectl describe node {name}", "its taints and conditions"),),
                since=ready,
                needs=found.names(
                    found.controller("cilium-operator") if "cilium" in key else "",
                    found.network_of(name),
                    found.NETWORK,
                ),
            )


def waiting_requests(scene: Scene) -> Iterator[Found]:
    """Certificates that kubelets ask for and nobody approves."""
    oldest: dict[str, Mapping[str, Any]] = {}
    for each in scene.of("certificates.k8s.io/CertificateSigningRequest"):
        decided = sequence(each, "status", "conditions") or text(each, "status", "certificate")
        if (
            decided
            or text(each, "spec", "signerName") not in _SIGNERS
            or not scene.is_over(status.created(each), times=2)
        ):
            continue
        who = text(each, "spec", "username")
        if who not in oldest or (status.created(each) or 0.0) < (status.created(oldest[who]) or 0.0):
            oldest[who] = each
    for who, each in sorted(oldest.items()):
        node = who.removeprefix("system:node:")
        name = text(each, "metadata", "name")
        serving = text(each, "spec", "signerName") == _SIGNERS[0]
        yield Found(
            rule="csr-pending",
            subject=f"Node {node}",
            says=f"the kubelet of {node} waits for its {'serving' if serving else 'client'} certificate: nobody "
            f"approves its request {name}"
            + (", so that logs and metrics of its pods cannot be read" if serving else ""),
            evidence=(found.of_field(each, "status", "neither approved nor denied"),),
            next=(
                found.command("kubectl get csr", "who asks"),
                found.command(f"kubectl certificate approve {name}", "once it is clear that the node is yours"),
            ),
            since=status.created(each),
            needs=found.names(
                found.controller("kubelet-serving-cert-approver"), found.controller("kubelet-csr-approver")
            ),
        )


def missing_nodes(scene: Scene) -> Iterator[Found]:
    """Machines that run and never became a node."""
    if not scene.is_listed("/Node") or not scene.of("/Node"):
        return
    known = {text(each, "metadata", "name") for each in scene.of("/Node")}
    known |= {
        text(address, "address") for each in scene.of("/Node") for address in sequence(each, "status", "addresses")
    }
    for each in scene.machines:
        is_up = each.report.standing is Standing.OURS and each.report.stage == "running"
        if is_up and each.name not in known and each.machine.address not in known:
            yield Found(
                rule="node-missing",
                subject=f"Node {each.name}",
                says=f"the machine {each.name} runs and is no node of the cluster: its kubelet has not registered it",
                evidence=(found.evidence(f"machine {each.name}", f"stage {each.report.stage}"),),
                next=(found.command(f"talosctl -n {each.machine.address} logs kubelet", "why it does not register"),),
                needs=found.names(f"machine {each.name}", found.API),
            )
