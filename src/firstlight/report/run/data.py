"""A run as data for JSON: stable, described in docs/runs.md. The event stream is the journal's own form."""

from typing import Any

from firstlight.model.run_state import GateRun, PhaseRun, RunBrief, RunState, StepRun
from firstlight.report.run import clock, staying


def state(state: RunState, *, now: float) -> dict[str, Any]:
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
        "staysWithTalos": list(staying.components(state)),
        "criticalPath": [each.id for each in state.critical_path(now)],
    }


def brief(run: RunBrief) -> dict[str, Any]:
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


def _phase(phase: PhaseRun, now: float) -> dict[str, Any]:
    return {
        "phase": str(phase.phase),
        "state": str(phase.state),
        "done": phase.done,
        "total": phase.total,
        "seconds": round(phase.seconds(now), 3),
    }


def _step(step: StepRun, now: float) -> dict[str, Any]:
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


def _gate(gate: GateRun, step: StepRun, now: float) -> dict[str, Any]:
    return {
        "gate": gate.name,
        "verdict": gate.verdict,
        "reason": gate.reason,
        "seconds": round(gate.seconds(now if step.ended is None else step.ended), 3),
    }
