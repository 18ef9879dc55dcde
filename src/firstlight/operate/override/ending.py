"""``override end``: only when Git has what was changed, or is to win; then the engine goes on."""

import dataclasses

from firstlight import errors
from firstlight.execute.overriding import asking, closing, holding, keeping
from firstlight.execute.overriding.ground import Ground
from firstlight.model.override import Override, Standing
from firstlight.operate.override import agreeing
from firstlight.operate.override.agreeing import Git

_MOST = 10


async def end(override: Override, ground: Ground, *, git: Git | None = None, discard: bool = False) -> Override:
    """Close an override; the caller holds the lease.

    Args:
        override: One that is open.
        ground: Where.
        git: What Git has; not needed if nothing was changed, or if Git is to win.
        discard: Let Git win: what was changed goes back first.

    Raises:
        errors.Refused: It is over; or Git and cluster do not agree; or the engine's source has not got that commit.
        errors.ClientError: The API does not answer, or refuses a write; the next command goes on.
    """
    if override.is_over:
        raise errors.Refused(f"override {override.id} is over", hint="firstlight override status")
    if override.standing is Standing.OPEN:
        override = await closing.looked(override, ground)
        if override.changes and not discard:
            await _check(override, ground, git)
        at = (git.revision, git.repository) if git is not None and not discard else ("", "")
        override = await keeping.write(
            dataclasses.replace(
                override, standing=Standing.ENDING, is_discarded=discard, revision=at[0], repository=at[1]
            ),
            ground,
        )
    return await closing.close(override, ground)


async def _check(override: Override, ground: Ground, git: Git | None) -> None:
    hint = f"firstlight override align {ground.cluster} brings it into Git; --discard lets Git win."
    if git is None:
        raise errors.Refused("nobody knows whether Git has what was changed", hint=hint)
    if git.problems:
        raise errors.Refused(f"the engine would not get what is here: {git.problems[0]}", hint="Push it, then end.")
    found = await agreeing.differences(override, ground, git.wanted)
    if found:
        more = [f"  and {len(found) - _MOST} more"] if len(found) > _MOST else []
        lines = "\n".join([*(f"  {each}" for each in found[:_MOST]), *more])
        why = f"\nnot everything could be rendered: {git.unread[0]}" if git.unread else ""
        raise errors.Refused(f"Git does not have what was changed:\n{lines}{why}", hint=hint)
    for each in override.held:
        live = await holding.look(each, ground)
        where = git.repository
        problem = await asking.sourced(live, git.revision, ground, url=where) if live is not None else ""
        if problem:
            raise errors.Refused(
                f"the engine does not have that commit yet: {problem}",
                hint="Push it to the branch that the engine follows, then end again.",
            )
