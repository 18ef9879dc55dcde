"""``override abort``: back to the snapshot, and the engine goes on."""

import dataclasses

from firstlight import errors
from firstlight.execute.overriding import closing, keeping
from firstlight.execute.overriding.ground import Ground
from firstlight.model.override import Override, Standing


async def abort(override: Override, ground: Ground) -> Override:
    """Undo an override: only what it changed itself; the caller holds the lease.

    Raises:
        errors.Refused: It is over.
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    if override.is_over:
        raise errors.Refused(f"override {override.id} is over", hint="firstlight override status")
    if override.standing is Standing.OPEN:
        override = await closing.looked(override, ground)
    override = await keeping.write(dataclasses.replace(override, standing=Standing.ABORTING), ground)
    return await closing.close(override, ground)
