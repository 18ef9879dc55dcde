"""The proof after a rehearsal: everything asked once more, and a second run in which nothing is written."""

import time

from firstlight.clients import kube
from firstlight.lab.lab import Lab
from firstlight.model.verification import Verification
from firstlight.observe.watching import Watching
from firstlight.operate.rehearsal.rehearsing import Played
from firstlight.operate.verify import again, checking

WAIT = 60.0
"""Seconds for what is not there yet."""


async def verify(lab: Lab, played: Played) -> Verification:
    """Verify what was brought up in a lab; writes are counted in its audit log.

    Raises:
        errors.ClientError: The API does not answer.
    """
    prepared, means = played.prepared, played.means
    loopback = (await lab.status()).loopback
    async with kube.Client(kube.load(lab.kubeconfig), agent="verify") as client, Watching(client) as watching:
        return await checking.verify(
            checking.Scene(
                cluster=prepared.cluster,
                client=client,
                watching=watching,
                since=time.time() - played.told.seconds,
                work=prepared.work,
                ground=prepared.ground,
                wait=WAIT,
                rerun=again.again(prepared.platform, prepared.cluster, means),
                machines=again.machines(prepared.cluster, means),
                audit_log=lab.home.audit_log,
                apis={each.address: loopback for each in prepared.cluster.machines},
            )
        )
