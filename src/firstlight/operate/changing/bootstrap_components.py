"""Components that bootstrap keeps, and secrets of the foundation: brought by the steps that ``up --only`` has."""

import dataclasses

from firstlight import errors
from firstlight.execute import gating
from firstlight.execute.actions import looking
from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import questions
from firstlight.model.component import Phase
from firstlight.model.observation import Ask
from firstlight.model.plan import Action, Gate, Step
from firstlight.model.verdict import Passed, Verdict, lets_on
from firstlight.model.work import Leave
from firstlight.operate import selecting
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.up import Prepared

_WAYS = (Action.FETCH_KUBECONFIG,)
"""What is there already in a cluster that lives."""


def stage(name: str, preparing: Preparing, *, cluster: str) -> Stage:
    """One component, or ``secrets``: its steps one after the other, each with its gates.

    Args:
        name: What ``--only`` calls it.
        preparing: Prepares the cluster's bootstrap.
        cluster: Its name.
    """

    async def look(world: World) -> Change | None:
        prepared = await preparing.get(world)
        return await _looked(steps_of(prepared, name), prepared, world)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        prepared = await preparing.get(world)
        steps = steps_of(prepared, name)
        said = []
        for step in steps:
            verdict, hint = await gated(step, prepared, world, on_verdict)
            if not lets_on(verdict):
                return verdict, hint
            said.append(verdict.reason)
        if left := left_of(steps, prepared):
            said.append(f"{left} of the repo did not run: firstlight up {cluster} --only {name} runs them")
        return Passed("; ".join(each for each in said if each)), ""

    what = "secrets of the foundation" if name == selecting.SECRETS else name
    return Stage(
        id=f"{cluster}:component:{name}", name=f"bring {what} up to date", what=f"up --only {name}", phase=Phase.CORE,
        look=look, wait=wait,
    )  # fmt: skip


def steps_of(prepared: Prepared, name: str) -> list[Step]:
    """The steps of a component, in an order in which each comes after what it needs."""
    chosen = selecting.only(prepared.work.plan, (name,))
    tasks = prepared.work.tasks
    left = [each for each in chosen.steps if each.action not in _WAYS and not isinstance(tasks[each.id], Leave)]
    ordered: list[Step] = []
    while left:
        ids = {each.id for each in left}
        ready = [each for each in left if not any(one.step in ids for one in each.needs)]
        ordered += ready or left
        left = [each for each in left if each not in ordered]
    return ordered


async def _looked(steps: list[Step], prepared: Prepared, world: World) -> Change | None:
    """The first step that has something to write; those after it are looked at when it is done."""
    for number, step in enumerate(steps):
        change = await looking.look(prepared.work.tasks[step.id], world, step.id)
        if change is not None:
            return _following(change, steps[number:], prepared, world)
    return None


def _following(first: Change, steps: list[Step], prepared: Prepared, world: World) -> Change:
    async def perform() -> None:
        change: Change | None = first
        for number, step in enumerate(steps):
            if number:
                change = await looking.look(prepared.work.tasks[step.id], world, step.id)
            if change is not None and number and change.danger:
                raise errors.Refused(f"not asked yet: {change.danger}", hint="Run again: it is asked before.")
            if change is not None:
                await change.perform()
            if step is not steps[-1]:  # the last one is waited for by the stage
                verdict, hint = await gated(step, prepared, world, lambda _: None)
                if not lets_on(verdict):
                    raise errors.ClientError(f"{step.name}: {verdict.reason}", hint=hint)

    more = f"; then what else {steps[0].name} needs" if len(steps) > 1 else ""
    writes = (*first.writes[:-1], f"{first.writes[-1]}{more}") if first.writes else ()
    return Change(writes=writes, perform=perform, danger=first.danger)


async def gated(step: Step, prepared: Prepared, world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
    """Wait for the gates of a step, but for those that are commands of the repo: a walk runs none."""
    gates = tuple(each for each in step.gates if not _is_command(each, step, prepared))
    return await gating.wait(
        dataclasses.replace(step, gates=gates), prepared.work.tasks[step.id], world, ground=prepared.ground,
        on_verdict=lambda _, verdict: on_verdict(verdict),
    )  # fmt: skip


def _is_command(gate: Gate, step: Step, prepared: Prepared) -> bool:
    asked = questions.question(gate, prepared.work.tasks[step.id], prepared.ground)
    return asked is not None and any(each.ask is Ask.COMMAND for each in asked.asks)


def left_of(steps: list[Step], prepared: Prepared) -> str:
    """What of the steps a walk does not do."""
    has_gates = any(_is_command(gate, step, prepared) for step in steps for gate in step.gates)
    has_hooks = any(step.hooks for step in steps)
    return " and ".join([*(["gates that are commands"] if has_gates else []), *(["hooks"] if has_hooks else [])])
