"""A plan as data, for ``plan --output json``: stable names."""

from firstlight.cli.output_form import ObjectData, PlaceData
from firstlight.commands.plan.output_form import PlanData, ProblemData, StepData
from firstlight.model.component import ObjectId
from firstlight.model.place import Place
from firstlight.model.plan import Plan, Problem, Step


def data(plan: Plan) -> PlanData:
    """The whole plan of one cluster."""
    waves = plan.waves()
    numbers = {step.id: number for number, wave in enumerate(waves, 1) for step in wave}
    return {
        "cluster": plan.cluster,
        "blocked": plan.is_blocked,
        "rendered": plan.is_rendered,
        "steps": [_step(each, numbers.get(each.id)) for each in plan.steps],
        "waves": [[each.id for each in wave] for wave in waves],
        "criticalPath": [each.id for each in plan.critical_path()],
        "stuck": [each.id for each in plan.stuck()],
        "smallestBootstrap": {
            "needed": plan.smallest.needed,
            "missing": plan.smallest.missing,
            "withoutNeed": plan.smallest.spare,
            "unknown": plan.smallest.unknown,
        },
        "problems": [problem(each) for each in plan.problems],
    }


def problem(each: Problem) -> ProblemData:
    """One problem."""
    return {
        "rule": each.rule,
        "severity": each.severity,
        "message": each.message,
        "component": each.component,
        "chain": [{"name": link.name, "says": link.says, "place": _place(link.place)} for link in each.chain],
        "wayOut": each.way_out,
    }


def _step(step: Step, wave: int | None) -> StepData:
    return {
        "id": step.id,
        "phase": step.phase,
        "action": step.action,
        "name": step.name,
        "component": step.component,
        "side": step.side,
        "what": step.what,
        "targets": step.targets,
        "wave": wave,
        "needs": [
            {"step": need.step, "why": need.why, "tie": need.tie, "place": _place(need.place)} for need in step.needs
        ],
        "gates": [
            {
                "subject": gate.subject,
                "component": gate.component,
                "object": None if gate.object is None else _object(gate.object),
            }
            for gate in step.gates
        ],
        "hooks": [
            {"run": hook.run, "unless": hook.unless, "timeout": hook.timeout, "place": _place(hook.place)}
            for hook in step.hooks
        ],
        "creates": None if step.creates is None else [_object(each) for each in step.creates],
        "place": _place(step.place),
    }


def _object(identity: ObjectId) -> ObjectData:
    return {
        "group": identity.group,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
    }


def _place(place: Place | None) -> PlaceData | None:
    return None if place is None else {"path": place.path, "line": place.line, "column": place.column}
