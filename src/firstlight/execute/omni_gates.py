"""The gates of a cluster that Omni makes: its own status is asked again and again, by omnictl."""

import asyncio
import time
from collections.abc import Callable

from firstlight.clients import omnictl
from firstlight.execute import omni_access
from firstlight.execute.world import World
from firstlight.gates import omni as gate
from firstlight.model.plan import Subject
from firstlight.model.verdict import Failed, Passed, Verdict, Waiting
from firstlight.model.work import SyncTemplate

POLL = 3.0
"""Seconds between two looks: each starts a program that signs in."""


async def wait(
    subject: Subject, task: SyncTemplate, world: World, *, on_verdict: Callable[[Verdict], None], timeout: float
) -> Verdict:
    """Wait until Omni has machines running, or etcd well.

    Returns:
        Passed or Failed; or the last Waiting when the time is over. Workers that do not come are waited for as long as
        the world has patience, and then left: they may join any time.
    """
    omni = omni_access.program(world)
    begun = time.monotonic()
    last: Verdict | None = None
    while True:
        spent = time.monotonic() - begun
        try:
            status = await omni.status(task.template, directory=task.directory)
        except (omnictl.Unreachable, omnictl.TimedOut) as error:
            verdict: Verdict = Waiting(error.message)
        else:
            if subject is Subject.ETCD:
                verdict = gate.etcd(status)
            else:
                verdict = gate.machines(status, world.cluster.machines, with_workers=spent < world.patience)
        if verdict != last:
            last = verdict
            on_verdict(verdict)
        if isinstance(verdict, Passed | Failed) or spent >= timeout:
            return verdict
        await asyncio.sleep(POLL)
