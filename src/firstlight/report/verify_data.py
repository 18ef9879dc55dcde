"""A verification as data, for JSON: keys are added, never renamed or removed."""

from typing import Any

from firstlight.model.verification import Verification


def data(verification: Verification) -> dict[str, Any]:
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
