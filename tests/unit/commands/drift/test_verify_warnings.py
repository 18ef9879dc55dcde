"""Warning events, alike ones together."""

from typing import Any

import pytest

from firstlight.commands.verify.verify import WarningGroup, grouped, summed

AT = 1794812400.0  # 2026-11-16T07:00:00Z


def event(name: str = "a", *, reason: str = "BackOff", at: str = "07:00:10", **changes: Any) -> dict[str, Any]:
    return {
        "metadata": {"creationTimestamp": "2026-11-16T06:00:00Z"},
        "type": "Warning",
        "reason": reason,
        "message": f"{reason} of {name} at {at}",
        "involvedObject": {"kind": "Pod", "namespace": "web", "name": name},
        "lastTimestamp": f"2026-11-16T{at}Z",
        "count": 1,
    } | changes


def test_alike_ones_are_one_group_with_the_newest_message() -> None:
    found = grouped([event("a", count=3), event("b", at="07:00:20"), event("a", at="07:00:05")], since=AT)

    assert found == (
        WarningGroup(reason="BackOff", kind="Pod", namespace="web", objects=2, count=5, last=AT + 20,
              message="BackOff of b at 07:00:20"),
    )  # fmt: skip


def test_the_worst_come_first() -> None:
    rare = [event("a", reason="FailedMount", count=2)]
    often = [event("a", reason="Unhealthy", count=9)]
    wide = [event(name, reason="FailedScheduling") for name in ("a", "b", "c")]

    assert [each.reason for each in grouped([*rare, *often, *wide], since=AT)] == [
        "FailedScheduling",
        "Unhealthy",
        "FailedMount",
    ]


def test_old_and_harmless_ones_are_left_out() -> None:
    old = event(at="06:59:59")
    normal = event(type="Normal")

    assert grouped([old, normal], since=AT) == ()


def test_new_events_write_their_times_elsewhere() -> None:
    series = {"count": 4, "lastObservedTime": "2026-11-16T07:00:30.000000Z"}
    new = event(lastTimestamp=None, count=None, eventTime="2026-11-16T06:50:00.000000Z", series=series)

    (found,) = grouped([new], since=AT)

    assert (found.count, found.last) == (4, AT + 30)


@pytest.mark.parametrize(
    ("reasons", "age", "said"),
    [
        (["BackOff"], 120, "1 in 2 min, none in the last minute"),
        (["BackOff"], 30, "1 in 2 min, also in the last minute"),
        (["BackOff", "FailedMount"], 120, "2 in 2 min, none of 2 kinds in the last minute"),
        (["BackOff", "FailedMount"], 30, "2 in 2 min, 2 of 2 kinds in the last minute"),
    ],
)
def test_how_many_lately_in_words(reasons: list[str], age: int, said: str) -> None:
    groups = grouped([event(reason=each, at="07:00:00") for each in reasons], since=AT)

    assert summed(groups, since=AT + age - 120, now=AT + age) == said
