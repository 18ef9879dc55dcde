"""Whether machines are where a run needs them: with their config, booted, and of this cluster; or what Omni says.

A machine need not be ready: a node without a network never is, and the network comes later, so that a cluster that
Omni does not call ready may pass here. A control plane that was never bootstrapped stays in its boot, since Talos waits
there for etcd; it is far enough when it says so.
"""

from collections.abc import Mapping, Sequence

from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.machine_report import EtcdData, MachineReport, MachineStanding
from firstlight.model.omni_status import ClusterMachine, ClusterStatus
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting


def judge(reports: Sequence[MachineReport]) -> Verdict:
    """The verdict over all of them."""
    foreign = [each for each in reports if each.standing is MachineStanding.FOREIGN]
    if foreign:
        return Failed("; ".join(f"{each.machine.name}: {each.why}" for each in foreign))
    missing = [each for each in reports if not is_up(each)]
    if missing:
        return Waiting("; ".join(f"{each.machine.name} {state_of(each)}" for each in missing))
    return Passed(f"{len(reports)} of {len(reports)} up")


def is_up(report: MachineReport) -> bool:
    """Whether a machine runs with its config, or waits for a bootstrap."""
    if report.standing is not MachineStanding.OURS:
        return False
    if report.stage == "running":
        return True
    waits = report.machine.role is MachineRole.CONTROL_PLANE and report.etcd.data is not EtcdData.UNKNOWN
    return report.stage == "booting" and waits


def state_of(report: MachineReport) -> str:
    """How far a machine is, in a few words that follow its name."""
    match report.standing:
        case MachineStanding.ABSENT:
            return f"does not answer ({report.why})" if report.why else "does not answer"
        case MachineStanding.MAINTENANCE:
            if report.stage and report.stage != "maintenance":
                return f"is {report.stage}"
            return "is in maintenance mode, without a config"
        case MachineStanding.FOREIGN:
            return "belongs to another cluster"
        case MachineStanding.OURS:
            return f"is {report.stage or 'booting'}"


# As ``talosctl get machinestatus -o json`` shows a control plane that waits for a bootstrap:
#
# {"node": "10.5.0.2", "metadata": {"namespace": "runtime", "type": "MachineStatuses.runtime.talos.dev",
#  "id": "machine", "version": "12", "phase": "running"},
#  "spec": {"stage": "booting", "status": {"ready": false, "unmetConditions": [
#    {"name": "services", "reason": "etcd not healthy"}]}}}


_UNDER_WAY = frozenset({"Upgrading", "Reverting", "UpdatingMachineSchematics"})


def machines(status: ClusterStatus | None, declared: Sequence[Machine], *, with_workers: bool = True) -> Verdict:
    """The verdict over machines and upgrades.

    Args:
        status: What Omni says; None while it says nothing.
        declared: The machines that are declared one by one: those must be there.
        with_workers: Whether workers are waited for; they may join any time.
    """
    if status is None:
        return Waiting("Omni has no status of the cluster yet")
    if status.phase == "DESTROYING":
        return Failed("Omni is destroying the cluster")
    names = {each.id: each.name for each in declared}
    broken = [f"Omni could not upgrade {what}" for what, phase in status.upgrades if phase == "Failed"]
    broken += [f"{_name(each, names)} does not take its config" for each in status.machines if each.has_failed]
    if broken:
        return Failed("; ".join(broken))
    if not any(each.is_control_plane for each in status.machines):
        return Waiting("Omni has given the cluster no control plane yet")
    waits = [f"{what} is upgraded ({phase})" for what, phase in status.upgrades if phase in _UNDER_WAY]
    late = {each.id: state for each in status.machines if (state := _lack(each))}
    absent = [each for each in declared if each.id not in {one.id for one in status.machines}]
    late |= {each.id: "is not in Omni's cluster yet" for each in absent}
    workers = {each.id for each in status.machines if not each.is_control_plane}
    workers |= {each.id for each in absent if each.role is MachineRole.WORKER}
    waits += [f"{names.get(id, id)} {state}" for id, state in late.items() if with_workers or id not in workers]
    if waits:
        return Waiting("; ".join(waits))
    total = len(status.machines) + len(absent)
    left = "; ".join(f"{names.get(id, id)} {state}" for id, state in late.items())
    return Passed(f"{total - len(late)} of {total} up{f'; {left}; it may join any time' if left else ''}")


def etcd(status: ClusterStatus | None) -> Verdict:
    """The verdict over the checks of the control plane."""
    if status is None:
        return Waiting("Omni has no status of the cluster yet")
    if status.checks is None:
        return Waiting("Omni has not checked the control plane yet")
    if status.checks:
        return Waiting(f"checks of the control plane fail: {', '.join(status.checks)}")
    return Passed("etcd is well, says Omni")


def _lack(machine: ClusterMachine) -> str:
    if not machine.is_connected:
        return "does not answer Omni"
    if machine.stage != "RUNNING":
        return f"is {machine.stage.lower().replace('_', ' ')}"
    return "" if machine.is_up_to_date else "has its old config"


def _name(machine: ClusterMachine, names: Mapping[str, str]) -> str:
    return names.get(machine.id, machine.id)


# As ``omnictl cluster template status --wait=0s`` draws a cluster of three machines, one of which is off:
#
# Cluster "apps" SCALING_UP Not Ready (1/3) (healthy/total)
# ├── Kubernetes Upgrade Done
# ├── Talos Upgrade Done
# ├── Control Plane "apps-control-planes" ScalingUp Not Ready (1/2)
# │   ├── Load Balancer Ready
# │   ├── Status Checks OK
# │   ├── Machine "27c16241-96bf-4f17-9579-ea3a6c4a3ca8" RUNNING Ready
# │   └── Machine "4bd92fba-998d-4ef3-ab43-638b806dd3fe" INSTALLING Config Outdated
# └── Workers "apps-workers" ScalingUp Not Ready (0/1)
#     └── Machine "5b04fcb4-d9d4-4fb2-9b9d-4d5c2e6a4a3e" POWERED_OFF Unreachable
