"""Whether Omni has brought a cluster far enough: its machines run, and etcd is well.

A machine need not be ready: a node without a network never is, and the network comes later. So a cluster that Omni does
not call ready may pass here.
"""

from collections.abc import Mapping, Sequence

from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.omni_status import ClusterMachine, ClusterStatus
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

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
