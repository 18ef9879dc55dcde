"""A cluster from the outside in: of each part whether it is well, broken, or only suffers from what is below."""

from firstlight.document.within import text
from firstlight.gates import status
from firstlight.model.cluster import MachineRole
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.recovery import Condition, Part, Trouble
from firstlight.policy.diagnosing.scene import Scene
from firstlight.policy.recovering import table
from firstlight.policy.recovering.ground import Ground

_OF_MACHINES = ("machines", "etcd")


def of_layer(layer: str) -> str:
    """The part that a layer of the doctor belongs to."""
    return next(name for name, layers in table.read().parts.items() if layer in layers)


def parts(ground: Ground, troubles: tuple[Trouble, ...]) -> tuple[Part, ...]:
    """All parts, in their order."""
    broken = {each.part for each in troubles}
    follow = {of_layer(one.layer.name.lower()) for each in ground.diagnosis.causes for one in each.effects}
    return tuple(_part(name, ground.scene, broken=broken, follow=follow) for name in table.read().parts)


def _part(name: str, scene: Scene, *, broken: set[str], follow: set[str]) -> Part:
    if name in broken:
        condition = Condition.BROKEN
    elif name in follow:
        condition = Condition.FOLLOWS
    elif not _is_seen(name, scene):
        condition = Condition.UNSEEN
    else:
        condition = Condition.WELL
    return Part(name=name, condition=condition, says=_seen(name, scene) or _blind(name, condition))


def _is_seen(name: str, scene: Scene) -> bool:
    if name == "etcd":
        return any(each.report.etcd.members for each in scene.machines)
    if name in _OF_MACHINES:
        return bool(scene.machines)
    return scene.api.is_reached is True


def _blind(name: str, condition: Condition) -> str:
    if condition is not Condition.UNSEEN:
        return ""
    if name in _OF_MACHINES:
        return "no machine could be asked"
    return "there is no way to it" if name == "API" else "the API does not answer"


def _seen(name: str, scene: Scene) -> str:
    if not _is_seen(name, scene):
        return ""
    match name:
        case "machines":
            well = sum(each.report.standing is Standing.OURS for each in scene.machines)
            return f"{well} of {len(scene.machines)} answer with the cluster's keys"
        case "etcd":
            return _etcd(scene)
        case "API":
            return "it answers" if not scene.api.failed_checks else f"{scene.api.failed_checks[0]}"
        case "CNI":
            nodes = scene.of("/Node")
            return f"{sum(status.is_true(each, 'Ready') for each in nodes)} of {len(nodes)} nodes are ready"
        case "secrets":
            there = sum(scene.one("/Secret", name, namespace=space) is not None for space, name in scene.foundation)
            return f"{there} of {len(scene.foundation)} of the foundation are there" if scene.foundation else ""
        case "engine":
            return str(scene.cluster.engine or "")
        case "workloads":
            pods = [each for each in scene.of("/Pod") if text(each, "status", "phase") not in ("Succeeded", "Failed")]
            return f"{sum(status.is_true(each, 'Ready') for each in pods)} of {len(pods)} pods are ready"
        case _:
            return ""


def _is_voting(report: MachineReport) -> bool:
    sight = report.etcd
    is_member = bool(sight.member) and sight.member not in sight.learners
    return is_member and sight.state == "Running" and bool(sight.leader) and not sight.errors


def _etcd(scene: Scene) -> str:
    planes = [each.report for each in scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
    members = {one for each in planes for one in each.etcd.members}
    voting = [each for each in planes if _is_voting(each)]
    return f"{len(voting)} of {len(members)} members vote" if members else ""
