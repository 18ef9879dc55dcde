"""Which backups stay: the newest, the newest of each of the last days, the newest of each of the last weeks."""

import dataclasses
import datetime
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

from firstlight import errors
from firstlight.commands.backup import backup_manifest, backup_store
from firstlight.commands.backup.backup_manifest import BackupVerification, Pruning, StoredBackup


@dataclasses.dataclass(frozen=True, kw_only=True)
class RetentionPolicy:
    """What was asked for; each wish adds to the others."""

    newest: int = 0
    daily: int = 0
    """Days that have a backup, of which the newest stays."""
    weekly: int = 0
    """Weeks, from Monday on, the same."""

    @property
    def is_anything(self) -> bool:
        """Whether anything was asked for; without a wish nothing goes."""
        return bool(self.newest or self.daily or self.weekly)


def stays(moments: Iterable[datetime.datetime], keep: RetentionPolicy) -> frozenset[datetime.datetime]:
    """Those that stay; all of them where nothing was asked for.

    Days and weeks without a backup do not count: who has made none for a month loses none by that.
    """
    known = sorted(set(moments), reverse=True)
    if not keep.is_anything:
        return frozenset(known)
    return frozenset(
        [
            *known[: keep.newest],
            *_newest_of(known, keep.daily, lambda each: each.date()),
            *_newest_of(known, keep.weekly, lambda each: each.isocalendar()[:2]),
        ]
    )


def _newest_of(
    known: list[datetime.datetime], many: int, period: Callable[[datetime.datetime], object]
) -> list[datetime.datetime]:
    """The newest of each of the last periods."""
    found: dict[object, datetime.datetime] = {}
    for each in known:
        found.setdefault(period(each), each)
    return list(found.values())[:many]


# Backups let go by retention; never the newest that verifies, and none where none does.
#
# Those that nobody trusted has signed are counted apart: whoever can write to the place could else push out the others
# with newer names.


async def prune(
    found: Sequence[StoredBackup],
    keep: RetentionPolicy,
    *,
    signed: Collection[str],
    verify: Callable[[StoredBackup], Awaitable[BackupVerification]],
    is_dry_run: bool,
) -> Pruning:
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
        backup_store.remove(each)
    return Pruning(
        gone=tuple(each.stamp for each in gone), stays=tuple(each.stamp for each in found if each.stamp in stays),
        sound=sound, is_dry_run=is_dry_run,
    )  # fmt: skip


def _stays(found: Sequence[StoredBackup], keep: RetentionPolicy) -> set[str]:
    moments = {backup_manifest.moment(each.stamp): each for each in found}
    return {moments[each].stamp for each in stays(moments, keep)}


async def _newest_sound(
    found: Sequence[StoredBackup], verify: Callable[[StoredBackup], Awaitable[BackupVerification]]
) -> str:
    for each in found:
        if (await verify(each)).is_sound:
            return each.stamp
    raise errors.Refused(
        f"none of the {len(found)} backups verifies: none is deleted",
        hint=f"What is wrong with the newest: firstlight backup verify {found[0].stamp}",
    )
