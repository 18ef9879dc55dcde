"""The loop of a run: what is ready is looked at, written and gated; a failure stops its branch and no other.

Work comes in, events go out, and at the end every step has an outcome or a step that blocks it.
"""

import asyncio
import contextlib
import dataclasses
import functools
import threading
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.clients import helm, kube
from firstlight.errors import ExitCode
from firstlight.execute import gate_wait
from firstlight.execute.actions import dispatch
from firstlight.execute.crd_wakeup import CrdWaking
from firstlight.execute.handover import engine_suspend
from firstlight.execute.lease import Lease
from firstlight.execute.overrides import override_end
from firstlight.execute.world import PendingChange, World
from firstlight.gates.gate_parts import GateContext
from firstlight.journal import state_files
from firstlight.model import event
from firstlight.model import verdict as model_verdict
from firstlight.model import work as model_work
from firstlight.model.component import Phase
from firstlight.model.event import Event
from firstlight.model.plan import Action, Step
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

PATIENCE = 300.0
"""Seconds that a step goes on in spite of an API or a machine that does not answer: longer than a reboot."""
REACHED = 15.0
"""Seconds for the API of a cluster that lives to answer, before its machines are written to."""
RESUMED = 30.0
"""Seconds in which engines are resumed that a killed run has left suspended: longer than its lease."""
PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0)
_TRANSIENT = (
    errors.Unreachable, errors.TimedOut, kube.ServerError, kube.TooManyRequests, kube.Conflict, kube.AmbiguousWrite,
    helm.HelmOvertaken,
)  # fmt: skip
"""What another look may find cured. A write whose answer was lost is among them: looking tells whether it happened."""
_VAGUE = frozenset({helm.HelmError, helm.HelmUnauthorised, helm.HelmAlreadyExists, helm.HelmBusy})
"""What Helm says of an API that was not well for a moment, and of other things too: tried again, but not for long."""


Look = Callable[[model_work.Task, World, str], Awaitable[PendingChange | None]]
Wait = Callable[..., Awaitable[tuple[Verdict, str]]]


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a run is carried out."""

    holder: str
    """Who this is, for the lease."""
    is_dry_run: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunResult:
    """What came of a run."""

    outcomes: dict[str, Verdict]
    writes: int
    is_refused: bool = False
    """Firstlight could have gone on, and would not."""

    @property
    def is_complete(self) -> bool:
        """Whether everything that was asked for is there."""
        return not self.is_refused and all(isinstance(each, Passed | Skipped) for each in self.outcomes.values())

    @property
    def exit_code(self) -> ExitCode:
        """Return what it means to a shell."""
        if self.is_refused:
            return ExitCode.BLOCKED
        return ExitCode.FINE if self.is_complete else ExitCode.FAILED


class Loop:
    """One run."""

    def __init__(
        self,
        work: model_work.Work,
        world: World,
        *,
        ground: GateContext,
        options: RunOptions,
        tell: Callable[[Event], None],
        confirm: Callable[[str], bool],
        now: Callable[[], float] = time.time,
        look: Look = dispatch.look,
        wait: Wait = gate_wait.wait_for_gates,
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
        self._claimed_aside = 0.0
        """When the lease was taken beside the steps; what a step has seen before may be stale."""
        self._outcomes: dict[str, Verdict] = {}
        self._writes = 0
        self._is_refused = False
        self._unknown: set[str] = set()
        """Steps of a dry run before which there is no cluster to look at, or nothing that the engine has done."""

    async def run(self) -> RunResult:
        """Carry the work out, as far as it goes."""
        plan = self._work.plan
        running: dict[asyncio.Task[Verdict], Step] = {}
        waking = asyncio.create_task(self._wake_crds(), name="wake CRDs")
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
            waking.cancel()
            for each in running:
                each.cancel()
            await asyncio.gather(*running, waking, return_exceptions=True)
            try:
                await self._let_go()
            finally:
                if self._lease is not None:
                    await self._lease.release()
        blocked = {each.step.id: Waiting(_because(each.root)) for each in plan.why_blocked(self._outcomes)}
        return RunResult(outcomes=self._outcomes | blocked, writes=self._writes, is_refused=self._is_refused)

    async def _wake_crds(self) -> None:
        """Wake CRDs that the API server has left in Installing, for as long as the run goes on."""
        if self._options.is_dry_run:
            return

        def tell(text: str) -> None:
            self._tell(event.Told(at=self._now(), step="", text=text))

        async def write(change: PendingChange) -> None:
            if await self._claim(""):
                self._claimed_aside = time.monotonic()
            await self._performed(change)
            self._writes += len(change.writes)

        try:
            await CrdWaking(self._world, write=write, tell=tell, now=self._now).watch()
        except Exception as error:  # noqa: BLE001 - the steps do not depend on it
            tell(f"CRDs stuck in Installing are not woken, by a mistake in firstlight. {mistake(error)}")

    async def _let_go(self) -> None:
        """Resume engines that a killed run has left suspended, also where this run was refused before it got there."""
        is_another = self._lease is not None and self._lease.lost.done()
        if self._options.is_dry_run or is_another or not self._world.is_connected:
            return
        left: list[engine_suspend.SuspendedEngine] = []
        try:
            async with asyncio.timeout(REACHED):
                left = await engine_suspend.left(self._world.kube)
                is_cut_off = bool(await override_end.cut_off(self._world.kube))
            if is_cut_off:
                await self._claim("")
            if not left:
                return
            async with asyncio.timeout(RESUMED):
                await self._claim("")
                await engine_suspend.let_go(left, self._world.kube, run=self._world.run)
        except (TimeoutError, errors.FirstlightError):
            for each in left:
                self._tell(event.Told(at=self._now(), step="", text=f"{each} still rests for a handover: run again"))
            return
        self._writes += len(left)
        for each in left:
            self._tell(event.Told(at=self._now(), step="", text=f"resumed {each}, which rested for a handover"))

    async def _step(self, step: Step) -> Verdict:
        self._tell(event.StepStarted(at=self._now(), step=step.id))
        hint, writes = "", 0
        verdict: Verdict
        try:
            verdict, hint, writes = await self._carried_out(step)
        except errors.FirstlightError as error:
            self._is_refused |= isinstance(error, errors.Refused)
            verdict, hint = Failed(error.message), error.hint
        except Exception as error:  # noqa: BLE001 - a mistake in one step must not take the others with it
            verdict, hint = Failed(f"a mistake in firstlight: {type(error).__name__}"), mistake(error)
        self._writes += writes
        self._tell(
            event.StepEnded(
                at=self._now(), step=step.id, verdict=name_of(verdict), reason=verdict.reason, hint=hint, writes=writes
            )
        )
        return verdict

    async def _carried_out(self, step: Step) -> tuple[Verdict, str, int]:
        task = self._work.tasks[step.id]
        if self._options.is_dry_run and self._unknown & {each.step for each in step.needs}:
            self._unknown.add(step.id)
            return Skipped("dry run: known only when what it needs is there"), "", 0
        if isinstance(task, model_work.Leave):
            return Skipped(task.why), "", 0
        writes = 0
        async with self._turns:
            writes = await self._converged(step, lambda: self._look(task, self._world, step.id))
        if self._options.is_dry_run:
            if writes and (step.phase == Phase.MACHINE or step.action == Action.CREATE_ROOT):
                self._unknown.add(step.id)
            for hook in step.hooks:
                self._told(step, dispatch.hook_wish(hook))
            return Skipped(f"dry run: would write {writes}" if writes else "dry run: nothing to write"), "", 0
        verdict, hint, more = await self._gated(step, task)
        writes += more
        for hook in step.hooks if model_verdict.lets_on(verdict) else ():
            async with self._turns:
                writes += await self._converged(step, functools.partial(dispatch.look_hook, hook, self._world, step.id))
        return verdict, hint, writes

    async def _gated(self, step: Step, task: model_work.Task) -> tuple[Verdict, str, int]:
        """Wait for a step's gates; a machine that comes up meanwhile gets its config, and is waited for in its turn."""
        begun = time.monotonic()
        writes = 0
        while True:
            verdict, hint = await self._wait(
                step, task, self._world, ground=self._ground,
                on_verdict=lambda gate, each: self._judged(step, gate, each),
            )  # fmt: skip
            if not isinstance(verdict, Waiting) or not isinstance(task, model_work.Configure):
                return verdict, hint, writes
            async with self._turns:
                more = await self._converged(step, lambda: self._look(task, self._world, step.id))
            if not more and time.monotonic() - begun >= self._world.patience:
                return verdict, hint, writes
            writes += more

    async def _converged(self, step: Step, look: Callable[[], Awaitable[PendingChange | None]]) -> int:
        """Look, and write what is missing, until nothing is; how many writes that were."""
        begun = time.monotonic()
        failures = writes = 0
        while True:
            try:
                looked_at = time.monotonic()
                change = await look()
                if change is None:
                    return writes
                self._tell(event.Writing(at=self._now(), step=step.id, writes=change.writes))
                if self._options.is_dry_run:
                    return len(change.writes)
                await self._allowed(change.danger)
                is_new = await self._claimed(step)
                if change.danger or is_new or looked_at < self._claimed_aside:
                    # Time has passed, and others may have written: what was seen then is not performed now.
                    seen = change
                    change = await look()
                    if change is None:
                        return writes
                    if change.danger not in ("", seen.danger):
                        continue
                await self._performed(change)
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
            if not await _answered(self._confirm, danger):
                raise errors.Refused(f"not confirmed: {danger}", hint="Run again to go on; --yes answers yes.")

    async def _claimed(self, step: Step) -> bool:
        """Make sure that nobody else writes; whether that was found out only now."""
        if not self._world.is_connected and not await self._reached(step):
            return False
        return await self._claim(step.id)

    async def _claim(self, step: str) -> bool:
        if self._lease is None:
            self._lease = Lease(
                self._world.kube, holder=self._options.holder,
                tell=lambda text: self._tell(event.Told(at=self._now(), step=step, text=text)),
            )  # fmt: skip
        is_new = await self._lease.claim()
        if is_new:
            await self._finish_overrides()
        return is_new

    async def _finish_overrides(self) -> None:
        """Finish overrides that were cut off: whoever holds the lease knows that nobody works on them any more."""
        self._writes += await override_end.attempt_finish(
            self._world.kube, cluster=self._world.cluster.name, state=self._world.state, now=self._now,
            tell=lambda text: self._tell(event.Told(at=self._now(), step="", text=text)),
        )  # fmt: skip

    async def _reached(self, step: Step) -> bool:
        """Come by the API before machines of a cluster that lives are written to; a virgin one has only the lock."""
        if not state_files.is_file(self._world.state / self._world.cluster.name / "identity.json"):
            return False
        ways = [each for each in self._work.tasks.items() if isinstance(each[1], model_work.FetchKubeconfig)]
        try:
            async with asyncio.timeout(REACHED):
                for name, task in ways:
                    await self._look(task, self._world, name)
        except (TimeoutError, errors.ClientError):
            # A machine may give a kubeconfig of an API that does not start, and its config is what mends that.
            self._world.disconnect()
            self._told(step, "the API does not answer: only the lock of this computer guards against a second run")
        return self._world.is_connected

    async def _performed(self, change: PendingChange) -> None:
        """Write, unless the right to write is lost meanwhile."""
        if self._lease is None:
            await change.perform()
            return
        writing = asyncio.ensure_future(change.perform())
        try:
            either: list[asyncio.Future[Any]] = [writing, self._lease.lost]
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not writing.done():
                raise self._lease.lost.result()
            await writing
        finally:
            if not writing.done():
                writing.cancel()
                await asyncio.gather(writing, return_exceptions=True)

    def _told(self, step: Step, text: str) -> None:
        self._tell(event.Told(at=self._now(), step=step.id, text=text))

    def _judged(self, step: Step, gate: str, verdict: Verdict) -> None:
        self._tell(
            event.Judged(
                at=self._now(), step=step.id, gate=gate, verdict=name_of(verdict), reason=verdict.reason
            )
        )  # fmt: skip


async def _answered(confirm: Callable[[str], bool], danger: str) -> bool:
    """Ask in a thread that nobody waits for: Ctrl-C at the question ends the run at once."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()

    def settle(is_yes: bool) -> None:
        if not answer.done():
            answer.set_result(is_yes)

    def ask() -> None:
        try:
            is_yes = confirm(danger)
        except (Exception, KeyboardInterrupt):  # noqa: BLE001 - whatever it was, it was no yes
            is_yes = False
        with contextlib.suppress(RuntimeError):  # the loop may be over
            loop.call_soon_threadsafe(settle, is_yes)

    threading.Thread(target=ask, daemon=True).start()
    return await answer


def mistake(error: BaseException) -> str:
    """Where an exception that nobody expected comes from; no values, which may be secrets."""
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(each.filename).name}:{each.lineno}" for each in reversed(frames))
    return f"Please report it with these places: {places}"


def name_of(verdict: Verdict) -> str:
    """The word for a verdict in events."""
    return type(verdict).__name__.lower()


def _because(root: tuple[str, ...]) -> str:
    return f"needs {', '.join(root)}"
