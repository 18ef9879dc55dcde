"""The table of ways back, from ``options.yaml``."""

import dataclasses
import functools
import importlib.resources
import re
from collections.abc import Callable, Iterator, Mapping

import msgspec

from firstlight.commands.doctor.symptoms import RootCause, Symptom, SymptomLayer
from firstlight.commands.recover.assessment import (
    NO_QUORUM,
    Assessment,
    ClusterPart,
    OptionNeed,
    PartCondition,
    RecoveryContext,
    RecoveryOption,
)
from firstlight.document import conditions as gates_conditions
from firstlight.document import yaml_reader
from firstlight.document.within import text
from firstlight.gates import service_address
from firstlight.model.cluster import MachineRole
from firstlight.model.diagnostic import Severity
from firstlight.model.machine_report import EtcdData, MachineReport, MachineStanding
from firstlight.observe.cluster.observation import ClusterObservation

_FILE = "options.yaml"


class OptionEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="kebab", kw_only=True):
    """One option."""

    does: str
    risk: str
    needs: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    by_hand: bool = False


class RuleAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename={"condition": "while"}, kw_only=True):
    """What helps against something that the doctor has found."""

    code: str
    options: tuple[str, ...]
    """Each an option, and what it is done to: ``rebuild-machine {machine}``."""
    condition: str = ""
    """``no-quorum``: only while etcd has none. ``no-data``: only where no control plane has its data any more."""


class OptionTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """All of it."""

    parts: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, str]
    options: Mapping[str, OptionEntry]
    answers: tuple[RuleAnswer, ...]


@functools.cache
def read_options() -> OptionTable:
    """The table, as it stands in the file."""
    file = importlib.resources.files("firstlight.commands.recover") / _FILE
    (document,) = yaml_reader.read(file.read_bytes(), _FILE).documents
    return msgspec.convert(document.value, OptionTable)


# Whether what an option needs is there, as far as it was seen.


def judged_need(name: str, *, on: str, cluster: str, ground: RecoveryContext) -> OptionNeed:
    """One need of an option.

    Args:
        name: As the table calls it.
        on: What the option is done to.
        cluster: The cluster's name.
        ground: What is known.
    """
    says = read_options().needs[name].format(on=on, cluster=cluster)
    return OptionNeed(says=says, is_met=_JUDGES[name](on, ground))


def _bare(on: str, ground: RecoveryContext) -> bool | None:
    """One that is off may be booted until its turn comes: the rest can begin."""
    standing = next((each.report.standing for each in ground.scene.machines if each.name == on), None)
    return True if standing is MachineStanding.MAINTENANCE else None


def _all_bare(on: str, ground: RecoveryContext) -> bool | None:
    planes = [each.report for each in ground.scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
    if not planes:
        return None
    return all(each.standing is MachineStanding.MAINTENANCE for each in planes)


def _survivor(on: str, ground: RecoveryContext) -> bool | None:
    reports = [each.report for each in ground.scene.machines]
    if not reports:
        return None
    return any(each.standing is MachineStanding.OURS and each.etcd.data is EtcdData.SOME for each in reports)


def _present(on: str, ground: RecoveryContext) -> bool | None:
    planes = [each.report for each in ground.scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
    if not planes:
        return None
    silent = sum(each.standing is MachineStanding.ABSENT for each in planes)
    return planes[0].standing is MachineStanding.OURS and silent <= len(planes) // 2


def _unowned(on: str, ground: RecoveryContext) -> bool | None:
    """The doctor names the HelmRelease where one owns the release."""
    subjects = {
        one.subject
        for each in ground.diagnosis.causes
        for one in (each.symptom, *each.effects)
        if one.code == "helm-pending" and one.subject.endswith(f" {on}")
    }
    return not any(each.startswith("HelmRelease ") for each in subjects)


_JUDGES: Mapping[str, Callable[[str, RecoveryContext], bool | None]] = {
    "keys": lambda on, ground: ground.hand.has_keys,
    "api": lambda on, ground: ground.scene.api.is_reached is True,
    "quorum": lambda on, ground: not ground.is_without_quorum,
    "survivor": _survivor,
    "present": _present,
    "unowned": _unowned,
    "bare": _bare,
    "all-bare": _all_bare,
    "snapshot": lambda on, ground: ground.hand.snapshots > 0,
    "pushed": lambda on, ground: None,
}


# A cluster from the outside in: of each part whether it is well, broken, or only suffers from what is below.


_OF_MACHINES = ("machines", "etcd")


def part_of(symptom: Symptom) -> str:
    """The part of the cluster that a symptom is of."""
    layer = symptom.layer.name.lower()
    return next(name for name, layers in read_options().parts.items() if layer in layers)


def cluster_parts(ground: RecoveryContext, causes: tuple[RootCause, ...]) -> tuple[ClusterPart, ...]:
    """All parts, in their order."""
    broken = {part_of(each.symptom) for each in causes}
    follow = {part_of(one) for each in ground.diagnosis.causes for one in each.effects}
    return tuple(_part(name, ground.scene, broken=broken, follow=follow) for name in read_options().parts)


def _part(name: str, scene: ClusterObservation, *, broken: set[str], follow: set[str]) -> ClusterPart:
    if name in broken:
        condition = PartCondition.BROKEN
    elif name in follow:
        condition = PartCondition.FOLLOWS
    elif not _is_seen(name, scene):
        condition = PartCondition.UNSEEN
    else:
        condition = PartCondition.WELL
    return ClusterPart(name=name, condition=condition, says=_seen(name, scene) or _blind(name, condition))


def _is_seen(name: str, scene: ClusterObservation) -> bool:
    if name == "etcd":
        return any(each.report.etcd.members for each in scene.machines)
    if name in _OF_MACHINES:
        return bool(scene.machines)
    return scene.api.is_reached is True


def _blind(name: str, condition: PartCondition) -> str:
    if condition is not PartCondition.UNSEEN:
        return ""
    if name in _OF_MACHINES:
        return "no machine could be asked"
    return "there is no way to it" if name == "API" else "the API does not answer"


def _seen(name: str, scene: ClusterObservation) -> str:
    if not _is_seen(name, scene):
        return ""
    match name:
        case "machines":
            well = sum(each.report.standing is MachineStanding.OURS for each in scene.machines)
            return f"{well} of {len(scene.machines)} answer with the cluster's keys"
        case "etcd":
            return _etcd(scene)
        case "API":
            return "it answers" if not scene.api.failed_checks else f"{scene.api.failed_checks[0]}"
        case "CNI":
            nodes = scene.of("/Node")
            return f"{sum(gates_conditions.is_true(each, 'Ready') for each in nodes)} of {len(nodes)} nodes are ready"
        case "addresses":
            wanting = [each for each in scene.of("/Service") if service_address.is_balanced(each)]
            having = sum(bool(service_address.addresses(each)) for each in wanting)
            return f"{having} of {len(wanting)} LoadBalancer Services have one" if wanting else ""
        case "secrets":
            there = sum(scene.one("/Secret", name, namespace=space) is not None for space, name in scene.foundation)
            return f"{there} of {len(scene.foundation)} of the foundation are there" if scene.foundation else ""
        case "engine":
            return str(scene.cluster.engine or "")
        case "workloads":
            pods = [each for each in scene.of("/Pod") if text(each, "status", "phase") not in ("Succeeded", "Failed")]
            return f"{sum(gates_conditions.is_true(each, 'Ready') for each in pods)} of {len(pods)} pods are ready"
        case _:
            return ""


def _is_voting(report: MachineReport) -> bool:
    sight = report.etcd
    is_member = bool(sight.member) and sight.member not in sight.learners
    return is_member and sight.state == "Running" and bool(sight.leader) and not sight.errors


def _etcd(scene: ClusterObservation) -> str:
    planes = [each.report for each in scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
    members = {one for each in planes for one in each.etcd.members}
    voting = [each for each in planes if _is_voting(each)]
    return f"{len(voting)} of {len(members)} members vote" if members else ""


# From a diagnosis to an assessment: what is broken, what only follows from it, and the ways back, the best first.


_LOST = {
    "kubeconfig": ("kubeconfig-missing", SymptomLayer.API, "this computer has no kubeconfig of {cluster}"),
    "talosconfig": ("talosconfig-missing", SymptomLayer.MACHINE, "this computer has no talosconfig of {cluster}"),
    "data": (
        "etcd-data-missing",
        SymptomLayer.ETCD,
        "{cluster} was brought up before, and no control plane has etcd's data any more",
    ),
    "cluster": (
        "cluster-wiped",
        SymptomLayer.ETCD,
        "{cluster} was brought up before, and none of its machines has a config any more",
    ),
}
"""What recover finds by itself, without the doctor."""
_PLACE = re.compile(r"\{(\w+)\}")


def judge(ground: RecoveryContext) -> Assessment:
    """What is broken, and which options there are."""
    cluster = ground.scene.cluster.name
    missing = (*ground.hand.lost, *(["data"] if ground.is_without_data else [])) if _lives(ground) else ()
    missing = ("cluster",) if _is_gone(ground) else missing
    lost = tuple(
        Symptom(
            code=code,
            severity=Severity.ERROR,
            message=message.format(cluster=cluster),
            subject=cluster,
            layer=layer,
        )
        for each, (code, layer, message) in _LOST.items()
        if each in missing
    )
    causes = (*ground.diagnosis.causes, *(RootCause(symptom=each) for each in lost))
    return Assessment(
        cluster=cluster,
        parts=cluster_parts(ground, causes),
        causes=causes,
        options=tuple(_options(ground, lost)),
        looked=ground.diagnosis.looked,
        unseen=ground.diagnosis.unseen,
        seconds=ground.diagnosis.seconds,
        is_blind=not ground.scene.api.is_reached and not ground.scene.machines,
    )


def _lives(ground: RecoveryContext) -> bool:
    """Whether there is a cluster at all: files of one that was never brought up are not lost."""
    ours = any(each.report.standing is MachineStanding.OURS for each in ground.scene.machines)
    return ours or ground.scene.api.is_reached is True


def _is_gone(ground: RecoveryContext) -> bool:
    """Whether there was a cluster, and its machines are bare: to the doctor they only wait for their first config."""
    standings = {each.report.standing for each in ground.scene.machines}
    return ground.hand.was_here and MachineStanding.MAINTENANCE in standings and MachineStanding.OURS not in standings


def _options(ground: RecoveryContext, lost: tuple[Symptom, ...]) -> Iterator[RecoveryOption]:
    """Each once, with all that it answers; what may lose least comes first."""
    made: dict[tuple[str, str], RecoveryOption] = {}
    for symptom in [*lost, *_symptoms(ground)]:
        for name, on in _answers(symptom, ground):
            known = made.get((name, on))
            answers = (*known.answers, symptom.key) if known else (symptom.key,)
            made[name, on] = dataclasses.replace(known or _option(name, on, ground), answers=answers)
    order = list(read_options().options)
    yield from sorted(made.values(), key=lambda each: order.index(each.name))


def _symptoms(ground: RecoveryContext) -> Iterator[Symptom]:
    """What is broken, and what that means for the part that it is in; and a quorum that was lost, whatever took it."""
    for each in ground.diagnosis.causes:
        yield each.symptom
        own = each.symptom.layer
        yield from (one for one in each.effects if one.layer == own or one.code == NO_QUORUM)


def _answers(symptom: Symptom, ground: RecoveryContext) -> Iterator[tuple[str, str]]:
    conditions = {"": True, "no-quorum": ground.is_without_quorum, "no-data": ground.is_without_data}
    fitting = (each for each in read_options().answers if each.code == symptom.code and conditions[each.condition])
    row = next(fitting, None)
    last = symptom.subject.rpartition(" ")[2]
    known = {"machine": last, "release": last, "dns": ground.hand.dns}
    for each in row.options if row is not None else ():
        name, _, on = each.partition(" ")
        filled = _PLACE.sub(lambda match: known[match[1]], on)
        if filled or not on:
            yield name, filled


def _option(name: str, on: str, ground: RecoveryContext) -> RecoveryOption:
    entry, cluster = read_options().options[name], ground.scene.cluster.name
    own = f"firstlight recover {cluster} --do {name}{f' --on {on}' if on else ''}"
    commands = tuple(each.format(on=on, cluster=cluster) for each in entry.commands)
    return RecoveryOption(
        name=name,
        on=on,
        does=entry.does.format(on=on, cluster=cluster),
        risk=entry.risk.format(on=on, cluster=cluster),
        needs=tuple(judged_need(each, on=on, cluster=cluster, ground=ground) for each in entry.needs),
        commands=commands if entry.by_hand else (own,),
        is_by_hand=entry.by_hand,
    )
