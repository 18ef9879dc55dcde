"""The agents of a network plugin: which DaemonSet they are, and which version runs on which node. Pure."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.within import sequence, text
from firstlight.gates import cilium, gate_parts, replicas
from firstlight.gates.gate_parts import GatePart
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.rendition import Object
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.plan import version_bump

_FEW = 3


@dataclasses.dataclass(frozen=True, slots=True)
class CniWorkload:
    """Agents or an operator, as they are to be."""

    id: ObjectId
    image: str
    """Of its first container."""

    @property
    def version(self) -> str:
        """Of the image; all of it where it has none."""
        return version_of(self.image)

    @property
    def look(self) -> WatchTarget:
        """Where it is."""
        return gate_parts.look_at(self.id)


def version_of(image: str) -> str:
    """The version of an image; all of it where it has none."""
    return version_bump.number(image) or image


def version_in(value: Mapping[str, Any]) -> str:
    """The version that a workload's template has."""
    return version_of(_image(value))


def agents(objects: Sequence[Object]) -> CniWorkload | None:
    """The DaemonSet that sets up the network of every node; None where no object is one."""
    found = [each for each in objects if each.id.kind == "DaemonSet" and each.id.group == "apps"]
    chosen = next((each for each in found if cilium.is_it(each)), None)
    chosen = chosen or next((each for each in found if _is_network(each.value)), None)
    return _workload(chosen) if chosen is not None else None


def operator(objects: Sequence[Object]) -> CniWorkload | None:
    """Its operator, where it has one."""
    found = [each for each in objects if each.id.kind == "Deployment" and "operator" in each.id.name]
    return _workload(found[0]) if found else None


def rollout(workload: CniWorkload) -> GatePart:
    """Whether every pod of it runs the version that is wanted; what is told names the nodes that are left."""
    pods = WatchTarget(api_version="v1", kind="Pod", namespace=workload.id.namespace)

    def judge(view: GateView) -> Verdict:
        live = view.one(workload.look)
        if live is None:
            return Waiting(f"{workload.id} is not there")
        said = version_in(live)
        if said != workload.version:
            return Waiting(f"{workload.id} still says {said}: nobody has applied {workload.version} yet")
        of_kind = replicas.daemon_set if workload.id.kind == "DaemonSet" else replicas.deployment
        verdict = of_kind(live, view.all(gate_parts.NODES))
        running = versions_by_node(view.all(pods), workload.id)
        left = {node: each for node, each in running.items() if each != workload.version}
        if left:
            return Waiting(
                f"{workload.id.name}: {len(running) - len(left)} of {len(running)} run {said}; {_left(left)}"
            )
        if not isinstance(verdict, Passed):
            return Waiting(f"{workload.id.name}: {verdict.reason}")
        return Passed(f"{workload.id.name} {said} {verdict.reason}")

    return GatePart((workload.look, pods, gate_parts.NODES), judge)


def versions_by_node(pods: Sequence[Mapping[str, Any]], owner: ObjectId) -> dict[str, str]:
    """Which version the pods of a workload run, by node; those of a Deployment belong to its ReplicaSets."""
    found: dict[str, str] = {}
    for pod in pods:
        if text(pod, "metadata", "deletionTimestamp") or not _is_of(pod, owner):
            continue
        place = text(pod, "spec", "nodeName") or text(pod, "metadata", "name")
        found[place] = version_of(_first_image(sequence(pod, "spec", "containers")))
    return found


def _is_of(pod: Mapping[str, Any], owner: ObjectId) -> bool:
    for each in sequence(pod, "metadata", "ownerReferences"):
        kind, name = text(each, "kind"), text(each, "name")
        if (kind, name) == (owner.kind, owner.name):
            return True
        if owner.kind == "Deployment" and kind == "ReplicaSet" and name.rpartition("-")[0] == owner.name:
            return True
    return False


def _left(left: Mapping[str, str]) -> str:
    shown = ", ".join(f"{node} has {each}" for node, each in sorted(left.items())[:_FEW])
    return f"{shown} and {len(left) - _FEW} more" if len(left) > _FEW else shown


def _workload(item: Object) -> CniWorkload:
    return CniWorkload(item.id, _image(item.value))


def _image(value: Mapping[str, Any]) -> str:
    return _first_image(sequence(value, "spec", "template", "spec", "containers"))


def _first_image(containers: Sequence[Any]) -> str:
    return text(containers[0], "image") if containers else ""


def _is_network(value: Mapping[str, Any]) -> bool:
    """Whether it writes CNI's configuration on the host."""
    volumes = sequence(value, "spec", "template", "spec", "volumes")
    return any("/cni" in text(each, "hostPath", "path") for each in volumes)
