"""How the steps of a rehearsal went, from the journal of its run."""

from pathlib import Path

from firstlight.journal import reading
from firstlight.model.rehearsal import StepTold
from firstlight.operate.up import Prepared


def steps(prepared: Prepared, journal: Path) -> tuple[StepTold, ...]:
    """Every step of the run, in the order in which they ended; those that never began come last."""
    state = reading.state(journal)
    components = {each.id: each.component for each in prepared.work.plan.steps}
    told = [
        StepTold(
            id=each.id,
            phase=each.brief.phase,
            name=each.brief.name,
            verdict="waiting" if each.is_given_up else each.state.value,
            seconds=each.seconds(state.until(0.0)),
            writes=each.written,
            reason=each.reason or (f"blocked by {', '.join(each.causes)}" if each.causes else ""),
            hint=each.hint,
            component=components.get(each.id, ""),
            needs=each.brief.needs,
        )
        for each in sorted(state.steps, key=lambda each: each.ended if each.ended is not None else float("inf"))
    ]
    return tuple(told)
