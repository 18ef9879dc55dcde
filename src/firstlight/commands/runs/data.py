"""A run as data for JSON: stable, described in docs/runs.md. The event stream is the journal's own form."""

from firstlight.commands.runs.output_form import GateRunData, PhaseData, RunBriefData, RunData, StepRunData
from firstlight.drawing import clock
from firstlight.model.component import Phase
from firstlight.model.run_state import GateRun, PhaseRun, RunBrief, RunState, StepRun


def state_data(state: RunState, *, now: float) -> RunData:
    """How a run stands."""
    until = state.until(now)
    started = state.started
    return {
        "run": started.run if started else "",
        "cluster": started.cluster if started else "",
        "outcome": str(state.outcome),
        "reason": state.ended.reason if state.ended else "",
        "started": clock.moment(started.at) if started else None,
        "ended": clock.moment(state.ended.at) if state.ended else None,
        "seconds": round(state.seconds(now), 3),
        "writes": state.writes,
        "notes": list(state.notes),
        "revision": started.revision if started else "",
        "version": started.version if started else "",
        "who": started.who if started else "",
        "rehearsal": bool(started and started.is_rehearsal),
        "dryRun": bool(started and started.is_dry_run),
        "phases": [_phase(each, until) for each in state.phases],
        "steps": [_step(each, until) for each in state.steps],
        "causes": [{"step": each.step.id, "blocks": list(each.blocks)} for each in state.causes],
        "staysWithTalos": list(staying_components(state)),
        "criticalPath": [each.id for each in state.critical_path(now)],
    }


def brief_data(run: RunBrief) -> RunBriefData:
    """A run in a list."""
    return {
        "run": run.run,
        "cluster": run.cluster,
        "outcome": str(run.outcome),
        "reason": run.reason,
        "started": clock.moment(run.started),
        "seconds": round(max(0.0, run.last - run.started), 3),
        "steps": run.steps,
        "writes": run.writes,
        "who": run.who,
        "rehearsal": run.is_rehearsal,
        "dryRun": run.is_dry_run,
    }


def _phase(phase: PhaseRun, now: float) -> PhaseData:
    return {
        "phase": str(phase.phase),
        "state": str(phase.state),
        "done": phase.done,
        "total": phase.total,
        "seconds": round(phase.seconds(now), 3),
    }


def _step(step: StepRun, now: float) -> StepRunData:
    return {
        "id": step.id,
        "phase": str(step.brief.phase),
        "name": step.brief.name,
        "what": step.brief.what,
        "needs": list(step.brief.needs),
        "state": str(step.state),
        "since": clock.moment(step.since) if step.since else None,
        "seconds": round(step.seconds(now), 3),
        "reason": step.reason,
        "hint": step.hint,
        "told": step.told,
        "gaveUp": step.is_given_up,
        "announced": list(step.writes),
        "writes": step.written,
        "gates": [_gate(each, step, now) for each in step.gates],
        "causes": list(step.causes),
    }


def _gate(gate: GateRun, step: StepRun, now: float) -> GateRunData:
    return {
        "gate": gate.name,
        "verdict": gate.verdict,
        "reason": gate.reason,
        "seconds": round(gate.seconds(now if step.ended is None else step.ended), 3),
    }


# What stays with Talos after a run: components whose manifests it does not release.


_TALOS, _RELEASE = "inline:talos", "handover:release"


def staying_components(state: RunState) -> tuple[str, ...]:
    """Their names, as the steps of the run tell; none where the run had no handover, so that it is not known."""
    briefs = [each.brief for each in state.steps]
    if not any(each.phase == Phase.HANDOVER for each in briefs):
        return ()
    released = {name for each in briefs if each.id == _RELEASE for name in each.what.split(", ")}
    inline = [each.name for each in briefs if each.phase == Phase.INLINE and each.id != _TALOS]
    return tuple(each for each in dict.fromkeys(inline) if each not in released)


def staying_text(state: RunState) -> str:
    """A sentence; empty where nothing stays."""
    names = staying_components(state)
    if not names:
        return ""
    one = len(names) == 1
    stays, makes = ("stays", "it what its manifest says") if one else ("stay", "them what their manifests say")
    return f"{', '.join(names)} {stays} with Talos: talosctl upgrade-k8s makes {makes}, whatever was changed since"
