"""Whether a machine that was sent away is back and well, from Talos up to its node."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.commands.node import drain_rules
from firstlight.document.within import text
from firstlight.gates import machine_stage
from firstlight.gates.causes import scheduling
from firstlight.model.machine import TalosServiceState
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting

_EXTENSION = "ext-"
_AT_WORK = frozenset({"Running", "Finished", "Skipped"})


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RejoinSight:
    """What was seen of a machine at one moment; what could not be asked is empty."""

    report: MachineReport
    boot: str = ""
    """As the machine itself tells it."""
    talos: str = ""
    """The version that it runs."""
    services: Sequence[TalosServiceState] = ()
    etcd: Verdict | None = None
    """Of control planes only."""
    api: str = ""
    """Why the Kubernetes API does not answer; empty where it does."""
    node: Mapping[str, Any] | None = None


def judge(sight: RejoinSight, *, boot_before: str = "", talos: str = "", kubernetes: str = "") -> Verdict:
    """The verdict: whatever is missing first, from the machine up.

    Args:
        sight: What was seen.
        boot_before: The boot that it must not live in any more; empty for whichever.
        talos: The version that it must run; empty for whichever.
        kubernetes: The version that its kubelet must have; empty for whichever.
    """
    report = sight.report
    name = report.machine.name
    if report.standing is MachineStanding.FOREIGN:
        return Failed(f"{name}: {report.why}")
    if report.standing is not MachineStanding.OURS or report.stage != "running":
        return Waiting(f"{name} {machine_stage.state_of(report)}")
    if boot_before and sight.boot in ("", boot_before):
        return Waiting(f"{name} has not rebooted yet")
    if talos and _bare(sight.talos) != _bare(talos):
        return Waiting(f"{name} runs Talos {sight.talos or 'of an unknown version'}, not {talos}")
    if sick := [each for each in sight.services if _is_sick(each)]:
        return Waiting(f"{name}: {'; '.join(map(_sickness, sick))}")
    if not sight.services:
        return Waiting(f"{name} does not tell its services")
    if sight.etcd is not None and not isinstance(sight.etcd, Passed):
        return sight.etcd if isinstance(sight.etcd, Failed) else Waiting(f"etcd: {sight.etcd.reason}")
    if sight.api:
        return Waiting(f"the Kubernetes API does not answer: {sight.api}")
    return _node(sight, boot_before=boot_before, kubernetes=kubernetes)


def _node(sight: RejoinSight, *, boot_before: str, kubernetes: str) -> Verdict:
    name, node = sight.report.machine.name, sight.node
    if node is None:
        return Waiting(f"{name} is no node of the cluster")
    if boot_before and drain_rules.boot_id(node) == boot_before:
        return Waiting(f"the kubelet of {name} has not reported since its reboot")
    if (cause := scheduling.node_cause(node)) is not None:
        return Waiting(cause.what)
    kubelet = text(node, "status", "nodeInfo", "kubeletVersion")
    if kubernetes and _bare(kubelet) != _bare(kubernetes):
        return Waiting(f"the kubelet of {name} is {kubelet or 'of an unknown version'}, not {kubernetes}")
    etcd = f", {sight.etcd.reason}" if sight.etcd is not None and sight.etcd.reason else ""
    return Passed(f"{name} is well: node ready{etcd}")


def _is_sick(service: TalosServiceState) -> bool:
    """Services of extensions do not count: one that nobody has configured waits for ever."""
    is_own = not service.id.startswith(_EXTENSION)
    return is_own and (service.state not in _AT_WORK or service.is_healthy is False)


def _sickness(service: TalosServiceState) -> str:
    if service.state in _AT_WORK:
        return f"the service {service.id} is not healthy"
    return f"the service {service.id} is {service.state}"


def _bare(version: str) -> str:
    return version.removeprefix("v")
