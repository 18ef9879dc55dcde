"""Backups let go by retention; never the newest that verifies, and none where none does.

Those that nobody trusted has signed are counted apart: whoever can write to the place could else push out the others
with newer names.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence

from firstlight import errors
from firstlight.model import backup
from firstlight.model.backup import Kept, Proof, Pruning
from firstlight.operate.backup import shelf
from firstlight.policy import retention
from firstlight.policy.retention import Keep


async def prune(
    found: Sequence[Kept], keep: Keep, *, signed: Collection[str], verify: Callable[[Kept], Awaitable[Proof]],
    is_dry_run: bool,
) -> Pruning:  # fmt: skip
    """Let go what is not to stay.

    Args:
        found: The backups that are there, newest first.
        keep: What is to stay: so many of those that are signed, and so many of the others.
        signed: Those that somebody trusted has signed, by their names.
        verify: Looks a backup through.
        is_dry_run: Only say what would go.

    Raises:
        errors.Refused: None verifies: what is left could be all that there is.
        errors.FirstlightError: One cannot be deleted.
    """
    stays = _stays([each for each in found if each.stamp in signed], keep)
    stays |= _stays([each for each in found if each.stamp not in signed], keep)
    if all(each.stamp in stays for each in found):
        return Pruning(gone=(), stays=tuple(each.stamp for each in found), is_dry_run=is_dry_run)
    sound = await _newest_sound(found, verify)
    stays.add(sound)
    gone = [each for each in found if each.stamp not in stays]
    for each in reversed(gone) if not is_dry_run else ():
        shelf.remove(each)
    return Pruning(
        gone=tuple(each.stamp for each in gone), stays=tuple(each.stamp for each in found if each.stamp in stays),
        sound=sound, is_dry_run=is_dry_run,
    )  # fmt: skip


def _stays(found: Sequence[Kept], keep: Keep) -> set[str]:
    moments = {backup.moment(each.stamp): each for each in found}
    return {moments[each].stamp for each in retention.stays(moments, keep)}


async def _newest_sound(found: Sequence[Kept], verify: Callable[[Kept], Awaitable[Proof]]) -> str:
    for each in found:
        if (await verify(each)).is_sound:
            return each.stamp
    raise errors.Refused(
        f"none of the {len(found)} backups verifies: none is deleted",
        hint=f"What is wrong with the newest: firstlight backup verify {found[0].stamp}",
    )
