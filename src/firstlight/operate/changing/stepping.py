"""What is done is written down in the record as it is done: steps in Git, and the stages of walks."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.verdict import Verdict
from firstlight.operate.changing.records import Keeper


@dataclasses.dataclass
class Saying:
    """What a step has to say in the end."""

    says: str = ""
    verdict: str = "passed"


@contextlib.asynccontextmanager
async def step(keeper: Keeper, id: str, *, title: str, cluster: str = "") -> AsyncIterator[Saying]:
    """Write down that a step begins, and what came of it."""
    keeper.begin(id, cluster=cluster, title=title)
    saying = Saying()
    try:
        yield saying
    except errors.FirstlightError as error:
        keeper.end(id, verdict="failed", says=error.message)
        raise
    keeper.end(id, verdict=saying.verdict, says=saying.says)


def recorded(stages: Iterable[Stage], keeper: Keeper, *, cluster: str) -> tuple[Stage, ...]:
    """Stages that write themselves down."""
    return tuple(_recorded(each, keeper, cluster) for each in stages)


def _recorded(stage: Stage, keeper: Keeper, cluster: str) -> Stage:
    begun = False

    async def look(world: World) -> Change | None:
        nonlocal begun
        if not begun:
            keeper.begin(stage.id, cluster=cluster, title=stage.name)
            begun = True
        try:
            change = await stage.look(world)
        except errors.FirstlightError as error:
            keeper.end(stage.id, verdict="failed", says=error.message)
            raise
        return dataclasses.replace(change, perform=_guarded(change, stage, keeper)) if change is not None else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        try:
            verdict, hint = await stage.wait(world, on_verdict)
        except errors.FirstlightError as error:
            keeper.end(stage.id, verdict="failed", says=error.message)
            raise
        keeper.end(stage.id, verdict=type(verdict).__name__.lower(), says=verdict.reason)
        return verdict, hint

    return dataclasses.replace(stage, look=look, wait=wait)


def _guarded(change: Change, stage: Stage, keeper: Keeper) -> Callable[[], Awaitable[None]]:
    async def perform() -> None:
        try:
            await change.perform()
        except errors.FirstlightError as error:
            keeper.end(stage.id, verdict="failed", says=error.message)
            raise

    return perform
