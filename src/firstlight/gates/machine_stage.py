"""Whether machines are where a run needs them: with their config, booted, and of this cluster.

A machine need not be ready: a node without a network never is, and the network comes later. A control plane that was
never bootstrapped stays in its boot, since Talos waits there for etcd; it is far enough when it says so.
"""

from collections.abc import Sequence

from firstlight.model.cluster import MachineRole
from firstlight.model.machine_report import EtcdData, MachineReport, MachineStanding
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
