"""Whether what an option needs is there, as far as it was seen."""

from collections.abc import Callable, Mapping

from firstlight.model.cluster import MachineRole
from firstlight.model.machine_report import EtcdData, Standing
from firstlight.model.recovery import Need
from firstlight.policy.recovering import table
from firstlight.policy.recovering.ground import Ground


def judged(name: str, *, on: str, cluster: str, ground: Ground) -> Need:
    """One need of an option.

    Args:
        name: As the table calls it.
        on: What the option is done to.
        cluster: The cluster's name.
        ground: What is known.
    """
    says = table.read().needs[name].format(on=on, cluster=cluster)
    return Need(says=says, is_met=_JUDGES[name](on, ground))


def _bare(on: str, ground: Ground) -> bool | None:
    """One that is off may be booted until its turn comes: the rest can begin."""
    standing = next((each.report.standing for each in ground.scene.machines if each.name == on), None)
    return True if standing is Standing.MAINTENANCE else None


def _all_bare(on: str, ground: Ground) -> bool | None:
    planes = [each.report for each in ground.scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
    if not planes:
        return None
    return all(each.standing is Standing.MAINTENANCE for each in planes)


def _survivor(on: str, ground: Ground) -> bool | None:
    reports = [each.report for each in ground.scene.machines]
    if not reports:
        return None
    return any(each.standing is Standing.OURS and each.etcd.data is EtcdData.SOME for each in reports)


def _present(on: str, ground: Ground) -> bool | None:
    planes = [each.report for each in ground.scene.machines if each.machine.role is MachineRole.CONTROL_PLANE]
    if not planes:
        return None
    silent = sum(each.standing is Standing.ABSENT for each in planes)
    return planes[0].standing is Standing.OURS and silent <= len(planes) // 2


def _unowned(on: str, ground: Ground) -> bool | None:
    """The doctor names the HelmRelease where one owns the release."""
    subjects = {
        one.subject
        for each in ground.diagnosis.causes
        for one in (each.symptom, *each.effects)
        if one.rule == "helm-pending" and one.subject.endswith(f" {on}")
    }
    return not any(each.startswith("HelmRelease ") for each in subjects)


_JUDGES: Mapping[str, Callable[[str, Ground], bool | None]] = {
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
