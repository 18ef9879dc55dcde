"""Durations of HelmReleases; all else of installations needs the real Helm, and is tested with it."""

import pytest

from firstlight.render import helm_installations


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("5m", 300), ("1h30m", 5400), ("90s", 90), ("0.5m", 30), (None, 300), ("", 300), ("soon", 300), ("0s", 300)],
)
def test_a_timeout_is_read_as_go_writes_it(written: object, seconds: float) -> None:
    assert helm_installations._seconds(written) == seconds
