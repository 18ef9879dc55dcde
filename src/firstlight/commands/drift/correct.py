"""Drift corrected: the engine is asked to reconcile, and watched; if it does not answer, Git's form is applied as it.

What it leaves since it never applied it is removed, if that is wished. No object is deleted here: what is extra is the
engine's to prune, or a person's.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.commands.drift import applied_commit, apply_as_engine, remaining_drift
from firstlight.commands.drift import drift as drift_room
from firstlight.commands.drift.applied_commit import CorrectionContext
from firstlight.commands.drift.expected_state import ExpectedState
from firstlight.commands.drift.remaining_drift import CorrectionAnswer
from firstlight.document.within import text
from firstlight.engines import adapters, engine_marks
from firstlight.execute import lease as execute_lease
from firstlight.execute.lease import Lease
from firstlight.execute.overrides import override_end
from firstlight.gates.gate_parts import GateQuestion
from firstlight.journal import run_identity
from firstlight.model import flux_names
from firstlight.model.component import ObjectId
from firstlight.model.drift import Drift, Drifted, DriftKind
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.observe import live_objects
from firstlight.observe.gate_watch import Watching

ANSWER = 60.0
"""Seconds in which an engine must have handled a request: one that is down never does."""
PATIENCE = 20.0
"""Seconds for what comes after an engine has handled a request: Argo CD heals a moment later."""

Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True, kw_only=True)
class CorrectionOptions:
    """How drift is to be corrected."""

    as_owner: bool = False
    """Whether Git's form is applied in the engine's place if that does not answer, and what it leaves is removed."""
    answer: float = ANSWER
    patience: float = PATIENCE


async def correct(
    scene: ExpectedState,
    client: kube.Client,
    drift: Drift,
    *,
    wishes: CorrectionOptions,
    tell: Tell,
    ground: CorrectionContext,
    confirm: Callable[[str], bool],
    agree: Callable[[str], bool],
) -> Drift:
    """Correct what differs; how it is in the end.

    Args:
        scene: What is compared.
        client: The API.
        drift: What was found.
        wishes: How.
        tell: Told of everything that is done.
        ground: How it is known which cluster is meant.
        confirm: Asked before anything is applied or removed in the engine's place.
        agree: Asked whether the cluster is the one that is meant, where nobody else can tell.

    Raises:
        errors.Refused: It is not known to be the right cluster, or the engine follows another commit than the one that
            was rendered, or nobody knows which; or its owners do not exist; or another run works on the cluster.
        errors.ClientError: The API does not answer.
    """
    mine = {each.id: each for each in scene.wanted}
    engines = {
        each.owner
        for one in drift.drifted
        if (each := mine.get(one.id)) is not None and each.owner.party in (Party.FLUX, Party.ARGOCD)
    }
    if engines:
        await applied_commit.check_cluster(drift.cluster, client, ground=ground, confirm=agree)
    _say_what_is_left(drift, scene, tell)
    there = await _there(engines, client, tell)
    answers = dict.fromkeys(engines, CorrectionAnswer.GONE)
    if not there:
        return drift
    lease = Lease(client, holder=execute_lease.holder_name(run_identity.make_run_id(drift.cluster)), tell=tell)
    await lease.claim()
    try:
        # First: whoever rests for one that was cut off has an older commit, and answers nobody.
        await override_end.attempt_finish(client, cluster=drift.cluster, state=ground.state, tell=tell)
        await applied_commit.check_commit(scene, there, client)
        answers |= await _ask(there, client, tell=tell, seconds=wishes.answer)
        after = await _after(scene, client, drift, answers, wishes=wishes, lease=lease, tell=tell, confirm=confirm)
    finally:
        await lease.release()
    return dataclasses.replace(after, ways=remaining_drift.advice(after, mine, answers, as_owner=wishes.as_owner))


async def _after(
    scene: ExpectedState,
    client: kube.Client,
    drift: Drift,
    answers: Mapping[ObjectOwner, CorrectionAnswer],
    *,
    wishes: CorrectionOptions,
    lease: Lease,
    tell: Tell,
    confirm: Callable[[str], bool],
) -> Drift:
    """How it is once owners have done what they do, and, if that is wished, what they did not was done here."""
    owners = {each.id: each.owner for each in scene.wanted}

    def is_of(each: Drifted, answer: CorrectionAnswer) -> bool:
        return each.id in owners and answers.get(owners[each.id]) == answer

    def is_left(each: Drifted) -> bool:
        kind = adapters.KINDS[owners[each.id].name.partition(" ")[0]]
        is_left_beside = each.is_beside and kind.leaves_foreign_fields
        return is_of(each, CorrectionAnswer.DONE) and (is_left_beside or each.is_held)

    silent = [each for each in drift.drifted if is_of(each, CorrectionAnswer.NONE)]
    if silent and wishes.as_owner:
        why = "The engine does not answer."
        await apply_as_engine.apply(scene, silent, client, why=why, lease=lease, tell=tell, confirm=confirm)
    elif silent:
        tell(f"{len(silent)} objects are as they were; --as-owner applies Git's form in the engine's place")
    ids = {each.id for each in drift.drifted if each.id in owners}
    after = await _until_gone(scene, client, ids, seconds=wishes.patience, is_left=is_left)
    answered = [each for each in after.drifted if is_of(each, CorrectionAnswer.DONE)]
    beside = [each for each in answered if any(one.is_beside for one in each.fields)]
    held = [each for each in answered if each.is_held]
    if not beside and not held:
        return after
    if not wishes.as_owner:
        for owner in sorted({owners[each.id] for each in beside}):
            tell(f"{owner.name} answered, and leaves fields that it never applied; --as-owner removes them")
        for owner in sorted({owners[each.id] for each in held}):
            tell(f"{owner.name} answered, and leaves fields to others that are as in Git; --as-owner takes them")
        return after
    if beside:
        await apply_as_engine.remove_stray(scene, beside, client, lease=lease, tell=tell, confirm=confirm)
    if held:
        why = "The engine answered, and does not apply what is as in Git, whoever owns it."
        await apply_as_engine.apply(scene, held, client, why=why, lease=lease, tell=tell, confirm=confirm)
    return await drift_room.look(scene, client)


async def _there(owners: Iterable[ObjectOwner], client: kube.Client, tell: Tell) -> list[ObjectOwner]:
    """Owners that exist: for one that does not, nothing is ever put back.

    Raises:
        errors.Refused: None of them does.
    """
    ordered = sorted(owners)
    found = await asyncio.gather(*(live_objects.engine_object(each, client) for each in ordered))
    there = [owner for owner, holder in zip(ordered, found, strict=True) if holder is not None]
    gone = [owner.name for owner in ordered if owner not in there]
    if gone and not there:
        raise errors.Refused(
            f"{', '.join(gone)}: not in this cluster, so that nobody is there to put anything back",
            hint="Is it the right cluster, and does its engine follow the repo? firstlight owners tells who owns what.",
        )
    for each in gone:
        tell(f"{each} is not there: what is its is left")
    return there


def _say_what_is_left(drift: Drift, scene: ExpectedState, tell: Tell) -> None:
    names = sorted({each.component for each in drift.drifted if each.component in scene.kept})
    if names:
        only = " ".join(f"--only {each}" for each in names)
        tell(f"{', '.join(names)}: bootstrap keeps it; firstlight up {drift.cluster} {only} puts it back")
    extra = [each for each in drift.drifted if each.difference == DriftKind.EXTRA]
    if extra:
        tell(f"{len(extra)} extra object{'s' if len(extra) > 1 else ''}: nothing is deleted here")


async def _ask(
    owners: Iterable[ObjectOwner], client: kube.Client, *, tell: Tell, seconds: float
) -> dict[ObjectOwner, CorrectionAnswer]:
    """Ask owners to reconcile, and wait until they did; what came of it."""
    token = f"{time.time():.6f}"
    async with Watching(client) as watching:

        async def one(owner: ObjectOwner) -> CorrectionAnswer:
            holder = await live_objects.engine_object(owner, client)
            if holder is None:
                tell(f"{owner.name} is not there any more: what is its is left")
                return CorrectionAnswer.GONE
            if engine_marks.is_suspended(holder):
                tell(f"{owner.name} is suspended: it was not asked")
                return CorrectionAnswer.SUSPENDED
            await _request(holder, token, client, tell)
            if await _is_answered(holder, token, watching, seconds):
                return CorrectionAnswer.DONE
            controller = adapters.KINDS[text(holder, "kind")].controller
            tell(f"{owner.name} did not answer in {seconds:.0f} s: does {controller} run?")
            return CorrectionAnswer.NONE

        ordered = sorted(owners)
        answered = await asyncio.gather(*map(one, ordered))
    return dict(zip(ordered, answered, strict=True))


async def _request(holder: Mapping[str, Any], token: str, client: kube.Client, tell: Tell) -> None:
    """What ``flux reconcile`` and ``argocd app get --hard-refresh`` do."""
    id, kind = ObjectId.of(holder), adapters.KINDS[text(holder, "kind")]
    source = kind.source(holder)
    if source is not None:
        fetching = adapters.SOURCES[source.kind]
        with contextlib.suppress(kube.NotFound, kube.UnknownKind):
            await _annotate(source, fetching.api_version, fetching.request(token), client)
    marks, asked = kind.correction(holder, token)
    tell(f"asked {id} to {asked}")
    await _annotate(id, kind.api_version, marks, client)


async def _annotate(id: ObjectId, api_version: str, annotations: Mapping[str, str], client: kube.Client) -> None:
    body = {"metadata": {"annotations": dict(annotations)}}
    await client.patch(
        api_version, id.kind, id.name, body, manager=flux_names.CLIENT_SIDE_MANAGER, namespace=id.namespace
    )  # fmt: skip


async def _is_answered(holder: Mapping[str, Any], token: str, watching: Watching, seconds: float) -> bool:
    """Whether a request was handled in time."""
    kind = adapters.KINDS[text(holder, "kind")]
    look = WatchTarget(
        api_version=kind.api_version, kind=kind.kind, namespace=text(holder, "metadata", "namespace"),
        name=text(holder, "metadata", "name"),
    )  # fmt: skip

    def judge(view: GateView) -> Verdict:
        found = view.one(look)
        is_done = found is not None and kind.requests.is_handled(found, token)
        return Passed("") if is_done else Waiting("not yet")

    question = GateQuestion(gate=Gate(Subject.RECONCILED), name=look.name, looks=(look,), judge=judge, timeout=seconds)
    return isinstance(await watching.wait(question, on_verdict=lambda _: None), Passed)


async def _until_gone(
    scene: ExpectedState, client: kube.Client, ids: set[ObjectId], *, seconds: float, is_left: Callable[[Drifted], bool]
) -> Drift:
    """Watch until what was to be corrected is, or only what never will be is left; the last look, if not in time."""
    with contextlib.suppress(TimeoutError, kube.Forbidden):
        async with asyncio.timeout(seconds), contextlib.aclosing(drift_room.watch(scene, client)) as looks:
            async for each in looks:
                if all(is_left(one) for one in each.drifted if one.id in ids):
                    return each
    return await drift_room.look(scene, client)
