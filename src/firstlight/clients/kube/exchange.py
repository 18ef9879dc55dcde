"""Requests to the API: how many are under way at once, and each one with its repeats.

The number grows while the server copes and halves when it does not (AIMD). One limiter serves all requests of a client;
watches and log streams, which stay open, do not count. An exchange sends a request, judges what came of it, and sends
it again as ``retry`` says: between ``client``, which knows the verbs of the API, and ``transport``, which knows
connections.
"""

import asyncio
import collections
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Self, assert_never

from firstlight import errors
from firstlight.clients.kube import credentials, kube_errors, retry, transport

FIRST = 16
"""Requests at once to begin with: where 16 kept connections already saturate an API server on two cores."""

MOST = 64
"""Far below the 600 that an API server takes by default, which it shares with everybody else."""


@dataclasses.dataclass(frozen=True)
class RequestWindow:
    """The limit, and what led to it.

    ``epoch`` counts the decreases. A burst of refusals is one signal: requests that began before a decrease
    cannot cause another one.
    """

    limit: int = FIRST
    successes: int = 0
    epoch: int = 0
    most: int = MOST

    def succeeded(self) -> Self:
        """After an answer: one more for every full window of them."""
        if self.successes + 1 < self.limit:
            return dataclasses.replace(self, successes=self.successes + 1)
        return dataclasses.replace(self, limit=min(self.limit + 1, self.most), successes=0)

    def congested(self, epoch: int) -> Self:
        """After a 429 or a timeout of a request that began in ``epoch``."""
        if epoch != self.epoch:
            return self
        return dataclasses.replace(self, limit=max(1, self.limit // 2), successes=0, epoch=epoch + 1)


class RequestSlot:
    """The right to have one request under way."""

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.is_congested = False

    def congested(self) -> None:
        """Say that the server refused or was too slow."""
        self.is_congested = True


class RequestLimiter:
    """Lets at most ``window.limit`` requests through at once, in the order in which they came."""

    def __init__(self, window: RequestWindow | None = None) -> None:
        self.window = window or RequestWindow()
        self.under_way = 0
        self._waiting: collections.deque[asyncio.Future[None]] = collections.deque()

    @contextlib.asynccontextmanager
    async def slot(self) -> AsyncIterator[RequestSlot]:
        """Wait for a turn, and keep it inside the ``async with``."""
        await self._enter()
        slot = RequestSlot(self.window.epoch)
        try:
            yield slot
        except BaseException:
            self._leave()
            raise
        self.window = self.window.congested(slot.epoch) if slot.is_congested else self.window.succeeded()
        self._leave()

    async def _enter(self) -> None:
        if self.under_way < self.window.limit and not self._waiting:
            self.under_way += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._leave()  # the turn came in the same moment: pass it on
            else:
                # Whoever left since has passed over it already, if everybody was cancelled in the same moment.
                with contextlib.suppress(ValueError):
                    self._waiting.remove(turn)
            raise

    def _leave(self) -> None:
        self.under_way -= 1
        while self._waiting and self.under_way < self.window.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                # Counted here and not by the one who waits, else a newcomer could slip in between.
                self.under_way += 1
                turn.set_result(None)


# One request and its repeats.


class Exchange:
    """All requests of one client: they share connections, credentials and a limit."""

    def __init__(
        self,
        transport_: transport.Transport,
        *,
        policy: retry.RetryPolicy,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        jitter: Callable[[], float],
        on_missing_path: Callable[[], None],
    ) -> None:
        """Prepare; nothing is sent yet.

        Args:
            transport_: How requests travel.
            policy: How patient to be.
            clock: The clock for deadlines.
            sleep: How to wait.
            jitter: Random numbers from 0 to 1.
            on_missing_path: Called when the server does not know a path, as opposed to an object.
        """
        self.limiter = RequestLimiter()
        self._transport = transport_
        self._policy = policy
        self._clock = clock
        self._sleep = sleep
        self._jitter = jitter
        self._on_missing_path = on_missing_path
        self._is_server_known = False
        self._is_accepted = False

    async def open(self) -> None:
        """Prepare connections."""
        await self._transport.open()

    async def close(self) -> None:
        """End them."""
        await self._transport.close()

    async def perform(
        self, call: transport.HttpCall, *, look: Callable[[], Awaitable[transport.HttpResponse | None]] | None = None
    ) -> transport.HttpResponse:
        """Send a request until it has an answer, as ``retry`` says."""
        past = retry.PastAttempts(attempts=0)
        is_doubtful = False
        while True:
            credential = await self._transport.credential()
            outcome, answer, error, seconds = await self._attempt(call, credential, elapsed=past.elapsed)
            past = dataclasses.replace(
                past,
                attempts=past.attempts + 1,
                elapsed=past.elapsed + seconds,
                is_server_known=self._is_server_known,
            )
            if answer is not None and error is None:
                return answer
            assert error is not None
            step = retry.decide(call.repeat, outcome, past=past, policy=self._policy, jitter=self._jitter())
            if is_doubtful and isinstance(step, retry.Stop):
                settled = await self._settle(call, error, answer, look=look)
                if settled is not None:
                    return settled
            is_doubtful = is_doubtful or retry.may_be_done(outcome)
            begun = self._clock()
            match step:
                case retry.Stop():
                    raise error
                case retry.Doubt():
                    raise kube_errors.AmbiguousWrite(call.target, because=_after_target(error, call)) from error
                case retry.Refresh():
                    past = dataclasses.replace(past, is_refreshed=True)
                    if not await self._renew(credential):
                        raise error
                case retry.Again(delay=delay):
                    await self._sleep(delay)
                case retry.LookThenAgain(delay=delay):
                    await self._sleep(delay)
                    assert look is not None
                    there = await look()
                    if there is not None:
                        return there
                case _:
                    assert_never(step)
            past = dataclasses.replace(past, elapsed=past.elapsed + self._clock() - begun)

    async def _settle(
        self,
        call: transport.HttpCall,
        error: errors.ClientError,
        answer: transport.HttpResponse | None,
        *,
        look: Callable[[], Awaitable[transport.HttpResponse | None]] | None,
    ) -> transport.HttpResponse | None:
        """An error can be the trace of an earlier attempt that was carried out after all."""
        if call.method == "DELETE" and isinstance(error, kube_errors.NotFound):
            return answer
        if look is not None and isinstance(error, kube_errors.AlreadyExists):
            return await look()
        if call.repeat is retry.Repeat.GUARDED and isinstance(error, kube_errors.Conflict | kube_errors.Invalid):
            raise kube_errors.AmbiguousWrite(
                call.target,
                because=f"the answer was lost, and a repeat was refused ({error.code} {error.reason})",
            ) from error
        return None

    async def _attempt(
        self, call: transport.HttpCall, credential: credentials.ApiCredential, *, elapsed: float
    ) -> tuple[retry.AttemptOutcome, transport.HttpResponse | None, errors.ClientError | None, float]:
        async with self.limiter.slot() as slot:
            # Counted from here: waiting for a turn is no fault of the server.
            begun = self._clock()
            timeout = max(0.001, min(self._policy.attempt, self._policy.deadline - elapsed))
            try:
                answer = await self._transport.send(call, credential, timeout=timeout)
            except transport.AttemptFailed as failure:
                if failure.happened is retry.AttemptEnd.SLOW:
                    slot.congested()
                return retry.AttemptOutcome(failure.happened), None, failure.error, self._clock() - begun
            self._is_server_known = True
            self._is_accepted = self._is_accepted or answer.status != 401
            seconds = self._clock() - begun
            if answer.status == 429:
                slot.congested()
        if answer.status < 300 or answer.status in call.expected:
            return retry.AttemptOutcome(retry.AttemptEnd.ANSWERED, code=answer.status), answer, None, seconds
        error = self._error(call, answer)
        outcome = retry.AttemptOutcome(
            retry.AttemptEnd.ANSWERED,
            code=error.code,
            reason=error.reason,
            retry_after=error.retry_after,
            has_field_conflicts=isinstance(error, kube_errors.Conflict) and error.is_field_conflict,
        )
        return outcome, answer, error, seconds

    @contextlib.asynccontextmanager
    async def stream(
        self, call: transport.HttpCall, *, idle_timeout: float
    ) -> AsyncIterator[AsyncGenerator[bytes, None]]:
        """An open answer, without repeats but for one after a 401; it takes no turn of the limiter."""
        credential = await self._transport.credential()
        for is_last in (False, True):
            async with self._transport.stream(call, credential, idle_timeout=idle_timeout) as (
                chunks,
                answer,
            ):
                self._is_server_known = True
                if answer is None:
                    self._is_accepted = True
                    yield chunks
                    return
                if answer.status != 401 or is_last or not await self._renew(credential):
                    raise self._error(call, answer)
            credential = await self._transport.credential()

    async def _renew(self, credential: credentials.ApiCredential) -> bool:
        """Whether another attempt makes sense after a 401.

        It does with new credentials, and with the same ones if the server took them before: then not they
        have changed but something between here and the server's authenticators.
        """
        return await self._transport.renew(credential) or self._is_accepted

    def _error(self, call: transport.HttpCall, answer: transport.HttpResponse) -> kube_errors.ApiError:
        text = "" if answer.document is not None else answer.body.decode(errors="replace")
        error = kube_errors.from_status(
            call.target, answer.document, code=answer.status, retry_after=answer.retry_after, text=text
        )
        if isinstance(error, kube_errors.NotFound) and call.target.kind and not error.involved.name:
            self._on_missing_path()
        return error


def _after_target(error: errors.ClientError, call: transport.HttpCall) -> str:
    return error.message.removeprefix(f"{call.target}: ")
