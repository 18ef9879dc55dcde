"""A verification as text: one line for each check, what stands below it, and what was not looked at."""

from collections.abc import Sequence

from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting, lets_on
from firstlight.model.verification import Check, Verification
from firstlight.report import safe, table

_MARKS: dict[type[Verdict], str] = {Passed: "✔", Waiting: "▸", Failed: "✘", Skipped: "·"}


def text(verification: Verification, *, columns: int = 0) -> str:
    """The whole page."""
    notes = [f"  {safe.text(each)}" for each in verification.notes]
    return "\n".join(
        [f"{verification.cluster}   {_summary(verification)}", "", *lines(verification.checks, columns=columns),
         *(["", *notes] if notes else [])]
    )  # fmt: skip


def lines(checks: Sequence[Check], *, columns: int = 0) -> list[str]:
    """The checks, aligned; what is not fine is never cut."""
    rows = table.render([_row(each) for each in checks], indent="  ")
    found: list[str] = []
    for check, row in zip(checks, rows, strict=True):
        shown = [row, *(f"      {safe.text(each)}" for each in check.detail)]
        found += [table.cut(each, columns) for each in shown] if columns and lets_on(check.verdict) else shown
    return found


def _row(check: Check) -> list[str]:
    word = type(check.verdict).__name__.lower()
    reason = safe.text(" ".join(check.verdict.reason.split()))
    simulated = " (simulated)" if check.is_simulated else ""
    return [
        safe.text(check.name),
        f"{_MARKS[type(check.verdict)]} {word}{simulated}",
        f"{check.seconds:.1f} s",
        reason,
    ]


def _summary(verification: Verification) -> str:
    bad = [each for each in verification.checks if not lets_on(each.verdict)]
    if not bad:
        return f"{len(verification.checks)} checks, all fine"
    return f"{len(bad)} of {len(verification.checks)} checks are not fine"
