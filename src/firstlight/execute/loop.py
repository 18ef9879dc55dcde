"""The loop of a run: what is ready is looked at, written and gated; a failure stops its branch and no other.

Work comes in, events go out, and at the end every step has an outcome or somebody who blocks it. Called by operate.
"""

import asyncio
import dataclasses
import functools
import time
from collections.abc import Awaitable, Callable

from firstlight import errors
from firstlight.clients import helm, kube
from firstlight.execute import gating, hooks
from firstlight.execute.actions import looking
from firstlight.execute.change import Change
from firstlight.execute.lease import Lease
from firstlight.execute.world import World
from firstlight.gates.ground import GateGround
from firstlight.model import event as events
from firstlight.model import verdict as verdicts
from firstlight.model import work as works
from firstlight.model.event import Event
from firstlight.model.plan import Step
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

PATIENCE = 300.0
"""Seconds that a step goes on in spite of an API or a machine that does not answer: longer than a reboot."""
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
_TRANSIENT = (
    errors.Unreachable, errors.TimedOut, kube.ServerError, kube.TooManyRequests, kube.Conflict, kube.Ambiguous,
)  # fmt: skip
"""What another look may find cured. A write whose answer was lost is among them: looking tells whether it happened."""
_VAGUE = frozenset({helm.HelmError, helm.Unauthorised, helm.AlreadyExists, helm.Busy})
"""What Helm says of an API that was not well for a moment, and of other things too: tried again, but not for long."""


Look = Callable[[works.Task, World, str], Awaitable[Change | None]]
Wait = Callable[..., Awaitable[tuple[Verdict, str]]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """How a run is carried out."""

    holder: str
    """Who this is, for the lease."""
    is_dry_run: bool = False
    unwanted: frozenset[str] = frozenset()
    """Steps that were not asked for: they count as passed, unseen."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a run."""

    outcomes: dict[str, Verdict]
    writes: int
    is_refused: bool = False
    """Firstlight could have gone on, and would not."""

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for is there."""
        return not self.is_refused and all(isinstance(each, Passed | Skipped) for each in self.outcomes.values())


class Loop:
    """One run."""

    def __init__(
        self,
        work: works.Work,
        world: World,
        *,
        ground: GateGround,
        options: Options,
        tell: Callable[[Event], None],
        confirm: Callable[[str], bool],
        now: Callable[[], float] = time.time,
        look: Look = looking.look,
        wait: Wait = gating.wait,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Prepare.

        Args:
            work: What is to be done.
            world: Where.
            ground: What gates know besides the world.
            options: How.
            tell: Told of everything that happens.
            confirm: Asked before anything that cannot be undone.
            now: The clock of events.
            look: Finds what a task has to write.
            wait: Waits for a step's gates.
            sleep: How to wait before another look.
        """
        self._work = work
        self._world = world
        self._ground = ground
        self._options = options
        self._tell = tell
        self._confirm = confirm
        self._now = now
        self._look = look
        self._wait = wait
        self._sleep = sleep
        self._turns = asyncio.Semaphore(world.parallel)
        self._asking = asyncio.Lock()
        self._lease: Lease | None = None
        self._outcomes: dict[str, Verdict] = {}
        self._writes = 0
        self._is_refused = False

    async def run(self) -> Result:
        """Carry the work out, as far as it goes."""
        plan = self._work.plan
        running: dict[asyncio.Task[Verdict], Step] = {}
        self._outcomes |= {each: Skipped("not asked for") for each in self._options.unwanted}
        try:
            while True:
                under_way = {each.id for each in running.values()}
                for step in plan.ready(self._outcomes):
                    if step.id not in under_way:
                        running[asyncio.create_task(self._step(step), name=step.id)] = step
                if not running:
                    break
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    self._outcomes[running.pop(each).id] = each.result()
        finally:
            for each in running:
                each.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            if self._lease is not None:
                await self._lease.release()
        wanted = {name: each for name, each in self._outcomes.items() if name not in self._options.unwanted}
        blocked = {each.step.id: Waiting(_because(each.root)) for each in plan.why_blocked(self._outcomes)}
        return Result(outcomes=wanted | blocked, writes=self._writes, is_refused=self._is_refused)

    async def _step(self, step: Step) -> Verdict:
        self._tell(events.StepStarted(at=self._now(), step=step.id))
        hint, writes = "", 0
        verdict: Verdict
        try:
            verdict, hint, writes = await self._carried_out(step)
        except errors.FirstlightError as error:
            self._is_refused |= isinstance(error, errors.Refused)
            verdict, hint = Failed(error.message), error.hint
        self._writes += writes
        self._tell(
            events.StepEnded(
                at=self._now(), step=step.id, verdict=name_of(verdict), reason=verdict.reason, hint=hint, writes=writes
            )
        )
        return verdict

    async def _carried_out(self, step: Step) -> tuple[Verdict, str, int]:
        task = self._work.tasks[step.id]
        if isinstance(task, works.Leave):
            return Skipped(task.why), "", 0
        writes = 0
        async with self._turns:
            writes = await self._converged(step, lambda: self._look(task, self._world, step.id))
        if self._options.is_dry_run:
            for hook in step.hooks:
                self._told(step, hooks.wish(hook))
            return Skipped(f"dry run: would write {writes}" if writes else "dry run: nothing to write"), "", 0
        verdict, hint, more = await self._gated(step, task)
        writes += more
        for hook in step.hooks if verdicts.lets_on(verdict) else ():
            async with self._turns:
                writes += await self._converged(step, functools.partial(hooks.look, hook, self._world, step.id))
        return verdict, hint, writes

    async def _gated(self, step: Step, task: works.Task) -> tuple[Verdict, str, int]:
        """Wait for a step's gates; a machine that comes up meanwhile gets its config, and is waited for in its turn."""
        begun = time.monotonic()
        writes = 0
        while True:
            verdict, hint = await self._wait(
                step, task, self._world, ground=self._ground,
                on_verdict=lambda gate, each: self._judged(step, gate, each),
            )  # fmt: skip
            if not isinstance(verdict, Waiting) or not isinstance(task, works.Configure):
                return verdict, hint, writes
            async with self._turns:
                more = await self._converged(step, lambda: self._look(task, self._world, step.id))
            if not more and time.monotonic() - begun >= self._world.patience:
                return verdict, hint, writes
            writes += more

    async def _converged(self, step: Step, look: Callable[[], Awaitable[Change | None]]) -> int:
        """Look, and write what is missing, until nothing is; how many writes that were."""
        begun = time.monotonic()
        failures = writes = 0
        while True:
            try:
                change = await look()
                if change is None:
                    return writes
                self._tell(events.Writing(at=self._now(), step=step.id, writes=change.writes))
                if self._options.is_dry_run:
                    return len(change.writes)
                await self._allowed(change.danger)
                await self._claimed(step)
                await change.perform()
                return writes + len(change.writes)
            except errors.ClientError as error:
                is_passing = isinstance(error, _TRANSIENT) or (type(error) in _VAGUE and failures < len(PAUSES))
                if not is_passing or time.monotonic() - begun > PATIENCE:
                    raise
                self._told(step, f"tried again: {error.message}")
                await self._sleep(PAUSES[min(failures, len(PAUSES) - 1)])
                failures += 1

    async def _allowed(self, danger: str) -> None:
        """Ask one question at a time, and only about what cannot be undone."""
        if not danger:
            return
        async with self._asking:
            if not await asyncio.to_thread(self._confirm, danger):
                raise errors.Refused(f"not confirmed: {danger}", hint="Run again to go on; --yes answers yes.")

    async def _claimed(self, step: Step) -> None:
        """Make sure that nobody else writes; before there is an API, the local lock does."""
        if not self._world.is_connected:
            return
        if self._lease is None:
            self._lease = Lease(
                self._world.kube, holder=self._options.holder, tell=lambda text: self._told(step, text)
            )  # fmt: skip
        await self._lease.claim()

    def _told(self, step: Step, text: str) -> None:
        self._tell(events.Told(at=self._now(), step=step.id, text=text))

    def _judged(self, step: Step, gate: str, verdict: Verdict) -> None:
        self._tell(
            events.Judged(
                at=self._now(), step=step.id, gate=gate, verdict=name_of(verdict), reason=verdict.reason
            )
        )  # fmt: skip


def name_of(verdict: Verdict) -> str:
    """The word for a verdict in events."""
    return type(verdict).__name__.lower()


def _because(root: tuple[str, ...]) -> str:
    return f"needs {', '.join(root)}"
