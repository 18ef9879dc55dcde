"""An engine that is at work already, held still while its objects change their owner, and let go again.

Flux replaces managedFields without looking whether somebody else has: what it read before the migration it would write
after it. A mark tells which run of firstlight has suspended an engine. That run lets it go whatever happens to it, and
what a killed one has left the next one lets go. A run that takes over from another writes its own mark, and then the
other one leaves the engine alone. Whom somebody else has suspended stays so.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document import within
from firstlight.document.within import mapping
from firstlight.engines import adapters, engine_marks
from firstlight.engines.engine_kind import merged
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.model.handover import MARK
from firstlight.model.owner import ObjectOwner

MANAGER = "firstlight-handover"
LONGEST = 30.0
"""Seconds for which a run that is to end at once still tries to let engines go."""
_TRIES = 5
_KINDS = {each.kind: each.api_version for each in adapters.SUSPENDABLE.values()}


@dataclasses.dataclass(frozen=True, slots=True)
class SuspendedEngine:
    """A Kustomization, HelmRelease or Application that is there."""

    kind: str
    namespace: str
    name: str
    uid: str
    is_suspended: bool
    mark: str = ""
    """The run that has suspended it for a handover; empty if none has."""

    @property
    def is_held(self) -> bool:
        """Whether it rests for a handover."""
        return bool(self.mark)

    @property
    def names(self) -> tuple[str, str]:
        """What owners call it: those of Flux with its namespace, Applications without."""
        return (str(self), f"{self.kind} {self.name}")

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


async def find(owners: Iterable[ObjectOwner], client: kube.Client) -> list[SuspendedEngine]:
    """Those of the owners that are there already; before the root object exists there are none.

    Raises:
        errors.ClientError: The server does not say.
    """
    wanted = {each.name for each in owners}
    kinds = sorted({kind for each in wanted if (kind := each.partition(" ")[0]) in _KINDS})
    listings = await asyncio.gather(*(_listed(each, client) for each in kinds))
    found = [_engine(kind, each) for kind, items in zip(kinds, listings, strict=True) for each in items]
    return [each for each in found if wanted & {*each.names}]


async def left(client: kube.Client) -> list[SuspendedEngine]:
    """All engines that rest for a handover, whoever they are.

    Raises:
        errors.ClientError: The server does not say.
    """
    listings = await asyncio.gather(*(_listed(each, client) for each in _KINDS))
    found = [_engine(kind, each) for kind, items in zip(_KINDS, listings, strict=True) for each in items]
    return [each for each in found if each.is_held]


@contextlib.asynccontextmanager
async def resting(
    engines: Sequence[SuspendedEngine], client: kube.Client, *, run: str, tell: Callable[[str], None]
) -> AsyncIterator[None]:
    """Let engines rest, and go on afterwards: also if one of them cannot be suspended, or the run is cancelled.

    Args:
        engines: Who is to rest; those whom somebody else has suspended are not among them.
        client: The API.
        run: The run that does it.
        tell: Told who could not be let go.

    Raises:
        errors.ClientError: The server does not let one be suspended, or let go.
    """
    # A write that is cut off may still arrive, after the engine was let go.
    begun = asyncio.ensure_future(suspend(engines, client, run=run))
    try:
        await asyncio.shield(begun)
        yield
    except BaseException:
        with contextlib.suppress(errors.ClientError):  # what went wrong first is what is told
            await _surely(_undone(begun, engines, client, run=run, tell=tell))
        raise
    await let_go(engines, client, run=run, tell=tell)


async def suspend(engines: Sequence[SuspendedEngine], client: kube.Client, *, run: str = "") -> None:
    """Let them rest; for those that rest already the mark becomes this run's.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    _raise(await asyncio.gather(*(_suspend(each, client, run=run) for each in engines), return_exceptions=True))


async def let_go(
    engines: Sequence[SuspendedEngine],
    client: kube.Client,
    *,
    run: str,
    tell: Callable[[str], None] = lambda text: None,
) -> None:
    """Let those go on that rest for a handover of this run, or of the one that was seen; cancelled or not.

    Raises:
        errors.ClientError: The server does not let it be.
    """
    await _surely(_resume(engines, client, run=run, tell=tell))


async def _undone(
    begun: asyncio.Future[None],
    engines: Sequence[SuspendedEngine],
    client: kube.Client,
    *,
    run: str,
    tell: Callable[[str], None],
) -> None:
    await asyncio.wait([begun])
    if not begun.cancelled():
        begun.exception()  # it has been raised, or something worse has
    await _resume(engines, client, run=run, tell=tell)


async def _resume(
    engines: Sequence[SuspendedEngine], client: kube.Client, *, run: str, tell: Callable[[str], None]
) -> None:  # fmt: skip
    ends = await asyncio.gather(*(_resumed(each, client, run=run) for each in engines), return_exceptions=True)
    for engine, end in zip(engines, ends, strict=True):
        if end is not None:
            tell(f"{engine} may still be suspended: the next run of firstlight up or handover resumes it")
    _raise(ends)


def _raise(ends: Iterable[BaseException | None]) -> None:
    for each in ends:
        if each is not None:
            raise each


async def _surely(work: Coroutine[Any, Any, None]) -> None:
    """Carry work to its end, whoever cancels meanwhile, but not for ever."""
    clock = asyncio.get_running_loop().time
    task, ends = asyncio.ensure_future(work), clock() + LONGEST
    cancelled: asyncio.CancelledError | None = None
    while not task.done() and clock() < ends:
        try:
            await asyncio.wait([task], timeout=ends - clock())  # unlike an await it leaves the task alone
        except asyncio.CancelledError as error:
            cancelled = error
    task.cancel()
    (end,) = await asyncio.gather(task, return_exceptions=True)
    if cancelled is not None:
        raise cancelled
    if isinstance(end, asyncio.CancelledError):
        raise errors.ClientError(f"the engine could not be resumed within {LONGEST:.0f} s", hint="Run again.")
    _raise([end])


async def _suspend(engine: SuspendedEngine, client: kube.Client, *, run: str) -> None:
    value = merged(_bare(engine), adapters.KINDS[engine.kind].hold.fields({}))
    value = merged(value, {"metadata": {"annotations": {MARK: _mark(run)}}})
    await client.apply(value, manager=MANAGER, force=True)


async def _resumed(engine: SuspendedEngine, client: kube.Client, *, run: str) -> None:
    for number in range(_TRIES):
        try:
            live = await client.get(_KINDS[engine.kind], engine.kind, engine.name, namespace=engine.namespace)
        except kube.NotFound:
            return
        mark = within.text(live, "metadata", "annotations", MARK)
        if not mark or mark not in (_mark(run), engine.mark):
            return  # it does not rest, or for another run, which has taken over
        try:
            # Whoever applies nothing owns nothing: what was applied before goes.
            await client.apply(guarded(_bare(engine), live), manager=MANAGER, force=True)
        except kube.Conflict:
            if number + 1 == _TRIES:
                raise
        else:
            return


def _mark(run: str) -> str:
    return run or "suspended"


def _bare(engine: SuspendedEngine) -> dict[str, Any]:
    """With its uid, since an apply would create what somebody has deleted meanwhile."""
    return {
        "apiVersion": _KINDS[engine.kind],
        "kind": engine.kind,
        "metadata": {"name": engine.name, "namespace": engine.namespace, "uid": engine.uid},
    }


async def _listed(kind: str, client: kube.Client) -> Sequence[Mapping[str, Any]]:
    try:
        return (await client.list(_KINDS[kind], kind)).items
    except kube.UnknownKind:
        return ()


def _engine(kind: str, live: Mapping[str, Any]) -> SuspendedEngine:
    metadata = mapping(live, "metadata")
    annotations = mapping(metadata, "annotations")
    is_suspended = engine_marks.is_suspended(live)
    return SuspendedEngine(
        kind,
        within.text(metadata, "namespace"),
        within.text(metadata, "name"),
        within.text(metadata, "uid"),
        is_suspended,
        mark=within.text(annotations, MARK),
    )
