"""etcd: whether it may be bootstrapped, and whether its members are well.

Talos refuses a second bootstrap only on the same machine: on another one it makes a second cluster with the same keys.
So every control plane must have said that it has no data before one of them is bootstrapped.
"""

import dataclasses
from collections.abc import Sequence

from firstlight.gates import machine_stage
from firstlight.model.machine_report import EtcdData, MachineReport, MachineStanding
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting


@dataclasses.dataclass(frozen=True, slots=True)
class Virgin:
    """Nobody has data: it may be bootstrapped."""


@dataclasses.dataclass(frozen=True, slots=True)
class Bootstrapped:
    """It was bootstrapped; those without data join by themselves."""

    on: tuple[str, ...]
    """The machines that have data."""


@dataclasses.dataclass(frozen=True, slots=True)
class Doubtful:
    """Not everybody has said whether there is data; asked again, they may."""

    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class SplitBrain:
    """There are two of it."""

    reason: str


History = Virgin | Bootstrapped | Doubtful | SplitBrain


def history(reports: Sequence[MachineReport]) -> History:
    """Whether etcd was ever bootstrapped, from what every control plane says."""
    if split := _split(reports):
        return SplitBrain(split)
    silent = [f"{each.machine.name} {_silence(each)}" for each in reports if _is_silent(each)]
    having = tuple(each.machine.name for each in reports if each.etcd.data is EtcdData.SOME)
    if having:
        return Bootstrapped(having)
    return Doubtful("; ".join(silent)) if silent or not reports else Virgin()


def judge(reports: Sequence[MachineReport]) -> Verdict:
    """Whether every control plane is a voting member of one etcd that has a leader."""
    if split := _split(reports):
        return Failed(split)
    members = [each for each in reports if each.etcd.member]
    if not members:
        return Waiting("no machine is a member of etcd yet")
    waiting = []
    for each in reports:
        sight = each.etcd
        if not sight.member:
            how = f" (its service is {sight.state})" if sight.state else ""
            waiting.append(f"{each.machine.name} has not joined{how}")
        elif sight.errors:
            waiting.append(f"{each.machine.name}: {sight.errors}")
        elif sight.member in sight.learners:
            waiting.append(f"{each.machine.name} is still learning")
        elif not sight.leader:
            waiting.append(f"{each.machine.name} knows no leader")
    if waiting:
        return Waiting("; ".join(waiting))
    strange = {member for each in members for member in each.etcd.members} - {each.etcd.member for each in members}
    others = f", and {len(strange)} of machines that are not declared" if strange else ""
    return Passed(f"{len(members)} of {len(reports)} members healthy{others}")


def without(reports: Sequence[MachineReport], name: str) -> Verdict:
    """Whether etcd can do without one machine for a while.

    It keeps its quorum, or is so small that it never could, and comes back since all the others are well.

    Args:
        reports: Of all control planes. Members of machines that are not among them count, and not as healthy.
        name: The machine.
    """
    if split := _split(reports):
        return Waiting(split)
    voting = {member for each in reports for member in each.etcd.members}
    voting -= {member for each in reports for member in each.etcd.learners}
    if not voting:
        return Waiting("no machine tells who is a member of etcd")
    own = {each.etcd.member for each in reports if each.machine.name == name}
    well = {each.etcd.member for each in reports if is_well(each)} & voting
    stay, needed = len(well - own), len(voting) // 2 + 1
    if stay >= needed:
        return Passed(f"etcd keeps its quorum: {stay} of {len(voting)} members stay")
    others = [each for each in reports if each.machine.name != name]
    sick = [f"{each.machine.name} {_sickness(each)}" for each in others if not is_well(each)]
    known = {each.etcd.member for each in reports}
    if strange := voting - known - own:
        sick.append(f"{len(strange)} of its members {'is' if len(strange) == 1 else 'are'} not seen on any machine")
    if not sick:
        size = "has one member" if len(voting) == 1 else f"has {len(voting)} members"
        return Passed(f"etcd {size}, and stops meanwhile, and the Kubernetes API with it")
    return Waiting(f"etcd would lose its quorum: {stay} of {len(voting)} members stay; {'; '.join(sick)}")


def is_well(report: MachineReport) -> bool:
    """Whether a machine has a voting member of etcd that runs and knows a leader."""
    sight = report.etcd
    is_running = report.standing is MachineStanding.OURS and sight.state == "Running" and bool(sight.member)
    return is_running and bool(sight.leader) and not sight.errors and sight.member not in sight.learners


def _sickness(report: MachineReport) -> str:
    if report.standing is not MachineStanding.OURS:
        return machine_stage.state_of(report)
    return f"is not well ({report.etcd.errors or report.etcd.state or 'its etcd says nothing'})"


def _split(reports: Sequence[MachineReport]) -> str:
    """Two machines that are members, and do not know each other."""
    known = [each for each in reports if each.etcd.member and each.etcd.members]
    for one in known:
        for other in known:
            if not one.etcd.members & other.etcd.members:
                names = f"{one.machine.name} and {other.machine.name}"
                return f"{names} are members of two different etcd clusters: a split brain"
    return ""


def _is_silent(report: MachineReport) -> bool:
    if report.standing is MachineStanding.MAINTENANCE:
        return False  # it has no config, so that nothing runs on it; its data, if any, is not this cluster's
    return report.standing is not MachineStanding.OURS or report.etcd.data is EtcdData.UNKNOWN


def _silence(report: MachineReport) -> str:
    if report.standing is not MachineStanding.OURS:
        return f"does not answer ({report.why})" if report.why else "does not answer"
    sight = report.etcd
    return f"does not say whether etcd has data there ({sight.errors or sight.state or 'no such service yet'})"


# As ``talosctl etcd members`` and ``talosctl etcd status`` show three healthy members:
#
# NODE       ID                 HOSTNAME   PEER URLS                CLIENT URLS              LEARNER
# 10.5.0.2   2b7d0ed4b1ab3a4e   cp-1       https://10.5.0.2:2380    https://10.5.0.2:2379    false
# NODE       MEMBER             DB SIZE   IN USE            LEADER             RAFT INDEX   RAFT TERM   …   ERRORS
# 10.5.0.2   2b7d0ed4b1ab3a4e   2.3 MB    1.1 MB (47.83%)   2b7d0ed4b1ab3a4e   1021         2           …
