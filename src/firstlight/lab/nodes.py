"""Node objects of a lab: what a kubelet registers; kwok and the simulator do the rest."""

import hashlib
import re
from typing import Any

import msgspec

from firstlight.lab import settings as lab_settings

MANAGER = "lab"
NETWORK_ANNOTATION = "lab.firstlight.dev/network"
DECLARATION = "lab.firstlight.dev/declaration"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def is_simulated(node: dict[str, Any]) -> bool:
    """Whether a Node is one of the lab's."""
    return bool(node["metadata"].get("annotations", {}).get("kwok.x-k8s.io/node") == "fake")


def has_network(node: dict[str, Any]) -> bool:
    """Whether a CNI agent has been ready on the node."""
    return bool((node["metadata"].get("annotations") or {}).get(NETWORK_ANNOTATION) == "ready")


def differs(live: dict[str, Any], declared: dict[str, Any]) -> bool:
    """Whether a Node was declared otherwise when it was registered; then it registers anew."""
    return bool(live["metadata"]["annotations"].get(DECLARATION) != declared["metadata"]["annotations"][DECLARATION])


def manifest(node: lab_settings.Node) -> dict[str, Any]:
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
        control_plane = lab_settings.Taint(key=CONTROL_PLANE, effect="NoSchedule")
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
                DECLARATION: hashlib.sha256(msgspec.json.encode(node, order="sorted")).hexdigest()[:16],
            },
        },
        "spec": {
            "taints": [
                {"key": taint.key, "effect": taint.effect, **({"value": taint.value} if taint.value else {})}
                for taint in taints
            ]
        },
    }


def summary(node: dict[str, Any]) -> dict[str, Any]:
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
