"""The incident record of a change in an emergency, beside those of overrides: ``CLUSTER/incidents/ID.md``."""

from firstlight.execute import lasting
from firstlight.journal import directory
from firstlight.operate.changing.carrying import Carrying
from firstlight.report import change_incident


def write(carrying: Carrying) -> None:
    """Write it down as far as it is known; one that people have begun to fill in is left to them.

    Raises:
        OSError: It cannot be written.
    """
    record = carrying.record
    if not record.emergency or not record.clusters:
        return
    cluster = record.clusters[0]
    place = carrying.means.state / cluster / "incidents" / f"{record.id}.md"
    if not record.incident:
        carrying.keeper.set(incident=f"{carrying.means.state.name}/{cluster}/incidents/{record.id}.md")
    if directory.is_file(place) and b"_To fill in: what broke, and why._" not in directory.read(place):
        return
    directory.enter(place)
    lasting.write(place, change_incident.markdown(carrying.record, cluster=cluster).encode())
