"""Whether something grows."""

from typing import Any

import pytest

from firstlight.commands.decide.rule_match import grows

CASES: list[tuple[Any, Any, bool | None]] = [
    (1, 2, True),
    (2, 1, False),
    (1, 1, None),
    (True, False, None),
    (None, 1, None),
    ("500m", "1", True),
    ("500m", 1, True),
    ("1Gi", "1000Mi", False),
    ("1Gi", "1G", False),
    ("10Gi", "20Gi", True),
    ("1024Mi", "1Gi", None),
    ("30s", "5m", True),
    ("1h30m", "1h", False),
    ("15d", "30d", True),
    ("25%", "50%", True),
    ("50%", "1", True),
    ("1e3", "2k", True),
    (".5", "1.", True),
    ("a", "b", None),
    ("1", "b", None),
    ("", "", None),
    (float("nan"), 1, None),
    (float("inf"), 1, None),
    ({}, [], None),
]


@pytest.mark.parametrize(("before", "after", "expected"), CASES, ids=[f"{one} to {two}" for one, two, _ in CASES])
def test_grows(before: Any, after: Any, expected: bool | None) -> None:
    assert grows(before, after) is expected
