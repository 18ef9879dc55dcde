"""Which backups stay: the newest, the newest of each of the last days, the newest of each of the last weeks."""

import dataclasses
import datetime
from collections.abc import Callable, Iterable


@dataclasses.dataclass(frozen=True, kw_only=True)
class Keep:
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


def stays(moments: Iterable[datetime.datetime], keep: Keep) -> frozenset[datetime.datetime]:
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
