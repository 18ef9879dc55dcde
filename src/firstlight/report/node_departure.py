"""A machine that is to leave, as text and as data."""

from typing import Any

from firstlight.model.draining import Weight
from firstlight.model.machine_report import Standing
from firstlight.model.node_departure import Departure, Wipe
from firstlight.report import node_upgrade, safe, table

_WIPED = {"partitions": "STATE and EPHEMERAL are wiped", "system-disk": "its system disk is wiped",
          "all": "all its disks are wiped"}  # fmt: skip
_STANDINGS = {
    Standing.OURS: "{wiped}, and it boots again",
    Standing.MAINTENANCE: "is bare already",
    Standing.ABSENT: "does not answer: it is not wiped",
    Standing.FOREIGN: "belongs to another cluster",
}


def text(found: Departure, *, wipe: Wipe, columns: int = 0) -> str:
    """What goes, for people."""
    machine = found.report.machine
    lines = [f"{found.cluster}   {machine.name}   {machine.role}   {machine.address}".rstrip()]
    lines += table.labelled("machine", [_STANDINGS[found.report.standing].format(wiped=_WIPED[wipe])])
    if found.members:
        lines += table.labelled("etcd", [f"member {', '.join(found.members)} leaves; {found.voting} vote now"])
    lines += table.labelled("node", [f"{found.node} is drained and deleted" if found.node else "there is none"])
    lines += table.labelled("storage", [each.text for each in found.concerns if each.weight is not Weight.REFUSE])
    lines += table.labelled("note", found.warnings)
    lines += node_upgrade.refusals(found.refusals)
    return "\n".join(safe.text(table.cut(each, columns) if columns else each) for each in lines)


def left(found: Departure) -> list[str]:
    """What in the repo still declares it."""
    return [safe.text(each) for each in table.labelled("repo", [f"{each}: take it out" for each in found.declared])]


def data(found: Departure) -> dict[str, Any]:
    """What goes, for programs."""
    return {
        "cluster": found.cluster,
        "machine": found.report.machine.name,
        "role": str(found.report.machine.role),
        "standing": str(found.report.standing),
        "members": list(found.members),
        "node": found.node,
        "storage": [{"weight": str(each.weight), "text": each.text} for each in found.concerns],
        "warnings": list(found.warnings),
        "refusals": [{"message": each.message, "hint": each.hint} for each in found.refusals],
        "declared": list(found.declared),
    }
