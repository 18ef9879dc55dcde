"""A rehearsal as data for JSON: keys are added, never renamed or removed."""

from typing import Any

from firstlight.model.rehearsal import Rehearsal, StepTold


def data(told: Rehearsal) -> dict[str, Any]:
    """Everything that the report says."""
    return {
        "cluster": told.cluster,
        "verdict": told.verdict,
        "refused": told.refused,
        "problems": [{"message": message, "wayOut": way} for message, way in told.problems],
        "causes": [_step(each) for each in told.causes],
        "unjudged": [_step(each) for each in told.unjudged],
        "revision": told.revision,
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
