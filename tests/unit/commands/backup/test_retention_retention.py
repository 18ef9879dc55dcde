"""Which backups stay."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.commands.backup.backup_store import RetentionPolicy, stays

UTC = datetime.UTC
DAY = datetime.datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday
MOMENTS = st.lists(
    st.datetimes(datetime.datetime(2026, 1, 1), datetime.datetime(2026, 3, 1), timezones=st.just(UTC)), max_size=40
)
KEEPS = st.builds(
    RetentionPolicy, newest=st.integers(0, 9), daily=st.integers(0, 9), weekly=st.integers(0, 5)
).filter(lambda each: each.is_anything)  # fmt: skip


def before(**ago: int) -> datetime.datetime:
    return DAY - datetime.timedelta(**ago)


@pytest.mark.parametrize(
    ("keep", "ages"),
    [
        (RetentionPolicy(), [0, 1, 2, 24, 25, 48, 24 * 9]),
        (RetentionPolicy(newest=2), [0, 1]),
        (RetentionPolicy(daily=2), [0, 24]),
        (RetentionPolicy(daily=3), [0, 24, 48]),
        (RetentionPolicy(daily=9), [0, 24, 48, 24 * 9]),
        (RetentionPolicy(weekly=2), [0, 24 * 9]),
        (RetentionPolicy(newest=3, weekly=2), [0, 1, 2, 24 * 9]),
    ],
)
def test_what_was_asked_for_stays(keep: RetentionPolicy, ages: list[int]) -> None:
    there = [before(hours=each) for each in (0, 1, 2, 24, 25, 48, 24 * 9)]

    assert stays(there, keep) == {before(hours=each) for each in ages}


@given(MOMENTS, KEEPS)
def test_the_newest_stays_and_nothing_is_made_up(moments: list[datetime.datetime], keep: RetentionPolicy) -> None:
    found = stays(moments, keep)

    assert found <= set(moments)
    assert not moments or max(moments) in found
    assert len(found) >= min(keep.newest, len(set(moments)))
    assert len(found) <= keep.newest + keep.daily + keep.weekly


@given(MOMENTS, KEEPS)
def test_a_second_time_nothing_more_goes(moments: list[datetime.datetime], keep: RetentionPolicy) -> None:
    once = stays(moments, keep)

    assert stays(once, keep) == once


@given(MOMENTS, KEEPS, st.integers(0, 3), st.integers(0, 3), st.integers(0, 3))
def test_who_asks_for_more_keeps_more(
    moments: list[datetime.datetime], keep: RetentionPolicy, newest: int, daily: int, weekly: int
) -> None:
    more = RetentionPolicy(newest=keep.newest + newest, daily=keep.daily + daily, weekly=keep.weekly + weekly)

    assert stays(moments, keep) <= stays(moments, more)


@given(MOMENTS, KEEPS)
def test_every_day_and_week_asked_for_has_its_newest(moments: list[datetime.datetime], keep: RetentionPolicy) -> None:
    found = stays(moments, keep)

    days = sorted({each.date() for each in moments}, reverse=True)[: keep.daily]
    assert {max(each for each in moments if each.date() == day) for day in days} <= found
