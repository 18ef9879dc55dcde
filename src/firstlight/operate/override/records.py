"""The records of overrides: in the cluster, and as copies on this computer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.execute.overriding import keeping, snapshot
from firstlight.execute.overriding.ground import Ground
from firstlight.model.component import ObjectId
from firstlight.model.override import Override


async def listed(ground: Ground) -> tuple[Override, ...]:
    """All that the cluster knows of, oldest first.

    Raises:
        errors.ClientError: The API does not answer.
    """
    return await keeping.listed(ground.client)


def local(state: Path, cluster: str) -> tuple[Override, ...]:
    """The copies on this computer, oldest first; for when the API is gone."""
    return keeping.local(state, cluster)


async def read(ground: Ground, id: str = "") -> Override:
    """The override that is meant: by its id, or the only one that is not over.

    Raises:
        errors.Refused: There is none, or more than one.
        errors.ClientError: The API does not answer.
    """
    if id:
        keeping.path(ground.state, ground.cluster, id)
        found = await keeping.read(id, ground.client)
        if found is None:
            raise errors.Refused(f"there is no override {id} in {ground.cluster}", hint="firstlight override status")
        return found
    open_ones = [each for each in await listed(ground) if not each.is_over]
    if not open_ones:
        raise errors.Refused(f"no override is open in {ground.cluster}", hint="firstlight override begin opens one.")
    if len(open_ones) > 1:
        names = ", ".join(each.id for each in open_ones)
        raise errors.Refused(f"several overrides are open: {names}", hint="Say which one: --id ID")
    return open_ones[0]


async def before(override: Override, ground: Ground) -> Mapping[ObjectId, Mapping[str, Any]]:
    """The objects in scope as they were when it began; one that was not there is not among them.

    Raises:
        errors.ClientError: The API does not answer.
    """
    return await snapshot.read(override, ground.client)
