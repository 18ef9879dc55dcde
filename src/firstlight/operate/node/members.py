"""The members of etcd, as a control plane tells them."""

from collections.abc import Sequence

from firstlight.clients import talosctl
from firstlight.model.etcd import Member
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.observe.machines import PATIENCE, Way


async def of(reports: Sequence[MachineReport], way: Way) -> tuple[Member, ...] | None:
    """From the first of some machines that tells them; None where none does."""
    for each in reports:
        if each.standing is Standing.OURS and each.etcd.members:
            try:
                return await way.admin.etcd_members(way.at(each.machine), timeout=PATIENCE)
            except talosctl.TalosError:
                continue
    return None
