"""The machines of a cluster as a table, and as data."""

from typing import Any

from firstlight.model.node import Equality, NodeList, NodeRow
from firstlight.report import decision_words, safe, table

_HEAD = ("machine", "role", "address", "talos", "kubelet", "is", "etcd", "config")
_SHOWN = 8
"""Fields that differ, of one machine."""
_CONFIGS = {
    Equality.EQUAL: "equal", Equality.DIFFERENT: "differs", Equality.PENDING: "not settled", Equality.UNKNOWN: "-",
}  # fmt: skip


def text(found: NodeList, *, columns: int = 0) -> str:
    """The whole page."""
    rows = [_HEAD, *(_row(each) for each in found.rows)]
    lines = [f"{safe.name(found.cluster)}   {_summary(found)}", "", *table.render(rows, indent="  ", columns=columns)]
    for row in found.rows:
        lines += _below(row, columns)
    if found.unseen:
        lines += ["", *(f"  not seen   {safe.name(each)}" for each in found.unseen)]
    if any(each.config.equality is Equality.DIFFERENT for each in found.rows):
        lines += ["", f"  next     firstlight node apply {safe.name(found.cluster)} --all --dry-run"]
    return "\n".join(lines)


def data(found: NodeList) -> dict[str, Any]:
    """The same for programs."""
    return {
        "cluster": found.cluster,
        "machines": [
            {
                "name": each.name,
                "declared": each.is_declared,
                "role": each.role,
                "address": each.address,
                "answers": each.is_seen,
                "state": each.state,
                "talos": each.talos,
                "kubernetes": each.kubernetes,
                "node": each.node,
                "etcd": each.etcd,
                "schedulable": each.is_schedulable,
                "begun": each.begun,
                "config": {
                    "is": str(each.config.equality),
                    "fields": [decision_words.field(one) for one in each.config.fields],
                    "reboot": each.config.needs_reboot,
                    "reason": each.config.reason,
                },
                "remarks": each.remarks,
            }
            for each in found.rows
        ],
        "unseen": found.unseen,
    }


def _row(row: NodeRow) -> tuple[str, ...]:
    config = "reboots" if row.config.needs_reboot else _CONFIGS[row.config.equality]
    cells = (row.name, row.role, row.address, row.talos, row.kubernetes, _is(row), row.etcd, config)
    return tuple(safe.name(each) or "-" for each in cells)


def _is(row: NodeRow) -> str:
    """How it is, in a few words: whatever is not as it must be."""
    said = [] if row.is_declared else ["not declared"]
    if row.is_declared and row.state != "running":
        said.append(row.state.partition(" (")[0])
    if row.node == "absent":
        said.append("no node")
    elif row.node == "not ready" or (row.node == "ready" and not said):
        said.append(row.node)
    if row.begun:
        said.append(row.begun)
    elif row.is_schedulable is False:
        said.append("cordoned")
    return ", ".join(said) or row.state


def _below(row: NodeRow, columns: int) -> list[str]:
    """What there is to say of one machine besides."""
    is_known = row.config.equality is not Equality.UNKNOWN
    lines = [*row.remarks, *(row.config.reason.splitlines()[:1] if is_known else ())]
    lines += [decision_words.field(each) for each in row.config.fields[:_SHOWN]]
    if (more := len(row.config.fields) - _SHOWN) > 0:
        lines.append(f"and {more} more")
    if not lines:
        return []
    shown = [table.cut(f"    {safe.name(each)}", columns) if columns else f"    {safe.name(each)}" for each in lines]
    return ["", f"  {safe.name(row.name)}", *shown]


def _summary(found: NodeList) -> str:
    fine = sum(each.is_fine for each in found.rows)
    many = len(found.rows)
    return (
        f"{many} machine{'' if many == 1 else 's'}, all as declared"
        if fine == many
        else f"{fine} of {many} as declared"
    )
