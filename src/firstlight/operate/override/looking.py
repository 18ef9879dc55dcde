"""``override status``: every override with what rests, what does not rest any more, and whether Git has it."""

import dataclasses
from pathlib import Path

from firstlight.execute.overriding import holding
from firstlight.execute.overriding.ground import Ground
from firstlight.model.override import Override, Seen
from firstlight.operate.override import agreeing, records
from firstlight.operate.override.agreeing import Git


async def look(ground: Ground, *, git: Git | None = None, is_all: bool = False) -> tuple[Seen, ...]:
    """What is open, or everything that there was; nothing is written.

    Args:
        ground: Where.
        git: What Git has, where it was rendered.
        is_all: Whether those that are over are wanted too.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found = [each for each in await records.listed(ground) if is_all or not each.is_over]
    return tuple([await _seen(each, ground, git) for each in found])


def kept(state: Path, cluster: str) -> tuple[Seen, ...]:
    """What the copies on this computer say; for when the API does not answer."""
    found = records.local(state, cluster)
    return tuple(Seen(override=each, is_copy=True) for each in found if not each.is_over)


async def _seen(override: Override, ground: Ground, git: Git | None) -> Seen:
    if override.is_over:
        return Seen(override=override)
    awake = await holding.awake(override, ground)
    seen = Seen(override=override, awake=tuple(map(str, awake)))
    if git is None or not override.changes:
        return seen
    found = await agreeing.differences(override, ground, git.wanted)
    return dataclasses.replace(seen, differences=tuple(map(str, found)), is_compared=True)
