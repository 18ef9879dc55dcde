"""Questions watched until they are answered: looks become shared watches, asks are repeated, each change is judged.

Called by the loop of a run for every gate, and by ``verify`` for one look. It writes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Self, assert_never

import msgspec

from firstlight import errors
from firstlight.clients import kube, web
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.observation import Ask, AskRequest, AskResponse, GateView, WatchTarget
from firstlight.model.verdict import Verdict, Waiting
from firstlight.observe.shared_watch import LONGEST_PAUSE, Objects, Pace, SharedWatch

# What cannot be watched, asked once: readiness, discovery, dry runs, URLs and commands. An answer, never an error.


MANAGER = "firstlight"
"""As whom a dry run is made; nothing of it is stored."""
HTTP_TIMEOUT = 10.0
_SAID = 300
"""Characters of an answer that are kept."""

RunCommand = Callable[[AskRequest], Awaitable[AskResponse]]
"""Runs a command that was allowed, or says that it was not."""


async def ask(client: kube.Client, asked: AskRequest, *, run_command: RunCommand | None = None) -> AskResponse:
    """The answer to one question, asked now."""
    try:
        match asked.ask:
            case Ask.READYZ:
                return await _readyz(client)
            case Ask.SERVED:
                return await _served(client, asked.of)
            case Ask.DRY_RUN:
                return await _dry_run(client, asked.given)
            case Ask.HTTP:
                return await _http(asked.of, asked.given)
            case Ask.COMMAND:
                if run_command is None:
                    return AskResponse(False, f"the command {asked.of} is not run here")
                return await run_command(asked)
            case _:
                assert_never(asked.ask)
    except errors.FirstlightError as error:
        return AskResponse(False, _short(error.message))


async def _readyz(client: kube.Client) -> AskResponse:
    ready = await client.ready()
    if ready.is_ready:
        return AskResponse(True, "ready")
    return AskResponse(False, f"not ready: {', '.join(ready.failed)}" if ready.failed else "not ready")


async def _served(client: kube.Client, of: str) -> AskResponse:
    api_version, _, kind = of.rpartition("/")
    catalog = await client.catalog(refresh=True)
    if api_version in catalog.stale:
        return AskResponse(False, f"the server behind {api_version} does not answer")
    if (api_version, kind) in catalog.resources:
        return AskResponse(True, f"{kind} is served in {api_version}")
    return AskResponse(False, f"{kind} is not served in {api_version} yet")


async def _dry_run(client: kube.Client, given: Mapping[str, Any]) -> AskResponse:
    """As ``client.apply`` does it, but sent once: a refusal is the answer, not something to be overcome."""
    metadata = given.get("metadata") or {}
    resource = await client.resource(str(given.get("apiVersion") or ""), str(given.get("kind") or ""))
    place = (metadata.get("namespace") or client.config.namespace) if resource.is_namespaced else ""
    name = str(metadata.get("name") or "")
    params = {"dryRun": "All", "fieldManager": MANAGER}
    await client.request(
        "PATCH" if name else "POST",
        resource.path(namespace=place, name=name),
        params={**params, "force": "true"} if name else params,
        headers={
            "Content-Type": "application/apply-patch+yaml" if name else "application/json",
            "Accept": "application/json",
        },
        body=msgspec.json.encode(given),
        repeat=kube.Repeat.NEVER,
    )
    return AskResponse(True, "the server would take it")


async def _http(url: str, given: Mapping[str, Any]) -> AskResponse:
    wanted = int(given.get("status") or 200)
    found = await web.status(
        url, timeout=float(given.get("timeout") or HTTP_TIMEOUT), plain_http=tuple(given.get("plain_http") or ())
    )
    return AskResponse(found == wanted, f"it answers {found}" + ("" if found == wanted else f", not {wanted}"))


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SAID else f"{words[: _SAID - 1]}…"


QUIET = 15.0
"""Seconds without a word from a watch after which a question that waits lists again: a dead connection is silent."""
PATIENCE = 3.0
"""Seconds without an answer after which it is said that the API server does not answer."""
ASKING_GAP = 0.03
"""Seconds from one round of asks to the next, however much changes."""
NO_REST = 0.005
"""Seconds of judging that are not worth a pause."""

OnVerdict = Callable[[Verdict], None]
Joined = Mapping[WatchTarget, tuple[SharedWatch, int]]
"""The watches that a question looks at, each with its ticket."""


class Watching:
    """The watches of one API server, shared by all questions: ``async with Watching(client) as watching``."""

    def __init__(
        self,
        client: kube.Client,
        *,
        run_command: RunCommand | None = None,
        now: Callable[[], float] = time.time,
        clock: Callable[[], float] = time.monotonic,
        longest: float = LONGEST_PAUSE,
    ) -> None:
        """Prepare; nothing is watched before somebody asks.

        Args:
            client: The API.
            run_command: Runs the commands that gates ask for; they are refused if it is not given.
            now: The wall clock, for ``View.now``.
            clock: The clock for how long nothing was heard.
            longest: Seconds between two looks at what cannot be watched.
        """
        self._client = client
        self._run_command = run_command
        self._now = now
        self._clock = clock
        self._longest = longest
        self._watches: dict[WatchTarget, SharedWatch] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._kinds_changed = asyncio.Event()
        self._discovering: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._discovering is not None:
            self._discovering.cancel()
            await asyncio.gather(self._discovering, return_exceptions=True)
        watches, self._watches = tuple(self._watches.values()), {}
        await asyncio.gather(*self._closing, *(watch.close() for watch in watches))

    @property
    def watched(self) -> tuple[WatchTarget, ...]:
        """What is watched now."""
        return tuple(self._watches)

    async def wait(self, question: GateQuestion, *, on_verdict: OnVerdict) -> Verdict:
        """Watch until the verdict no longer waits, or the question's time is over: then the last one.

        Args:
            question: What to watch and ask, and how to judge it.
            on_verdict: Called with every verdict that differs from the one before.
        """
        changed = asyncio.Event()
        looks = tuple(dict.fromkeys(question.looks))
        joined = {look: self._join(look, changed) for look in looks}
        last: list[Verdict] = []

        def report(verdict: Verdict) -> None:
            if last[-1:] != [verdict]:
                last[:] = [verdict]
                on_verdict(verdict)

        try:
            async with asyncio.timeout(question.timeout):
                await self._until_seen(joined, changed, report)
                return await self._until_answered(question, joined, changed, report)
        except TimeoutError:
            return last[0] if last else Waiting(f"nothing was seen of {_names(looks) or question.name}")
        finally:
            self._leave(joined, changed)

    async def view(self, looks: Iterable[WatchTarget], asks: Iterable[AskRequest] = ()) -> GateView:
        """One look at everything, without waiting.

        Raises:
            errors.ClientError: The API does not answer, or says no.
        """
        wanted = tuple(dict.fromkeys(looks))
        found = await asyncio.gather(*(self._list(look) for look in wanted))
        answers = await self._ask(tuple(dict.fromkeys(asks)))
        return GateView(
            now=self._now(),
            objects={look: each for look, each in zip(wanted, found, strict=True) if each is not None},
            unserved=frozenset(look for look, each in zip(wanted, found, strict=True) if each is None),
            answers=answers,
        )

    async def _until_seen(self, joined: Joined, changed: asyncio.Event, report: OnVerdict) -> None:
        """Until everything was listed at least once, and after the question was asked."""
        while unseen := _unseen(joined):
            changed.clear()
            trouble = next((watch.trouble for watch in unseen if watch.trouble), "")
            if trouble:
                report(Waiting(f"nothing can be seen of {_names(watch.look for watch in unseen)}: {trouble}"))
            if not await _set_within(changed, PATIENCE) and not trouble:
                report(Waiting(f"the API server at {self._client.config.server} does not answer"))

    async def _until_answered(
        self, question: GateQuestion, joined: Joined, changed: asyncio.Event, report: OnVerdict
    ) -> Verdict:
        asks = tuple(dict.fromkeys(question.asks))
        pace = Pace(longest=self._longest)
        while True:
            begun = self._clock()
            changed.clear()
            _unseen(joined)
            answers = await self._ask(asks)
            verdict = question.judge(self._view(joined, answers))
            if not isinstance(verdict, Waiting):
                report(verdict)
                return verdict
            report(self._with_trouble(verdict, joined))
            self._renew_quiet(joined)
            await self._rest(self._clock() - begun, is_asked=bool(asks))
            # Also without a change it is judged again now and then: time itself changes some verdicts.
            if await _set_within(changed, pace.next() if asks else self._longest):
                pace.reset()

    def _with_trouble(self, verdict: Waiting, joined: Joined) -> Waiting:
        """With why nothing new can be seen, where that has been so for a while."""
        for watch, _ in joined.values():
            if watch.trouble and self._clock() - watch.heard_at > PATIENCE:
                return Waiting(f"{verdict.reason} (as last seen: {watch.trouble})")
        return verdict

    async def _rest(self, taken: float, *, is_asked: bool) -> None:
        """What takes long is done less often: a storm of changes must not take all of the time, nor all of the API."""
        rest = min(max(taken, ASKING_GAP - taken if is_asked else 0.0), self._longest)
        if rest > NO_REST:
            await asyncio.sleep(rest)

    def _view(self, joined: Joined, answers: Mapping[AskRequest, AskResponse]) -> GateView:
        return GateView(
            now=self._now(),
            objects={look: watch.objects for look, (watch, _) in joined.items() if not watch.is_unserved},
            unserved=frozenset(look for look, (watch, _) in joined.items() if watch.is_unserved),
            answers=answers,
        )

    async def _ask(self, asks: tuple[AskRequest, ...]) -> dict[AskRequest, AskResponse]:
        found = await asyncio.gather(*(ask(self._client, each, run_command=self._run_command) for each in asks))
        return dict(zip(asks, found, strict=True))

    async def _list(self, look: WatchTarget) -> Objects | None:
        try:
            listing = await self._client.list(
                look.api_version,
                look.kind,
                namespace=look.namespace or None,
                labels=look.labels,
                fields=f"metadata.name={look.name}" if look.name else "",
                metadata_only=not look.with_content,
            )
        except kube.UnknownKind:
            return None
        return listing.items

    def _renew_quiet(self, joined: Joined) -> None:
        for watch, _ in joined.values():
            if self._clock() - watch.heard_at > QUIET:
                watch.heard_at = self._clock()
                watch.renew()

    def _join(self, look: WatchTarget, changed: asyncio.Event) -> tuple[SharedWatch, int]:
        watch = self._watches.get(look)
        if watch is None:
            watch = SharedWatch(self._client, look, on_kinds=self._kinds_changed.set, clock=self._clock)
            self._watches[look] = watch
        if self._discovering is None:
            self._discovering = asyncio.create_task(self._look_for_kinds(), name="kinds that are not served yet")
        return watch, watch.join(changed)

    def _leave(self, joined: Joined, changed: asyncio.Event) -> None:
        for look, (watch, _) in joined.items():
            watch.leave(changed)
            if watch.is_idle and self._watches.get(look) is watch:
                del self._watches[look]
                closing = asyncio.create_task(watch.close())
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)

    async def _look_for_kinds(self) -> None:
        """As long as there are questions: see whether kinds that were not served are served by now."""
        pace = Pace(longest=self._longest)
        while True:
            if await _set_within(self._kinds_changed, pace.next()):
                self._kinds_changed.clear()
                pace.reset()
            missing = [watch for watch in self._watches.values() if watch.is_unserved]
            if not missing:
                continue
            with contextlib.suppress(errors.FirstlightError):
                catalog = await self._client.catalog(refresh=True)
                for watch in missing:
                    if (watch.look.api_version, watch.look.kind) in catalog.resources:
                        watch.served_now()


def _unseen(joined: Joined) -> list[SharedWatch]:
    for watch, _ in joined.values():
        if watch.error is not None:
            raise watch.error
    return [watch for watch, ticket in joined.values() if not watch.is_fresh(ticket)]


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    """Whether something happened in time."""
    try:
        async with asyncio.timeout(seconds):
            await event.wait()
    except TimeoutError:
        return False
    return True


def _names(looks: Iterable[WatchTarget]) -> str:
    return ", ".join(dict.fromkeys(" ".join(part for part in (look.kind, look.name) if part) for look in looks))
