"""Durations as people type them."""

import click
import pytest

from firstlight.cli import options


@pytest.mark.parametrize(
    ("written", "seconds"), [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("24h", 86400), ("2d", 172800)]
)
def test_durations(written: str, seconds: float) -> None:
    assert options.SECONDS.convert(written, None, None) == seconds


@pytest.mark.parametrize("written", ["", "2", "h", "2 days", "-1h", "1h-5m", "9999999s"])
def test_what_is_none_is_told(written: str) -> None:
    with pytest.raises(click.BadParameter, match="90s, 30m or 1h30m"):
        options.SECONDS.convert(written, None, None)
