import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.talosctl import talosctl_output


@given(st.floats(0.001, 1e7))
def test_a_duration_reads_back(value: float) -> None:
    assert talosctl_output.parse_duration(talosctl_output.format_duration(value)) == pytest.approx(value, abs=0.0006)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1h2m3s", 3723), ("5s", 5), ("1m0s", 60), ("1.5s", 1.5), ("-5s", -5), ("250ms", 0.25), ("0s", 0)],
)
def test_durations(text: str, expected: float) -> None:
    assert talosctl_output.parse_duration(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "s", "5x", "5 s", "-"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        talosctl_output.parse_duration(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("0 B", 0), ("20 MB", 20_000_000), ("9.1 MB", 9_100_000), ("1.2 kB", 1200)]
)
def test_sizes(text: str, expected: int) -> None:
    assert talosctl_output.parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "20", "20 MiB", "x MB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="size"):
        talosctl_output.parse_size(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01 12:00:00.123456789 +0000 UTC", datetime.datetime(2026, 3, 1, 12, 0, 0, 123456, datetime.UTC)),
        ("2026-03-01 12:00:00 +0000 UTC", datetime.datetime(2026, 3, 1, 12, tzinfo=datetime.UTC)),
        ("2026-03-01 13:00:00.5 +0100 CET m=+0.1", datetime.datetime(2026, 3, 1, 12, 0, 0, 500000, datetime.UTC)),
    ],
)
def test_times(text: str, expected: datetime.datetime) -> None:
    assert talosctl_output.parse_time(text) == expected


def test_what_is_no_time() -> None:
    with pytest.raises(ValueError, match="time"):
        talosctl_output.parse_time("yesterday")
