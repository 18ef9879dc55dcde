"""The incident record of a way back that was carried out: what was done, by whom, how it ended, and the blanks."""

import datetime
import sys
from collections.abc import Awaitable, Callable

from firstlight import errors
from firstlight.drawing import safe
from firstlight.execute.means import Means
from firstlight.journal import incident_records, run_identity
from firstlight.model.cluster import Cluster

_ENDS = {0: "done", 3: "refused, or given up before it was done"}


async def recorded(carry_out: Callable[[], Awaitable[int]], cluster: Cluster, means: Means, *, option: str) -> int:
    """Carry a way back out, and write the record however it ends; one that was refused at once has none.

    Args:
        carry_out: What does it; returns the exit code.
        cluster: The cluster.
        means: How it is reached, with the clock and the state directory.
        option: What was chosen, with what it was done to: ``rebuild-machine cp-3``.
    """
    begun = means.now()
    how = "interrupted: the same command goes on"
    try:
        code = await carry_out()
        how = _ENDS.get(code, f"failed, with exit code {code}")
        return code
    except errors.Refused:
        how = ""
        raise
    except errors.FirstlightError as error:
        how = f"failed: {error.message}"
        raise
    finally:
        if how:
            _keep(cluster, means, option=option, begun=begun, how=how)


def _keep(cluster: Cluster, means: Means, *, option: str, begun: float, how: str) -> None:
    """Write the record; that it cannot be written is said, and is no reason to fail."""
    id = incident_records.made_id(begun)
    try:
        text = markdown(cluster.name, id=id, option=option, begun=begun, over=means.now(), how=how)
        place = incident_records.keep(text, state=means.state, cluster=cluster.name, id=id)
    except (OSError, errors.FirstlightError) as error:
        print(f"the incident record could not be written: {error}", file=sys.stderr)
        return
    print(
        f"incident record: {place}; firstlight override review {cluster.name} --id {id} fills in the cause and the "
        "follow-ups",
        file=sys.stderr,
    )


def markdown(cluster: str, *, id: str, option: str, begun: float, over: float, how: str) -> str:
    """The record."""
    lines = [
        f"# Recovery {id} of {safe.name(cluster)}",
        "",
        "| | |",
        "| --- | --- |",
        f"| Way back | {_cell(option)} |",
        f"| Begun | {_time(begun)} by {_cell(run_identity.who())} |",
        f"| Over | {_time(over)} |",
        f"| How | {_cell(how)} |",
        "",
        *incident_records.BLANKS,
    ]
    return "\n".join(lines)


def _time(at: float) -> str:
    return datetime.datetime.fromtimestamp(at, datetime.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _cell(text: str) -> str:
    return safe.name(text).replace("|", "\\|").replace("<", "&lt;")
