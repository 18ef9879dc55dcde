"""Whether a machine may leave its cluster, for good or to come back bare: never at the price of etcd.

Members are counted as etcd knows them, not as the repo declares them: one of a machine that is long gone counts in
every vote, and is missing in each.
"""

import dataclasses
from collections.abc import Sequence

from firstlight.gates import etcd as gate
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.model.node_upgrade import Refusal


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Leaving:
    """What is known of etcd before a machine leaves."""

    voting: frozenset[str] = frozenset()
    """Ids of members that vote."""
    well: frozenset[str] = frozenset()
    """Those of them that are up and know a leader."""
    own: str = ""
    """The member of the machine that leaves; empty where it has none."""


def of(reports: Sequence[MachineReport], name: str, *, own: str = "") -> Leaving:
    """Etcd as the control planes see it.

    Args:
        reports: Of all declared control planes, with etcd.
        name: The machine that leaves.
        own: Its member where the others know it by its name or address, and it does not answer itself.
    """
    voting = {member for each in reports for member in each.etcd.members}
    voting -= {member for each in reports for member in each.etcd.learners}
    mine = next((each.etcd.member for each in reports if each.machine.name == name and each.etcd.member), "") or own
    well = {each.etcd.member for each in reports if gate.is_well(each)} & voting
    return Leaving(voting=frozenset(voting), well=frozenset(well), own=mine)


def refusals(machine: Machine, seen: Leaving, reports: Sequence[MachineReport]) -> tuple[Refusal, ...]:
    """Why a machine must not leave.

    Args:
        machine: The machine.
        seen: Etcd.
        reports: Of all declared control planes, with etcd.
    """
    if machine.role is not MachineRole.CONTROL_PLANE:
        return ()
    others = [each for each in reports if each.machine.name != machine.name]
    if not others:
        return (_last(machine),)
    if not seen.voting:
        silent = ", ".join(each.machine.name for each in reports if each.standing is not Standing.OURS)
        return (
            Refusal(
                f"no control plane tells who is a member of etcd{f' ({silent} are silent)' if silent else ''}",
                "Bring the other control planes back first.",
            ),
        )
    if seen.own not in seen.voting:
        return ()  # a learner, or nobody: nothing is lost
    stay = seen.voting - {seen.own}
    if not stay:
        return (_last(machine),)
    if len(seen.well) <= len(seen.voting) // 2:
        # Who leaves is voted on by all, too.
        return (
            Refusal(
                f"etcd has no quorum: {len(seen.well)} of {len(seen.voting)} members are well, and nobody can leave",
                "Bring the others back first. Where they are gone for good, etcd is restored from a snapshot.",
            ),
        )
    well, needed = len(seen.well - {seen.own}), len(stay) // 2 + 1
    if well < needed:
        return (
            Refusal(
                f"etcd would lose its quorum: of the {len(stay)} other members {well} "
                f"{'is' if well == 1 else 'are'} well, and {needed} are needed",
                "Bring the others back, or take those that are gone for good out first: firstlight node remove",
            ),
        )
    return ()


def _last(machine: Machine) -> Refusal:
    return Refusal(
        f"{machine.name} is the last control plane: the cluster and all it holds would be gone",
        "A whole cluster is taken down with firstlight down.",
    )
