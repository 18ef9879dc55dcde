"""A rehearsal as data for JSON: keys are added, never renamed or removed."""

from typing import Any

from firstlight.model.rehearsal import Rehearsal, StepTold
from firstlight.model.verification import Verification
from firstlight.report import rehearsal, verify_data


def data(told: Rehearsal, verified: Verification | None = None) -> dict[str, Any]:
    """Everything that the report says."""
    return {
        "cluster": told.cluster,
        "verdict": rehearsal.verdict_of(told, verified),
        "refused": told.refused,
        "problems": [{"message": message, "wayOut": way} for message, way in told.problems],
        "causes": [_step(each) for each in told.causes],
        "unjudged": [_step(each) for each in told.unjudged],
        "revision": told.revision,
        "labRevision": told.copy,
        "changedFiles": told.changes,
        "seconds": round(told.seconds, 3),
        "lab": told.lab,
        "kept": told.is_kept,
        "mapping": [{"what": each.what, "declared": each.declared, "lab": each.lab} for each in told.mapped],
        "simulated": [{"name": name, "how": how} for name, how in told.simulated],
        "notes": list(told.notes),
        "untried": [
            {"what": each.what, "why": each.why, "component": each.component, "hint": each.hint}
            for each in told.untried
        ],
        "steps": [_step(each) for each in told.steps],
        "verification": verify_data.data(verified) if verified is not None else None,
    }  # fmt: skip


def _step(step: StepTold) -> dict[str, Any]:
    return {
        "id": step.id,
        "phase": step.phase,
        "name": step.name,
        "component": step.component,
        "verdict": step.verdict,
        "seconds": round(step.seconds, 3),
        "writes": step.writes,
        "reason": step.reason,
        "hint": step.hint,
        "needs": list(step.needs),
    }
