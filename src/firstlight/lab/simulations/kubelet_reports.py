"""What the kubelets tell their machines: a file beside each ``node.json`` that Talos reads its node's status from."""

import contextlib
from collections.abc import Iterable, Mapping

import msgspec

from firstlight.lab import directory, machine_node, mirror_pods
from firstlight.lab.simulations.world import Object, World, is_ready

FILE = "kubelet.json"


def report(
    wanted: machine_node.MachineNode, node: Object | None, pods: Iterable[Object], *, drained: bool
) -> dict[str, object]:
    """What a kubelet says of its node and its static pods."""
    metadata = node["metadata"] if node else {}
    mirrors = [pod for pod in pods if mirror_pods.MIRROR in (pod["metadata"].get("annotations") or {})]
    return {
        "bootId": wanted.boot_id,
        "registered": node is not None,
        "ready": node is not None and machine_node.is_on(node) and is_ready(node),
        "unschedulable": bool(node and node["spec"].get("unschedulable", False)),
        "drained": drained,
        "labels": metadata.get("labels") or {},
        "annotations": metadata.get("annotations") or {},
        "staticPods": [
            {"name": pod["metadata"]["name"], "ready": is_ready(pod), "status": pod.get("status", {})}
            for pod in sorted(mirrors, key=lambda pod: str(pod["metadata"]["name"]))
        ],
    }


class Reports:
    """Writes the files, each only when there is news."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._written: dict[str, bytes] = {}

    def write(self, said: Mapping[str, machine_node.MachineNode], drained: frozenset[str]) -> None:
        """Tell every machine that has a kubelet."""
        by_node: dict[str, list[Object]] = {}
        for pod in self._world.pods.values():
            by_node.setdefault(pod["spec"].get("nodeName", ""), []).append(pod)
        for machine, wanted in said.items():
            node = self._world.nodes.get(("", wanted.name))
            told = report(wanted, node, by_node.get(wanted.name, ()), drained=machine in drained)
            content = msgspec.json.encode(told, order="sorted")
            if self._written.get(machine) != content:
                # The machine may be leaving the lab at this moment.
                with contextlib.suppress(OSError):
                    directory.write_whole(self._world.home.machine(machine) / FILE, content)
                    self._written[machine] = content
