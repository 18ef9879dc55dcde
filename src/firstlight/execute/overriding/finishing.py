"""Overrides that were cut off while they began, ended or were aborted: found by whoever may write next, and finished.

Every work on an override is done under the lease of the cluster. So whoever holds it, and finds one that is neither
open nor over, knows that nobody works on it any more.
"""

from firstlight.execute.overriding import closing, keeping
from firstlight.execute.overriding.ground import Ground
from firstlight.model.override import Override, Standing


async def cut_off(ground: Ground) -> list[Override]:
    """Those that somebody has begun to begin, end or abort; reading only.

    Raises:
        errors.ClientError: The API does not answer.
    """
    return [each for each in await keeping.listed(ground.client) if each.is_cut_off]


async def finish(ground: Ground) -> list[Override]:
    """Finish what was cut off; the caller holds the lease.

    Raises:
        errors.ClientError: The API does not answer, or refuses a write.
    """
    done = []
    for each in await cut_off(ground):
        if each.standing is Standing.BEGINNING:
            ground.say(f"override {each.id} was cut off while it began: nobody rests for it any more")
            done.append(await closing.undo(each, ground, why="it was cut off while it began"))
        else:
            word = "ended" if each.standing is Standing.ENDING else "aborted"
            ground.say(f"override {each.id} was cut off while it was {word}: that goes on")
            done.append(await closing.close(each, ground))
    return done
