"""The tree that ``omnictl cluster template status`` draws, read back: Omni has no other form of it."""

import re

from firstlight.model.omni_status import ClusterMachine, ClusterStatus

_BRANCH = re.compile(r"^[\s│├└─]*")
_ROOT = re.compile(r'Cluster "[^"]*" (?P<phase>\S+) (?:Not )?Ready')
_SET = re.compile(r'(?P<name>Control Plane|Workers|Additional Workers) "[^"]*" ')
_MACHINE = re.compile(r'Machine "(?P<id>[^"]*)" (?P<stage>\S+)(?P<rest>.*)')
_UPGRADE = re.compile(r"(?P<what>Kubernetes|Talos) Upgrade (?P<phase>\S+)")
_CHECKS = re.compile(r"Status Checks (?:OK|Failing: \[(?P<failing>[^\]]*)\])")


def parse(text: str, *, is_ready: bool) -> ClusterStatus | None:
    """What the tree says; None if it is none.

    Args:
        text: What omnictl printed.
        is_ready: What it ended with.
    """
    lines = [_BRANCH.sub("", line).rstrip() for line in text.splitlines()]
    root = next((match for line in lines if (match := _ROOT.match(line))), None)
    if root is None:
        return None
    machines: list[ClusterMachine] = []
    upgrades: list[tuple[str, str]] = []
    checks: tuple[str, ...] | None = None
    in_control_plane = False
    for line in lines:
        if match := _SET.match(line):
            in_control_plane = match["name"] == "Control Plane"
        elif match := _MACHINE.match(line):
            machines.append(_machine(match, is_control_plane=in_control_plane))
        elif match := _UPGRADE.match(line):
            upgrades.append((match["what"], match["phase"]))
        elif match := _CHECKS.match(line):
            checks = tuple((match["failing"] or "").split())
    return ClusterStatus(
        phase=root["phase"], is_ready=is_ready, machines=tuple(machines), checks=checks, upgrades=tuple(upgrades)
    )


def _machine(match: re.Match[str], *, is_control_plane: bool) -> ClusterMachine:
    rest = match["rest"]
    return ClusterMachine(
        id=match["id"],
        stage=match["stage"],
        is_control_plane=is_control_plane,
        is_connected="Unreachable" not in rest,
        # One that somebody has locked keeps what it has, on purpose.
        is_up_to_date="Config Outdated" not in rest or "Machine Locked" in rest,
        has_failed="Config Apply Failed" in rest,
    )
