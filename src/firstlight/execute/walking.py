"""A walk: stages one after the other, each looked at, written and waited for by the loop that runs ``up``.

Work on a cluster that lives (a node's upgrade, a change of Git carried through) is no plan of phases, but it wants the
same care: look first, ask before what is dangerous, hold the lease, tell everything to the journal, go on where the
world is when it is run again.
"""

import dataclasses
import time
from collections.abc import Awaitable, Callable, Sequence

from firstlight.execute.change import Change
from firstlight.execute.loop import Loop, Options, Result
from firstlight.execute.world import World
from firstlight.gates.ground import GateGround
from firstlight.model.component import Phase
from firstlight.model.event import Event, StepBrief
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie
from firstlight.model.verdict import Passed, Verdict
from firstlight.model.work import Task, Watch, Work

OnVerdict = Callable[[Verdict], None]


async def nothing(world: World) -> Change | None:
    """A stage that writes nothing, and only waits."""
    return None


async def at_once(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
    """A stage that is done when it has written."""
    return Passed(), ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stage:
    """One stretch of a walk."""

    id: str
    """``cp-1:drain``; the same in every run, since the journal has it."""
    name: str
    """What it is about, for people: ``drain cp-1``."""
    what: str = ""
    phase: Phase = Phase.MACHINE
    look: Callable[[World], Awaitable[Change | None]] = nothing
    """What it has to write, found by reading alone; None where the world is as it must be."""
    wait: Callable[[World, OnVerdict], Awaitable[tuple[Verdict, str]]] = at_once
    """Waits until the world is as it must be: the verdict, and what to try next where it is not good. Each change of
    mind is told. One that gives up answers Waiting."""
    needs: tuple[str, ...] | None = None
    """Ids of stages that come before; the one before it in the list, if it is None."""


def briefs(stages: Sequence[Stage]) -> tuple[StepBrief, ...]:
    """As much of the stages as the journal begins with."""
    return tuple(
        StepBrief(id=each.id, phase=each.phase, name=each.name, what=each.what, needs=_needs(stages, number))
        for number, each in enumerate(stages)
    )


async def walk(
    stages: Sequence[Stage],
    world: World,
    *,
    options: Options,
    tell: Callable[[Event], None],
    confirm: Callable[[str], bool],
    now: Callable[[], float] = time.time,
) -> Result:
    """Carry stages out; the first that fails, or is given up, stops what needs it.

    Args:
        stages: In their order.
        world: Where; connected, if the API answers.
        options: How.
        tell: Told of everything that happens.
        confirm: Asked before anything that cannot be undone.
        now: The clock of events.
    """
    by_id = {each.id: each for each in stages}

    async def look(task: Task, world: World, step: str) -> Change | None:
        return await by_id[step].look(world)

    async def wait(
        step: Step, task: Task, world: World, *, ground: GateGround, on_verdict: Callable[[str, Verdict], None]
    ) -> tuple[Verdict, str]:
        return await by_id[step.id].wait(world, lambda verdict: on_verdict(step.name, verdict))

    ground = GateGround(world.cluster, revision="", objects={})
    loop = Loop(
        _work(stages, world), world, ground=ground, options=options, tell=tell, confirm=confirm, now=now, look=look,
        wait=wait,
    )  # fmt: skip
    return await loop.run()


def _work(stages: Sequence[Stage], world: World) -> Work:
    steps = tuple(
        Step(
            id=each.id, phase=each.phase, action=Action.WALK, name=each.name, what=each.what,
            needs=tuple(StepNeed(one, "comes before", Tie.RUN) for one in _needs(stages, number)),
        )
        for number, each in enumerate(stages)
    )  # fmt: skip
    plan = Plan(cluster=world.cluster.name, steps=steps)
    return Work(cluster=world.cluster, plan=plan, tasks={each.id: Watch() for each in stages})


def _needs(stages: Sequence[Stage], number: int) -> tuple[str, ...]:
    own = stages[number].needs
    if own is not None:
        return own
    return (stages[number - 1].id,) if number else ()
