"""Cron expressions that fire, and those that never do."""

import pytest

from firstlight.commands.audit import backup_tools


@pytest.mark.parametrize(
    "expression",
    [
        "0 3 * * *",
        "*/15 * * * *",
        "0 0 1,15 * MON-FRI",
        "0 0 29 2 *",
        "0 0 31 2 1",  # every Monday in February: either of the two days is enough
        "0 0 31 */2 *",
        "@daily",
        "@every 6h",
        "CRON_TZ=Europe/Berlin 0 3 * * *",
        "5/10 * * * ?",
    ],
)
def test_fires(expression: str) -> None:
    assert backup_tools.cron_problem(expression) == ""


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("0 0 30 2 *", "no month has such a day"),
        ("0 0 31 4,6,9,11 *", "no month has such a day"),
        ("0 25 * * *", "25 is no hour"),
        ("0 3 * * 8", "8 is no weekday"),
        ("0 3 * FOO *", "FOO is no month"),
        ("*/0 * * * *", "*/0 is no minute"),
        ("0 3 * *", "4 fields instead of 5"),
        ("0 0 3 * * *", "6 fields instead of 5"),
        ("@nightly", "no shorthand"),
        ("", "0 fields"),
    ],
)
def test_never_fires(expression: str, reason: str) -> None:
    assert reason in backup_tools.cron_problem(expression)


def test_seconds_come_first_where_there_are_six() -> None:
    assert backup_tools.cron_problem("0 0 3 * * *", has_seconds=True) == ""
    assert backup_tools.cron_problem("0 3 * * *", has_seconds=True) == ""
    assert backup_tools.cron_problem("0 1 * * 0", has_seconds=True) == "0 is no month"
