"""Node objects of a lab: what a kubelet registers; kwok and the simulator do the rest."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from firstlight.lab import lab_settings

MANAGER = "lab"
NETWORK_ANNOTATION = "lab.firstlight.dev/network"
DECLARATION_ANNOTATION = "lab.firstlight.dev/declaration"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def is_simulated(node: dict[str, Any]) -> bool:
    """Whether a Node is one of the lab's."""
    return bool(node["metadata"].get("annotations", {}).get("kwok.x-k8s.io/node") == "fake")


def has_network(node: dict[str, Any]) -> bool:
    """Whether a CNI agent has been ready on the node."""
    return bool((node["metadata"].get("annotations") or {}).get(NETWORK_ANNOTATION) == "ready")


def is_declared_otherwise(live: dict[str, Any], declared: dict[str, Any]) -> bool:
    """Whether a Node was declared otherwise when it was registered; then it registers anew."""
    return bool(
        live["metadata"]["annotations"].get(DECLARATION_ANNOTATION)
        != declared["metadata"]["annotations"][DECLARATION_ANNOTATION]
    )


def node_manifest(node: lab_settings.SimulatedNode) -> dict[str, Any]:
    """The Node as it is created."""
    labels = {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
        **({CONTROL_PLANE: ""} if node.role == "control-plane" else {}),
        **node.labels,
    }
    taints = node.taints
    if taints is None:
        control_plane = lab_settings.NodeTaint(key=CONTROL_PLANE, effect="NoSchedule")
        taints = (control_plane,) if node.role == "control-plane" else ()
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node.name,
            "labels": labels,
            "annotations": {
                "kwok.x-k8s.io/node": "fake",
                "alpha.kubernetes.io/provided-node-ip": node.address,
                "lab.firstlight.dev/cpu": str(node.cpu),
                "lab.firstlight.dev/memory": node.memory,
                DECLARATION_ANNOTATION: hashlib.sha256(msgspec.json.encode(node, order="sorted")).hexdigest()[:16],
            },
        },
        "spec": {
            "taints": [
                {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
                for taint in taints
            ]
        },
    }


def node_summary(node: dict[str, Any]) -> dict[str, Any]:
    """What ``lab status`` says of a node."""
    conditions = {each["type"]: each for each in node.get("status", {}).get("conditions") or ()}
    ready = conditions.get("Ready", {})
    addresses = [
        each["address"] for each in node.get("status", {}).get("addresses", ()) if each["type"] == "InternalIP"
    ]
    is_ready = ready.get("status") == "True"
    return {
        "name": node["metadata"]["name"],
        "role": "control-plane" if CONTROL_PLANE in node["metadata"].get("labels", {}) else "worker",
        "address": addresses[0] if addresses else "",
        "ready": is_ready,
        "why": "" if is_ready else _short(str(ready.get("message", "not registered yet"))),
    }


def _short(message: str) -> str:
    """A kubelet says the reason in the middle of its message and the cause at its end."""
    match = re.search(r"reason:(\w+) message:.*?: (.*)", message)
    return f"{match[1]}: {match[2]}" if match else message


# Mirror pods: how a kubelet shows its static pods to the API. Data in, data out.


Object = dict[str, Any]
MIRROR = "kubernetes.io/config.mirror"
HASH, SOURCE, SEEN = "kubernetes.io/config.hash", "kubernetes.io/config.source", "kubernetes.io/config.seen"


def static_pod_digest(pod: Mapping[str, Any]) -> str:
    """What a kubelet knows a static pod by: another image or flag makes another pod."""
    return hashlib.sha256(msgspec.json.encode(pod, order="sorted")).hexdigest()[:32]


def mirror_pod_manifest(pod: Mapping[str, Any], node: Mapping[str, Any], *, now: str) -> Object:
    """The pod as a kubelet creates it for a static pod on its Node."""
    metadata, spec = pod["metadata"], pod["spec"]
    known = static_pod_digest(pod)
    annotations = {**metadata.get("annotations", {}), HASH: known, MIRROR: known, SEEN: now, SOURCE: "file"}
    owner = {
        "apiVersion": "v1", "kind": "Node", "name": node["metadata"]["name"], "uid": node["metadata"]["uid"],
        "controller": True,
    }  # fmt: skip
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            **metadata,
            "namespace": metadata.get("namespace", "kube-system"),
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": {
            **spec,
            "nodeName": node["metadata"]["name"],
            "hostNetwork": True,
            # Static pods stay whatever is wrong with the node.
            "tolerations": [*spec.get("tolerations", ()), {"operator": "Exists", "effect": "NoExecute"}],
        },
    }


def compare_mirror_pods(
    wanted: Iterable[Mapping[str, Any]], live: Iterable[Object], *, node: str
) -> tuple[list[Mapping[str, Any]], list[Object]]:
    """Which static pods of a node have no mirror yet, and which mirror pods on it are no longer meant.

    One that has changed is not meant at first, and missing once it has gone: a kubelet deletes it and makes another.
    """
    asked = {(pod["metadata"].get("namespace", "kube-system"), pod["metadata"]["name"]): pod for pod in wanted}
    mirrors = {
        (pod["metadata"]["namespace"], pod["metadata"]["name"]): pod
        for pod in live
        if pod["spec"].get("nodeName") == node and MIRROR in pod["metadata"].get("annotations", {})
    }
    wrong = [
        mirror
        for key, mirror in mirrors.items()
        if key not in asked or mirror["metadata"]["annotations"][MIRROR] != static_pod_digest(asked[key])
    ]
    return [pod for key, pod in asked.items() if key not in mirrors], wrong
