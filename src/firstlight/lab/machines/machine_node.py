"""The Node of a machine: what its kubelet and its Talos write of it. Data in, patches out.

The machine says in ``node.json`` what its kubelet would register. Whether that kubelet runs is another question: the
machine must be live, and must not have stopped it.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from firstlight.lab import kubelet_objects
from firstlight.model import talos_names

Object = dict[str, Any]
POWER = "lab.firstlight.dev/power"
"""On Nodes whose kubelet does not run, and on their pods: kwok leaves them alone."""
OFF = "off"
MACHINE = "lab.firstlight.dev/machine"
NO_NETWORK = (
    "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady "
    "message:Network plugin returns error: cni plugin not initialized"
)
PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


class MachineTaint(msgspec.Struct, frozen=True, omit_defaults=True):
    """A taint that the config asks for."""

    key: str
    effect: str
    value: str = ""


class MachineNode(msgspec.Struct, frozen=True, rename="camel"):
    """A machine's ``node.json``."""

    name: str
    address: str
    role: Literal["control-plane", "worker"] = "worker"
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    taints: tuple[MachineTaint, ...] = ()
    kubelet_version: str = ""
    os_image: str = ""
    cpu: int = 1
    memory: int = 0
    up: bool = True
    boot_id: str = ""
    cluster: str = ""
    """Which cluster its config belongs to; one lab can hold machines of two."""
    drain: bool = False
    """Its Talos wants the node cordoned and drained, before it goes."""
    uncordon: bool = False
    """It is back, and its own cordon is to go."""
    static_pods: tuple[Object, ...] = ()
    uuid: str = ""
    """The machine's own, which is in its hardware."""


class _Hardware(msgspec.Struct, frozen=True):
    uuid: str


def read(folder: Path) -> MachineNode | None:
    """What the machine in a directory says; nothing if it has not joined, or is saying it at this moment."""
    try:
        said = msgspec.json.decode((folder / "node.json").read_bytes(), type=MachineNode)
        made = msgspec.json.decode((folder / "hardware.json").read_bytes(), type=_Hardware)
    except (OSError, msgspec.MsgspecError):
        return None
    return msgspec.structs.replace(said, uuid=made.uuid)


def is_on(node: Mapping[str, Any]) -> bool:
    """Whether the kubelet of a live Node runs; those that are no machine's always do."""
    return bool((node["metadata"].get("annotations") or {}).get(POWER) != OFF)


def manifest(machine: str, wanted: MachineNode, *, now: str) -> Object:
    """The Node as a kubelet registers it, with its status, and with what Talos puts on it."""
    own = {
        "kubernetes.io/hostname": wanted.name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    }
    annotations = {
        "kwok.x-k8s.io/node": "fake",
        "alpha.kubernetes.io/provided-node-ip": wanted.address,
        MACHINE: machine,
    }
    node: Object = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": wanted.name, "labels": own, "annotations": annotations},
        "spec": {"taints": []},
        "status": status(wanted, has_network=False, now=now),
    }
    by_talos = as_talos(node, wanted)
    metadata = by_talos.get("metadata", {})
    node["metadata"]["labels"].update(metadata.get("labels", {}))
    node["metadata"]["annotations"].update(metadata.get("annotations", {}))
    node["spec"]["taints"] = by_talos.get("spec", {}).get("taints") or []
    return node


def status(wanted: MachineNode, *, has_network: bool, now: str) -> Object:
    """The whole status that a kubelet writes when it starts."""
    return {
        "phase": "Running",
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        **_facts(wanted),
        "conditions": conditions(has_network=has_network, now=now),
    }


def conditions(*, has_network: bool, now: str) -> list[Object]:
    """What a kubelet that runs says of itself."""
    ready = ("Ready", "True", "KubeletReady", "kubelet is posting ready status")
    if not has_network:
        ready = ("Ready", "False", "KubeletNotReady", NO_NETWORK)
    told = [*((kind, "False", reason, message) for kind, reason, message in PRESSURES), ready]
    return [_condition(*each, now=now) for each in told]


def _condition(kind: str, state: str, reason: str, message: str, *, now: str) -> Object:
    return {
        "type": kind, "status": state, "reason": reason, "message": message, "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }  # fmt: skip


def _facts(wanted: MachineNode) -> Object:
    """What stays the same while a machine runs."""
    resources = {
        "cpu": str(wanted.cpu),
        "memory": _quantity(wanted.memory),
        "ephemeral-storage": "100Gi",
        "pods": "110",
    }
    return {
        "addresses": [
            {"type": "InternalIP", "address": wanted.address},
            {"type": "Hostname", "address": wanted.name},
        ],
        "capacity": resources,
        "allocatable": resources,
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": wanted.boot_id,
            "machineID": wanted.uuid.replace("-", ""),
            "systemUUID": wanted.uuid,
            "operatingSystem": "linux",
            "osImage": wanted.os_image,
            "kernelVersion": "simulated",
            "containerRuntimeVersion": "simulated://0",
            "kubeletVersion": wanted.kubelet_version,
        },
    }


def _quantity(number: int) -> str:
    """An amount of bytes as the API server gives it back, so that it can be compared."""
    for shift, suffix in ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")):
        if number and number % (1 << shift) == 0:
            return f"{number >> shift}{suffix}"
    return str(number)


def as_kubelet(live: Object, machine: str, wanted: MachineNode, *, has_network: bool, now: str) -> Object:
    """What a kubelet that runs would change in the status of its Node; empty if nothing."""
    said = live.get("status", {})
    facts = {key: value for key, value in _facts(wanted).items() if not _holds(said.get(key), value)}
    annotations = live["metadata"].get("annotations") or {}
    patch: Object = {"status": facts} if facts else {}
    if not is_on(live):
        # Whatever was said in its absence, by the controller manager too, is no longer true.
        patch["status"] = {**facts, "conditions": conditions(has_network=has_network, now=now)}
        patch["metadata"] = {"annotations": {POWER: None}}
    if annotations.get(MACHINE) != machine:
        mine = {"kwok.x-k8s.io/node": "fake", MACHINE: machine}
        patch["metadata"] = {"annotations": {**patch.get("metadata", {}).get("annotations", {}), **mine}}
    return patch


def _holds(said: Any, wanted: Any) -> bool:
    """Whether something is said, whatever else may be."""
    if isinstance(said, dict) and isinstance(wanted, dict):
        return all(said.get(key, "") == value for key, value in wanted.items())
    return bool(said == wanted)


def as_nobody(live: Object, wanted: MachineNode | None, *, now: str) -> Object:
    """What happens to a Node whose kubelet does not run; empty if it has happened.

    A kubelet that was stopped, or whose machine was reset, has said goodbye. One that was cut off says nothing: the
    controller manager will notice.
    """
    annotations: dict[str, str | None] = {}
    if is_on(live):
        annotations[POWER] = OFF
    if wanted is None and kubelet_objects.has_network(live):
        annotations[kubelet_objects.NETWORK_ANNOTATION] = None  # what a CNI agent wrote to its disk is wiped
    patch: Object = {"metadata": {"annotations": annotations}} if annotations else {}
    if is_on(live) and (wanted is None or not wanted.up):
        goodbye = _condition("Ready", "False", "KubeletNotReady", "node is shutting down", now=now)
        patch["status"] = {"conditions": [goodbye]}
    return patch


def as_talos(live: Object, wanted: MachineNode) -> Object:
    """What Talos would change in labels, annotations and taints of a Node; empty if nothing.

    It takes over what is not there yet or is as it wishes, changes and removes what it has put there, and leaves alone
    what is somebody else's.
    """
    metadata = live["metadata"]
    role = {kubelet_objects.CONTROL_PLANE: ""} if wanted.role == "control-plane" else {}
    labels, owned_labels = _taken_over(
        metadata.get("labels") or {},
        {**role, **wanted.labels},
        owned=_owned(metadata, talos_names.OWNED_LABELS_ANNOTATION),
    )
    annotations, owned_annotations = _taken_over(
        metadata.get("annotations") or {},
        wanted.annotations,
        owned=_owned(metadata, talos_names.OWNED_ANNOTATIONS_ANNOTATION),
    )
    present = live.get("spec", {}).get("taints") or []
    taints, owned_taints = _tainted(present, wanted.taints, owned=_owned(metadata, talos_names.OWNED_TAINTS_ANNOTATION))
    for name, owned in (
        (talos_names.OWNED_LABELS_ANNOTATION, owned_labels),
        (talos_names.OWNED_ANNOTATIONS_ANNOTATION, owned_annotations),
        (talos_names.OWNED_TAINTS_ANNOTATION, owned_taints),
    ):
        value = msgspec.json.encode(sorted(owned)).decode() if owned else None
        if (metadata.get("annotations") or {}).get(name) != value:
            annotations[name] = value
    patch: Object = {}
    if labels or annotations:
        patch["metadata"] = {
            **({"labels": labels} if labels else {}),
            **({"annotations": annotations} if annotations else {}),
        }
    if taints != present:
        patch["spec"] = {"taints": taints or None}
    return patch


def _owned(metadata: Mapping[str, Any], annotation: str) -> set[str]:
    try:
        return set(msgspec.json.decode((metadata.get("annotations") or {}).get(annotation, "[]"), type=list[str]))
    except msgspec.MsgspecError:
        return set()


def _taken_over(
    present: Mapping[str, str], wanted: Mapping[str, str], *, owned: set[str]
) -> tuple[dict[str, str | None], set[str]]:
    """What to write, with nothing for what goes, and what is owned afterwards."""
    changes: dict[str, str | None] = {}
    for key, value in wanted.items():
        if key not in present or present[key] == value:
            owned.add(key)
        if key in owned and present.get(key) != value:
            changes[key] = value
    for key in owned - set(wanted):
        if key in present:
            changes[key] = None
    return changes, owned & set(wanted)


def _tainted(
    present: Sequence[Object], wanted: Sequence[MachineTaint], *, owned: set[str]
) -> tuple[list[Object], set[str]]:
    """The taints that there should be, and the keys of those that are owned afterwards."""
    asked = {taint.key: msgspec.to_builtins(taint) for taint in wanted}
    result: list[Object] = []
    for taint in present:
        key = taint["key"]
        if key in owned and key not in asked:
            continue
        if key in asked and key not in owned and _same(taint, asked[key]):
            owned.add(key)
        if key in asked and key in owned and not _same(taint, asked[key]):
            result.append(asked[key])
        else:
            result.append(taint)
    there = {taint["key"] for taint in present}
    new = [taint for key, taint in asked.items() if key not in there]
    return [*result, *new], (owned & set(asked)) | {taint["key"] for taint in new}


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return (one.get("value", ""), one["effect"]) == (other.get("value", ""), other["effect"])


KUBELET_REPORT = "kubelet.json"
