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
from firstlight.document.within import mapping, text
from firstlight.engines import revisions
from firstlight.execute.walk import OnVerdict
from firstlight.execute.world import World
from firstlight.gates import argocd, flux, gate_parts
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model import argocd_names, flux_names
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
        kinds = {each.id.kind for each in self.objects}
        own = [gate_parts.look_at(each.id) for each in self.objects]
        sources = [flux.GIT] if kinds & {flux_names.KUSTOMIZATION, flux_names.HELM_RELEASE} else []
        return (*own, *sources, *([CHARTS] if flux_names.HELM_RELEASE in kinds else []))


def verdicts(followed: FollowedObjects, view: GateView) -> list[Verdict]:
    """What the engine says of each of them."""
    return [_verdict(each, followed, view) for each in followed.objects]


def _verdict(each: EngineObject, followed: FollowedObjects, view: GateView) -> Verdict:
    look, name = gate_parts.look_at(each.id), str(each.id)
    found = view.one(look)
    if found is None:
        return conditions.absent(each.id, is_served=look not in view.unserved)
    url, target = followed.cluster.url, followed.revision
    rest = argocd.skipped if each.id.kind == argocd_names.APPLICATION else flux.suspended
    if rests := rest(found, name, is_declared=each.is_suspended):
        # What only needs it may rest for reasons of its own; what it is in must not.
        return Failed(rests.reason) if each.is_touched and isinstance(rests, Waiting) else Skipped(rests.reason)
    match each.id.kind:
        case flux_names.KUSTOMIZATION:
            applied = text(found, "status", "lastAppliedRevision")
            sources = view.all(flux.GIT)
            expected = _expected(applied, target)
            return flux.kustomization(found, name, expected=expected, url=url, sources=sources, now=view.now)
        case flux_names.HELM_RELEASE:
            late = late_chart(
                found,
                name,
                charts=view.all(CHARTS),
                sources=view.all(flux.GIT),
                url=url,
                is_in=target.is_in,
            )
            return late or flux.helm_release(found, name, now=view.now)
        case _:
            applied = _synced(found)
            return argocd.application(found, name, expected=_expected(applied, target), url=url, now=view.now)


def _expected(applied: str, target: FollowedRevision) -> str:
    """What it must be at: what it is at, where that has the commit."""
    return revisions.commit(applied) if target.is_in(applied) else target.commit


def _synced(value: Mapping[str, Any]) -> str:
    several = [each for each in mapping(value, "status", "sync").get("revisions") or () if isinstance(each, str)]
    known = next((each for each in several if revisions.commit(each)), "")
    return text(value, "status", "sync", "revision") or known


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
    """The GitRepositories that the Kustomizations among them follow, as far as they are of the repo itself.

    Raises:
        errors.ClientError: The API does not answer.
    """
    found: dict[ObjectId, None] = {}
    for each in followed.objects:
        live = await _live(each.id, client) if each.id.kind == flux_names.KUSTOMIZATION else None
        reference = mapping(live, "spec", "sourceRef")
        if text(reference, "kind") != flux_names.GIT_REPOSITORY:
            continue
        space = text(reference, "namespace") or each.id.namespace
        id = ObjectId(flux_names.SOURCE_GROUP, flux_names.GIT_REPOSITORY, space, text(reference, "name"))
        source = await _live(id, client)
        url = followed.cluster.url
        if source and (not url or revisions.is_same_repository(url, text(source, "spec", "url"))):
            found[id] = None
    return tuple(found)


async def unfetched_sources(
    ids: Sequence[ObjectId], followed: FollowedObjects, client: kube.Client
) -> tuple[ObjectId, ...]:
    """Those sources that do not have the commit yet."""
    behind = []
    for id in ids:
        have = text(await _live(id, client), "status", "artifact", "revision")
        if not await _has(followed.revision, have):
            behind.append(id)
    return tuple(behind)


async def objects_behind(followed: FollowedObjects, client: kube.Client) -> tuple[ObjectId, ...]:
    """Those Kustomizations and Applications that are there and have not applied the commit, the outermost first."""
    found = []
    for each in followed.objects:
        live = await _live(each.id, client) if each.id.kind != flux_names.HELM_RELEASE else None
        if live is None:
            continue
        have = (
            _synced(live) if each.id.kind == argocd_names.APPLICATION else text(live, "status", "lastAppliedRevision")
        )
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
        marks = (
            {argocd_names.REFRESH_ANNOTATION: "normal"}
            if id.kind == argocd_names.APPLICATION
            else {flux_names.RECONCILE_REQUEST_ANNOTATION: f"{now():.6f}"}
        )
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


# HelmReleases whose chart is a directory of the repo itself: ready is not enough, the chart must be of the commit.


CHARTS = WatchTarget(api_version=flux_names.SOURCE_API, kind=flux_names.HELM_CHART)


def late_chart(
    release: Mapping[str, Any],
    name: str,
    *,
    charts: Sequence[Mapping[str, Any]],
    sources: Sequence[Mapping[str, Any]],
    url: str,
    is_in: Callable[[str], bool],
) -> Verdict | None:
    """Why a HelmRelease has not come to the commit, though it may be ready; None where it has, or its chart has none.

    Args:
        release: As it is.
        name: What it is called.
        charts: All HelmCharts.
        sources: All GitRepositories.
        url: The repository that the commit is of.
        is_in: Whether a revision has the commit.
    """
    if not _is_ours(release, sources, url):
        return None
    wanted = text(release, "status", "helmChart")
    chart = next((each for each in charts if _called(each) == wanted), None)
    if chart is None:
        return Waiting(f"{name} has no chart yet")
    if not is_in(text(chart, "status", "observedSourceArtifactRevision")):
        return Waiting(f"{name}: its chart is not made of the commit yet")
    version, tried = text(chart, "status", "artifact", "revision"), text(release, "status", "lastAttemptedRevision")
    return Waiting(f"{name} is at {tried or 'nothing'}, and its chart is {version}") if tried != version else None


def _is_ours(release: Mapping[str, Any], sources: Sequence[Mapping[str, Any]], url: str) -> bool:
    reference = mapping(release, "spec", "chart", "spec", "sourceRef")
    space = text(reference, "namespace") or text(release, "metadata", "namespace")
    called = f"{space}/{text(reference, 'name')}"
    return text(reference, "kind") == flux_names.GIT_REPOSITORY and any(
        _called(each) == called and (not url or revisions.is_same_repository(url, text(each, "spec", "url")))
        for each in sources
    )


def _called(value: Mapping[str, Any]) -> str:
    return f"{text(value, 'metadata', 'namespace')}/{text(value, 'metadata', 'name')}"
