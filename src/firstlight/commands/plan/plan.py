"""Plan every cluster of a repo, and print the plans as text or as data."""

from pathlib import Path

from firstlight.cli import diagnostic_data, output, renderers, which_repo
from firstlight.cli.output_form import ObjectData
from firstlight.commands.plan import text
from firstlight.commands.plan.output_form import PlanData, StepData
from firstlight.drawing import table
from firstlight.errors import ExitCode
from firstlight.model.component import ObjectId
from firstlight.model.plan import Plan, Step
from firstlight.plan import build


def show(root: Path | None, cluster: str, *, wanted: bool | None, offline: bool, everything: bool, form: str) -> int:
    """Print the plans of a repo's clusters, or of one; return the exit code."""
    platform = which_repo.only(which_repo.platform(root), cluster)
    renditions = renderers.rendered(platform, wanted=wanted, offline=offline)
    plans = [build.build(platform, each, renditions=renditions) for each in platform.clusters]
    if form == "json":
        output.write_json({"plans": [data(each) for each in plans]})
    else:
        columns = table.terminal_columns()
        print("\n\n\n".join(text.text(each, columns=columns, everything=everything) for each in plans))
    return ExitCode.BLOCKED if any(each.is_blocked for each in plans) else 0


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
        "problems": diagnostic_data.of_all(plan.problems),
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
            {"step": need.step, "why": need.why, "tie": need.tie, "place": diagnostic_data.place(need.place)}
            for need in step.needs
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
            {
                "run": hook.run,
                "unless": hook.unless,
                "timeout": hook.timeout,
                "place": diagnostic_data.place(hook.place),
            }
            for hook in step.hooks
        ],
        "creates": None if step.creates is None else [_object(each) for each in step.creates],
        "place": diagnostic_data.place(step.place),
    }


def _object(identity: ObjectId) -> ObjectData:
    return {
        "group": identity.group,
        "kind": identity.kind,
        "namespace": identity.namespace,
        "name": identity.name,
    }
