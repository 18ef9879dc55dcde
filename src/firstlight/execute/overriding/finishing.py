"""Overrides that were cut off while they began, ended or were aborted: found by whoever may write next, and finished.

Every work on an override is done under the lease of the cluster. So whoever holds it, and finds one that is neither
open nor over, knows that nobody works on it any more.
"""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.overriding import closing, keeping
from firstlight.execute.overriding.ground import Event, Ground, Said
from firstlight.model.override import Override, Standing

FINISHED = 120.0
"""Seconds in which overrides are finished by a command that has something else to do."""
ANSWERED = 15.0
"""Seconds that such a command gives each engine to reconcile."""


async def cut_off(client: "kube.Client") -> list[Override]:
    """Those that somebody has begun to begin, end or abort; reading only.

    Raises:
        errors.ClientError: The API does not answer.
    """
    return [each for each in await keeping.listed(client) if each.is_cut_off]


async def finish(ground: Ground) -> list[Override]:
    """Finish what was cut off; the caller holds the lease.

    Raises:
        errors.ClientError: The API does not answer, or refuses a write.
    """
    done = []
    for each in await cut_off(ground.client):
        if each.standing is Standing.BEGINNING:
            ground.say(f"override {each.id} was cut off while it began: nobody rests for it any more")
            done.append(await closing.undo(each, ground, why="it was cut off while it began"))
        else:
            word = "ended" if each.standing is Standing.ENDING else "aborted"
            ground.say(f"override {each.id} was cut off while it was {word}: that goes on")
            done.append(await closing.close(each, ground))
    return done


async def attempt(
    client: "kube.Client", *, cluster: str, state: Path, tell: Callable[[str], None],
    now: Callable[[], float] = time.time,
) -> int:  # fmt: skip
    """Finish what was cut off, for a command that has just taken the lease for something else; how many it were.

    What cannot be finished is told, and holds the command up no longer.

    Args:
        client: The API.
        cluster: Its name.
        state: ``.firstlight`` of the repo.
        tell: Told what is done, in sentences.
        now: The clock.
    """

    def told(event: Event) -> None:
        if isinstance(event, Said):
            tell(event.text)

    ground = Ground(client=client, cluster=cluster, state=state, now=now, tell=told, patience=ANSWERED)
    try:
        async with asyncio.timeout(FINISHED):
            return len(await finish(ground))
    except (TimeoutError, errors.FirstlightError) as error:
        why = str(error) or "it takes long"
        tell(f"an override that was cut off is not finished yet: {why}; firstlight override status")
        return 0
