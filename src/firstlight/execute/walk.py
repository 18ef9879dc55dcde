"""A walk: stages one after the other, each looked at, written and waited for by the loop that runs ``up``.

Work on a cluster that lives (a node's upgrade, a change of Git carried through) is no plan of phases, but it wants the
same care: look first, ask before what is dangerous, hold the lease, tell everything to the journal, go on where the
world is when it is run again.
"""

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Awaitable, Callable, Sequence

import firstlight
from firstlight import errors
from firstlight.execute import lease
from firstlight.execute.loop import Loop, RunOptions, RunResult
from firstlight.execute.means import Means
from firstlight.execute.world import PendingChange, World
from firstlight.gates.gate_parts import GateContext
from firstlight.journal import run_identity
from firstlight.model import event
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.event import Event, RunStarted, StepBrief
from firstlight.model.plan import Action, Plan, Step, StepNeed, Tie
from firstlight.model.verdict import Passed, Verdict
from firstlight.model.work import Task, Watch, Work

OnVerdict = Callable[[Verdict], None]


async def nothing(world: World) -> PendingChange | None:
    """A stage that writes nothing, and only waits."""
    return None


async def at_once(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
    """A stage that is done when it has written."""
    return Passed(), ""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WalkStage:
    """One stretch of a walk."""

    id: str
    """``cp-1:drain``; the same in every run, since the journal has it."""
    name: str
    """What it is about, for people: ``drain cp-1``."""
    what: str = ""
    phase: Phase = Phase.MACHINE
    look: Callable[[World], Awaitable[PendingChange | None]] = nothing
    """What it has to write, found by reading alone; None where the world is as it must be."""
    wait: Callable[[World, OnVerdict], Awaitable[tuple[Verdict, str]]] = at_once
    """Waits until the world is as it must be: the verdict, and what to try next where it is not good. Each change of
    mind is told. One that gives up answers Waiting."""
    needs: tuple[str, ...] | None = None
    """Ids of stages that come before; the one before it in the list, if it is None."""


def briefs(stages: Sequence[WalkStage]) -> tuple[StepBrief, ...]:
    """As much of the stages as the journal begins with."""
    return tuple(
        StepBrief(id=each.id, phase=each.phase, name=each.name, what=each.what, needs=_needs(stages, number))
        for number, each in enumerate(stages)
    )


async def run_stages(
    stages: Sequence[WalkStage],
    world: World,
    *,
    options: RunOptions,
    tell: Callable[[Event], None],
    confirm: Callable[[str], bool],
    now: Callable[[], float] = time.time,
) -> RunResult:
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

    async def look(task: Task, world: World, step: str) -> PendingChange | None:
        return await by_id[step].look(world)

    async def wait(
        step: Step, task: Task, world: World, *, ground: GateContext, on_verdict: Callable[[str, Verdict], None]
    ) -> tuple[Verdict, str]:
        return await by_id[step.id].wait(world, lambda verdict: on_verdict(step.name, verdict))

    ground = GateContext(world.cluster, revision="", objects={})
    loop = Loop(
        _work(stages, world), world, ground=ground, options=options, tell=tell, confirm=confirm, now=now, look=look,
        wait=wait,
    )  # fmt: skip
    return await loop.run()


def _work(stages: Sequence[WalkStage], world: World) -> Work:
    steps = tuple(
        Step(
            id=each.id, phase=each.phase, action=Action.WALK, name=each.name, what=each.what,
            needs=tuple(StepNeed(one, "comes before", Tie.RUN) for one in _needs(stages, number)),
        )
        for number, each in enumerate(stages)
    )  # fmt: skip
    plan = Plan(cluster=world.cluster.name, steps=steps)
    return Work(cluster=world.cluster, plan=plan, tasks={each.id: Watch() for each in stages})


def _needs(stages: Sequence[WalkStage], number: int) -> tuple[str, ...]:
    own = stages[number].needs
    if own is not None:
        return own
    return (stages[number - 1].id,) if number else ()


# Work on a cluster that lives, from its first event to its last: ``node``, ``change`` and others walk like this.


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walk:
    """Stages that were asked for."""

    cluster: Cluster
    command: str
    """What was typed, without the program: ``node upgrade``."""
    again: str
    """What else was typed, so that it can be run again: ``infra --talos v1.13.1``."""
    stages: tuple[WalkStage, ...]
    is_dry_run: bool = False
    revision: str = ""


def started(walk: Walk, means: Means) -> RunStarted:
    """The first event: the journal begins with it."""
    run = run_identity.make_run_id(walk.cluster.name, now=means.now())
    return RunStarted(
        at=means.now(), run=run, cluster=walk.cluster.name, steps=briefs(walk.stages), revision=walk.revision,
        version=firstlight.__version__, who=lease.holder_name(run), is_rehearsal=means.is_rehearsal,
        is_dry_run=walk.is_dry_run, command=walk.command, again=walk.again,
    )  # fmt: skip


async def run(
    walk: Walk,
    world: World,
    means: Means,
    *,
    begun: RunStarted,
    tell: Callable[[Event], None],
    confirm: Callable[[str], bool],
) -> RunResult:
    """Carry it out.

    Args:
        walk: What was asked for.
        world: The cluster, reached; from now on its actions tell the journal how far they are.
        means: The clock.
        begun: What ``started`` made, told already.
        tell: Told of everything else that happens.
        confirm: Asked before anything that cannot be undone.

    Raises:
        errors.FirstlightError: The journal cannot be written, or something else that no stage can be blamed for.
    """
    world.tell = lambda step, text: tell(event.Told(at=means.now(), step=step, text=text))
    options = RunOptions(holder=begun.who, is_dry_run=walk.is_dry_run)
    try:
        result = await run_stages(walk.stages, world, options=options, tell=tell, confirm=confirm, now=means.now)
    except (asyncio.CancelledError, KeyboardInterrupt):
        tell(event.RunEnded(at=means.now(), verdict="waiting", reason="interrupted; run again to go on"))
        raise
    except Exception as error:
        reason = error.message if isinstance(error, errors.FirstlightError) else "a mistake in firstlight"
        tell(event.RunEnded(at=means.now(), verdict="failed", reason=reason))
        raise
    verdict = "passed" if result.is_complete else "failed"
    tell(event.RunEnded(at=means.now(), verdict=verdict, writes=result.writes))
    return result


def alone(cluster: Cluster, means: Means, *, who: str) -> contextlib.AbstractContextManager[None]:
    """Held while a run goes on, and before its journal begins: one that is refused leaves no trace.

    Raises:
        errors.Refused: Another run of this computer works on this cluster.
    """
    return lease.local_lock(means.state / cluster.name / "lock", who=who)
