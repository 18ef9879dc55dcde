"""Overrides of a cluster that is taken down: nothing is finished in it, and their records are closed on this computer.

To finish one is to let engines go on and to wait for them, on machines that are wiped a moment later. What stays is
here: a copy that would go on saying that something rests, and the incident record, which nobody else would write.
"""

import dataclasses
from collections.abc import Callable
from pathlib import Path

from firstlight.clients import kube
from firstlight.execute.overriding import incident, keeping
from firstlight.model.override import Standing


async def copy(client: "kube.Client", *, cluster: str, state: Path) -> None:
    """Keep here what the cluster knows of overrides that are not over, before it is gone; others may have begun them.

    Raises:
        errors.FirstlightError: A record is none.
        errors.ClientError: The API does not answer.
    """
    for each in await keeping.listed(client):
        if not each.is_over:
            keeping.copy(each, state, cluster)


def close(*, cluster: str, state: Path, who: str, now: float, tell: Callable[[str], None]) -> None:
    """Close what is kept here and not over: the cluster is gone.

    Args:
        cluster: Its name.
        state: ``.firstlight`` of the repo.
        who: Has taken it down.
        now: When.
        tell: Told of each.
    """
    for each in keeping.local(state, cluster):
        if each.is_over:
            continue
        gone = dataclasses.replace(each, standing=Standing.GONE, ended=now, ended_by=who)
        incident.keep(gone, state=state, cluster=cluster, say=tell)
        keeping.copy(gone, state, cluster)
        tell(f"override {each.id} is closed with its cluster: {incident.path(state, cluster, each.id)}")
