"""The right to work on overrides of a cluster: one run at a time, and whatever was cut off is finished first."""

import contextlib
from collections.abc import AsyncIterator

from firstlight.execute import holders, local_lock
from firstlight.execute.lease import Lease
from firstlight.execute.overriding import finishing
from firstlight.execute.overriding.ground import Ground
from firstlight.journal import run_id


@contextlib.asynccontextmanager
async def working(ground: Ground) -> AsyncIterator[None]:
    """Hold the lock of this computer and the lease of the cluster, and finish what was cut off.

    Raises:
        errors.Refused: Another run works on this cluster.
        errors.ClientError: The API does not answer.
    """
    holder = holders.name(run_id.make(ground.cluster, now=ground.now()))
    with local_lock.held(ground.state / ground.cluster / "lock", who=holder):
        lease = Lease(ground.client, holder=holder, tell=ground.say)
        try:
            await lease.claim()
            await finishing.finish(ground)
            yield
        finally:
            await lease.release()
