"""Work on a cluster that lives, from its first event to its last: ``node``, ``change`` and others walk like this."""

import asyncio
import dataclasses
from collections.abc import Callable

import firstlight
from firstlight import errors
from firstlight.execute import holders, walking
from firstlight.execute.loop import Options, Result
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.journal import run_id
from firstlight.model import event as events
from firstlight.model.cluster import Cluster
from firstlight.model.event import Event, RunStarted
from firstlight.operate.means import Means


@dataclasses.dataclass(frozen=True, kw_only=True)
class Walk:
    """Stages that were asked for."""

    cluster: Cluster
    command: str
    """What was typed, without the program: ``node upgrade``."""
    again: str
    """What else was typed, so that it can be run again: ``infra --talos v1.13.1``."""
    stages: tuple[Stage, ...]
    is_dry_run: bool = False
    revision: str = ""


def started(walk: Walk, means: Means) -> RunStarted:
    """The first event: the journal begins with it."""
    run = run_id.make(walk.cluster.name, now=means.now())
    return RunStarted(
        at=means.now(), run=run, cluster=walk.cluster.name, steps=walking.briefs(walk.stages), revision=walk.revision,
        version=firstlight.__version__, who=holders.name(run), is_rehearsal=means.is_rehearsal,
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
) -> Result:
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
    world.tell = lambda step, text: tell(events.Told(at=means.now(), step=step, text=text))
    options = Options(holder=begun.who, is_dry_run=walk.is_dry_run)
    try:
        result = await walking.walk(walk.stages, world, options=options, tell=tell, confirm=confirm, now=means.now)
    except (asyncio.CancelledError, KeyboardInterrupt):
        tell(events.RunEnded(at=means.now(), verdict="waiting", reason="interrupted; run again to go on"))
        raise
    except Exception as error:
        reason = error.message if isinstance(error, errors.FirstlightError) else "a mistake in firstlight"
        tell(events.RunEnded(at=means.now(), verdict="failed", reason=reason))
        raise
    verdict = "passed" if result.is_complete else "failed"
    tell(events.RunEnded(at=means.now(), verdict=verdict, writes=result.writes))
    return result
