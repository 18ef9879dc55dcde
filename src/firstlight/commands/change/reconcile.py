"""Engines asked to take a commit now, and watched until exactly that one, or one that has it, is applied and well."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.change.engine_objects import EngineObject
from firstlight.commands.change.followed_branch import FollowedRepository
from firstlight.document import conditions
from firstlight.engines import adapters, revisions
from firstlight.engines.engine_kind import VerdictFacts
from firstlight.execute.walk import OnVerdict
from firstlight.execute.world import World
from firstlight.gates import gate_parts
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.cluster import Cluster
from firstlight.model.component import ObjectId
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Failed, Passed, Skipped, Verdict, Waiting

MANAGER = "firstlight-change"
AGAIN = 0.5
"""Seconds between two looks whether a commit that an engine has is one that has the change."""


class FollowedRevision:
    """A commit of the followed branch, and those that came after it as far as they are known."""

    def __init__(self, commit: str, repository: FollowedRepository) -> None:
        self.commit = commit
        self._repository = repository
        self._having = {commit}
        self._unknown: set[str] = set()
        self._others: set[str] = set()

    def is_in(self, revision: str) -> bool:
        """Whether what an engine has applied has the commit; one that nobody knows yet has not, until it is learnt."""
        found = revisions.commit(revision)
        if found and found not in self._having and found not in self._others:
            self._unknown.add(found)
        return found in self._having

    async def learn(self) -> None:
        """Find out about commits that were asked for and are not known.

        Raises:
            errors.ClientError: The remote does not answer.
        """
        if not self._unknown:
            return
        asked, self._unknown = self._unknown, set()
        try:
            tip = await self._repository.fetched()
            self._having |= await self._repository.git.since(self._repository.root, self.commit, tip)
        except BaseException:
            self._unknown |= asked
            raise
        # What the branch does not have is behind it, and need not be asked for again before it moves.
        self._others |= asked - self._having

    @contextlib.asynccontextmanager
    async def learning(self) -> AsyncIterator[None]:
        """Keep finding out, as long as somebody watches."""

        async def keep() -> None:
            while True:
                with contextlib.suppress(errors.ClientError):
                    await self.learn()
                await asyncio.sleep(AGAIN)

        task = asyncio.create_task(keep(), name="commits that engines have")
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FollowedObjects:
    """What of a cluster's engine is watched, and for which commit."""

    cluster: Cluster
    objects: tuple[EngineObject, ...]
    revision: FollowedRevision

    @property
    def looks(self) -> tuple[WatchTarget, ...]:
        """What must be seen."""
        own = [gate_parts.look_at(each.id) for each in self.objects]
        beside = [look for each in self.objects for look in adapters.KINDS[each.id.kind].verdicts.beside_commit]
        return tuple(dict.fromkeys((*own, *beside)))


def verdicts(followed: FollowedObjects, view: GateView) -> list[Verdict]:
    """What the engine says of each of them."""
    return [_verdict(each, followed, view) for each in followed.objects]


def _verdict(each: EngineObject, followed: FollowedObjects, view: GateView) -> Verdict:
    look, name = gate_parts.look_at(each.id), str(each.id)
    found = view.one(look)
    if found is None:
        return conditions.absent(each.id, is_served=look not in view.unserved)
    kind, target = adapters.KINDS[each.id.kind], followed.revision
    if rests := kind.verdicts.suspended(found, name, is_declared=each.is_suspended):
        # What only needs it may rest for reasons of its own; what it is in must not.
        return Failed(rests.reason) if each.is_touched and isinstance(rests, Waiting) else Skipped(rests.reason)
    if kind.verdicts.judge is None:
        return conditions.judged_ready(found, name, now=view.now)
    facts = VerdictFacts(
        view=view, expected=_expected(kind.applied(found), target), url=followed.cluster.url, is_in=target.is_in
    )  # fmt: skip
    return kind.verdicts.judge(found, name, facts)


def _expected(applied: str, target: FollowedRevision) -> str:
    """What it must be at: what it is at, where that has the commit."""
    return revisions.commit(applied) if target.is_in(applied) else target.commit


async def wait_reconciled(
    followed: FollowedObjects, world: World, on_verdict: OnVerdict, *, patience: float
) -> tuple[Verdict, str]:  # fmt: skip
    """Wait until all are well at the commit, or nothing has moved for too long.

    Args:
        followed: What.
        world: The cluster.
        on_verdict: Told each change of mind.
        patience: Seconds.
    """

    def judge(view: GateView) -> Verdict:
        every = verdicts(followed, view)
        done = sum(isinstance(each, Passed | Skipped) for each in every)
        worst = gate_parts.worst(every)
        return Waiting(f"{done} of {len(every)} done; {worst.reason}") if isinstance(worst, Waiting) else worst

    question = GateQuestion(
        gate=Gate(Subject.RECONCILED), name=f"{followed.cluster.name} at {followed.revision.commit[:7]}",
        looks=followed.looks, judge=judge, timeout=patience,
    )  # fmt: skip
    async with followed.revision.learning():
        while True:
            verdict = await world.watching.wait(question, on_verdict=on_verdict)
            if not isinstance(verdict, Passed):
                return verdict, _hint(followed)
            # Watches of different kinds do not come at the same moment: what counts is one look at all of them.
            if isinstance(last := judge(await world.watching.view(followed.looks)), Passed | Skipped):
                return last, ""


def _hint(followed: FollowedObjects) -> str:
    first = next(iter(followed.objects), None)
    if first is None:
        return ""
    kind, space = first.id.kind.lower(), first.id.namespace
    return f"See: kubectl -n {space} get {kind}; what is wrong: firstlight doctor; later: firstlight change resume"


async def followed_sources(followed: FollowedObjects, client: kube.Client) -> tuple[ObjectId, ...]:
    """The sources of commits that the objects among them follow, as far as they are of the repo itself.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found: dict[ObjectId, None] = {}
    url = followed.cluster.url
    for each in followed.objects:
        kind = adapters.KINDS[each.id.kind]
        live = await _live(each.id, client) if kind.has_source else None
        id = kind.source(live) if live is not None else None
        if id is None or not adapters.SOURCES[id.kind].has_commits:
            continue
        source = await _live(id, client)
        fetched = adapters.SOURCES[id.kind].url(source)
        if source and (not url or revisions.is_same_repository(url, fetched)):
            found[id] = None
    return tuple(found)


async def unfetched_sources(
    ids: Sequence[ObjectId], followed: FollowedObjects, client: kube.Client
) -> tuple[ObjectId, ...]:
    """Those sources that do not have the commit yet."""
    behind = []
    for id in ids:
        have = adapters.SOURCES[id.kind].revision(await _live(id, client))
        if not await _has(followed.revision, have):
            behind.append(id)
    return tuple(behind)


async def objects_behind(followed: FollowedObjects, client: kube.Client) -> tuple[ObjectId, ...]:
    """Those that follow a repository, are there and have not applied the commit, the outermost first."""
    found = []
    for each in followed.objects:
        kind = adapters.KINDS[each.id.kind]
        live = await _live(each.id, client) if kind.has_revision else None
        if live is None:
            continue
        have = kind.applied(live)
        if revisions.commit(have) and not await _has(followed.revision, have):
            found.append(each.id)
    return tuple(found)


async def _has(revision: FollowedRevision, have: str) -> bool:
    if revision.is_in(have):
        return True
    await revision.learn()
    return revision.is_in(have)


async def request_reconcile(
    ids: Sequence[ObjectId], client: kube.Client, *, now: Callable[[], float] = time.time
) -> None:
    """Ask the engine to look now, as ``flux reconcile`` and a refresh do.

    Raises:
        errors.ClientError: The API does not take it.
    """
    for id in ids:
        marks = adapters.request(id.kind, f"{now():.6f}", is_full=False)
        look = gate_parts.look_at(id)
        with contextlib.suppress(kube.NotFound):
            await client.patch(
                look.api_version, id.kind, id.name, {"metadata": {"annotations": marks}}, manager=MANAGER,
                namespace=id.namespace,
            )  # fmt: skip


async def _live(id: ObjectId, client: kube.Client) -> Mapping[str, Any] | None:
    look = gate_parts.look_at(id)
    try:
        return await client.get(look.api_version, id.kind, id.name, namespace=id.namespace)
    except (kube.NotFound, kube.UnknownKind):
        return None
