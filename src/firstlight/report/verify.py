"""A verification as text: one line for each check, what stands below it, and what was not looked at."""

from collections.abc import Sequence

from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting, lets_on
from firstlight.model.verification import Check, Verification
from firstlight.report import safe, table

_MARKS: dict[type[Verdict], str] = {Passed: "✔", Waiting: "▸", Failed: "✘", Skipped: "·"}

_BELOW = " " * 6


def text(verification: Verification, *, columns: int = 0) -> str:
    """The whole page."""
    notes = [f"  {safe.text(each)}" for each in verification.notes]
    return "\n".join(
        [f"{verification.cluster}   {_summary(verification)}", "", *lines(verification.checks, columns=columns),
         *(["", *notes] if notes else [])]
    )  # fmt: skip


def lines(checks: Sequence[Check], *, columns: int = 0) -> list[str]:
    """The checks, aligned; what does not fit a line goes on in the next one."""
    rows = table.wrapped([_row(each) for each in checks], indent="  ", columns=columns)
    found: list[str] = []
    for check, row in zip(checks, rows, strict=True):
        found += row
        for each in check.detail:
            text = safe.text(each)
            found += [f"{_BELOW}{line}" for line in (table.wrap(text, columns - len(_BELOW)) if columns else [text])]
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
