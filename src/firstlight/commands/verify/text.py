"""A verification as text: one line for each check, what stands below it, and what was not looked at."""

from collections.abc import Sequence

from firstlight.commands.verify.output_form import VerificationData
from firstlight.drawing import safe, table
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Verification, VerificationCheck, Waiting, lets_on

_MARKS: dict[type[Verdict], str] = {Passed: "✔", Waiting: "▸", Failed: "✘", Skipped: "·"}

_BELOW = " " * 6


def text(verification: Verification, *, columns: int = 0) -> str:
    """The whole page."""
    notes = [f"  {safe.text(each)}" for each in verification.notes]
    return "\n".join(
        [f"{verification.cluster}   {_summary(verification)}", "", *lines(verification.checks, columns=columns),
         *(["", *notes] if notes else [])]
    )  # fmt: skip


def lines(checks: Sequence[VerificationCheck], *, columns: int = 0) -> list[str]:
    """The checks, aligned; what does not fit a line goes on in the next one."""
    rows = table.wrapped([_row(each) for each in checks], indent="  ", columns=columns)
    found: list[str] = []
    for check, row in zip(checks, rows, strict=True):
        found += row
        for each in check.detail:
            text = safe.text(each)
            found += [f"{_BELOW}{line}" for line in (table.wrap(text, columns - len(_BELOW)) if columns else [text])]
    return found


def _row(check: VerificationCheck) -> list[str]:
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


# A verification as data, for JSON: keys are added, never renamed or removed.


def data(verification: Verification) -> VerificationData:
    """Everything that was found."""
    return {
        "cluster": verification.cluster,
        "fine": verification.is_fine,
        "checks": [
            {
                "name": each.name,
                "verdict": type(each.verdict).__name__.lower(),
                "reason": each.verdict.reason,
                "detail": list(each.detail),
                "seconds": round(each.seconds, 3),
                "simulated": each.is_simulated,
            }
            for each in verification.checks
        ],
        "notes": list(verification.notes),
    }
