"""Fields passed from their old owners to the engine: one patch an object, on nothing but what was seen of it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document import within
from firstlight.document.within import sequence
from firstlight.engines import engine_marks
from firstlight.execute.apply.server_side_apply import guarded
from firstlight.execute.handover import prediction
from firstlight.execute.handover.prediction import PARALLEL, HandoverCandidate
from firstlight.model.handover import Passing
from firstlight.ownership import apply_comparison, proofs
from firstlight.ownership import migration as ownership_migration
from firstlight.ownership.migration import Migration

_TRIES = 8
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between two tries at what others write too."""

Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True, slots=True)
class MigrationRules:
    """What must hold of what an object has become by the time that it is written."""

    cluster: str
    is_loss_allowed: bool = False


def pending(candidates: Sequence[HandoverCandidate]) -> list[HandoverCandidate]:
    """Those of which somebody still owns fields who came before Git."""
    return [each for each in candidates if ownership_migration.migrate(each.live, to=each.passing.manager) is not None]


def sentence(candidate: HandoverCandidate) -> str:
    """What is to be written, for people."""
    manager = candidate.passing.manager
    migration = ownership_migration.migrate(candidate.live, to=manager)
    taken = migration.taken + migration.discarded if migration is not None else ()
    names = ", ".join(dict.fromkeys(each.manager for each in taken))
    return f"pass what {names} owns of {candidate.object.id} to {manager}"


def heavy(candidates: Sequence[HandoverCandidate]) -> list[HandoverCandidate]:
    """Those that are the engine's alone, with fields that Git does not have and that its next apply would take away."""
    return [
        each
        for each in candidates
        if is_engines(each)
        and ownership_migration.migrate(each.live, to=each.passing.manager) is None
        and ownership_migration.lost(each.live, each.wanted, to=each.passing.manager)
    ]


async def migrate(
    candidates: Sequence[HandoverCandidate],
    client: kube.Client,
    *,
    rules: MigrationRules,
    tell: Tell = lambda text: None,
) -> None:
    """Pass the fields of old owners; what was passed already is not written.

    Args:
        candidates: What is pending.
        client: The API.
        rules: What must hold of one that somebody else has written since it was predicted.
        tell: Told how far it is, and whose entries had to be dropped.

    Raises:
        errors.Refused: An object has changed, so that it would lose fields now, or be refused.
        errors.ClientError: An object could not be written; what could be, was.
    """
    turns = asyncio.Semaphore(PARALLEL)

    async def one(candidate: HandoverCandidate) -> tuple[HandoverCandidate, errors.FirstlightError | None]:
        async with turns:
            try:
                await _one(candidate, client, rules=rules, tell=tell)
            except (errors.Refused, errors.ClientError) as error:
                return candidate, error
            return candidate, None

    done = await asyncio.gather(*map(one, candidates))
    failures = [(each, error) for each, error in done if error is not None]
    if failures:
        raise _together(failures, len(candidates))
    tell(f"{len(candidates)} objects are the engine's alone")


async def _one(candidate: HandoverCandidate, client: kube.Client, *, rules: MigrationRules, tell: Tell) -> None:
    now: HandoverCandidate | None = candidate
    for number in range(_TRIES):
        migration = ownership_migration.migrate(now.live, to=now.passing.manager) if now is not None else None
        if now is None or migration is None:
            return
        for each in migration.discarded:
            tell(f"{now.object.id}: what {each.manager} applied in another version is nobody's now")
        try:
            await write_owner_patch(now, migration, client)
        except kube.NotFound:
            return
        except (kube.Conflict, kube.AmbiguousWrite):
            if number + 1 == _TRIES:
                raise
        else:
            await shed(now, client, is_loss_allowed=rules.is_loss_allowed)
            return
        await asyncio.sleep(_PAUSES[number])
        now = await prediction.again(now, client)
        if now is not None and (found := await prediction.predicted(now, client)) is not None:
            prediction.check_predictions([found], cluster=rules.cluster, is_loss_allowed=rules.is_loss_allowed)


def _together(
    failures: Sequence[tuple[HandoverCandidate, errors.FirstlightError]], tried: int
) -> errors.FirstlightError:  # fmt: skip
    """Several failures as one; a passing one is told as such, so that it is tried again."""
    first = next((error for _, error in failures if not isinstance(error, kube.Conflict | kube.AmbiguousWrite)), None)
    if first is None or len(failures) == 1:
        return failures[0][1]
    lines = "\n".join(f"  {each.object.id}: {error}" for each, error in failures)
    message = f"{len(failures)} of {tried} objects did not change their owner:\n{lines}"
    if any(isinstance(error, errors.Refused) for _, error in failures):
        return errors.Refused(message, hint=first.hint)
    return errors.ClientError(message, hint=first.hint)


# What is left to do for objects that the engine has already, so that it has nothing of them but what Git has.
#
# An engine applies where it sees a difference in fields, and who owns them is none. And an object that was applied with
# nothing but its name, as many a Namespace is, has no owner at all before the engine comes: what Kubernetes itself set
# is then said to be of ``before-first-apply``, beside the engine.


FIRST = "before-first-apply"
TRIES = 5
_NAME = ("f:metadata", "f:labels", "f:kubernetes.io/metadata.name")
"""The label that Kubernetes gives every Namespace."""


async def finish(passing: Sequence[Passing], client: kube.Client) -> None:
    """Give the engine what is said to have been there before its first apply, and let it go of that.

    Nothing is written where a field would be lost by it: the certificate tells of what is left.

    Raises:
        errors.ClientError: The API does not answer.
    """
    for each in await prediction.find(passing, client):
        if not is_engines(each):
            continue
        if _is_first_alone(each):
            await _taken(each, client)
        elif proofs.fields_of(each.live, each.passing.manager).has(_NAME):
            await shed(each, client)  # a run before this one was killed between the two


async def _taken(candidate: HandoverCandidate, client: kube.Client) -> None:
    """Pass what was there before the first apply, as often as somebody else writes meanwhile, but not for ever."""
    now: HandoverCandidate | None = candidate
    for _ in range(TRIES):
        if now is None or not _is_first_alone(now):
            break
        found = await prediction.predicted(now, client)
        if found is None or found.lost or found.refused:
            return
        if (migration := ownership_migration.migrate(now.live, to=now.passing.manager)) is not None:
            with contextlib.suppress(kube.Conflict, kube.NotFound):
                await write_owner_patch(now, migration, client)
        now = await prediction.again(now, client)
    await shed(candidate, client)


async def shed(candidate: HandoverCandidate, client: kube.Client, *, is_loss_allowed: bool = False) -> None:
    """Apply once as the engine what it has already, so that it lets go of fields that Git does not have.

    Nothing is written where fields would change: that the engine sees, and does by itself. Where somebody agreed to a
    loss, what would only go goes: helm-controller looks at nothing before its next upgrade, and would keep it.

    Args:
        candidate: What the engine has.
        client: The API.
        is_loss_allowed: Whether somebody agreed that fields disappear.

    Raises:
        errors.ClientError: The API does not answer.
    """
    manager = candidate.passing.manager
    for _ in range(TRIES):
        now = await prediction.again(candidate, client)
        if now is None or not is_engines(now):
            return
        # The engine is at work, as the same manager: what it has applied since the look would be taken back.
        body = guarded(now.wanted, now.live)
        try:
            after = await client.apply(body, manager=manager, dry_run=True)
            is_same = not apply_comparison.changes(now.live, after, has_status=now.has_status)
            if (is_same and _owners(now.live) != _owners(after)) or (
                not is_same and is_loss_allowed and _is_less(after, now.live, has_status=now.has_status)
            ):
                await client.apply(body, manager=manager)
        except kube.Conflict as error:
            if not error.is_field_conflict:
                continue  # somebody wrote it meanwhile
            return
        except (kube.BadRequest, kube.Forbidden, kube.Invalid, kube.NotFound):
            return  # the certificate tells why
        else:
            return


def is_engines(candidate: HandoverCandidate) -> bool:
    """Whether the engine has it already, by its marks."""
    mark = engine_marks.of(candidate.live, wanted=candidate.object.value)
    return mark is not None and mark.owner == candidate.passing.owner.name


def _is_less(after: Mapping[str, Any], live: Mapping[str, Any], *, has_status: bool) -> bool:
    """Whether an object is another one without some of its fields, and nothing else."""
    metadata = [{**each.get("metadata", {})} for each in (after, live)]
    for each in metadata:
        for name in ("managedFields", "resourceVersion", "generation"):
            each.pop(name, None)
    apart = {"metadata", "status"} if has_status else {"metadata"}
    rest = [{name: part for name, part in each.items() if name not in apart} for each in (after, live)]
    return _is_within(metadata[0], metadata[1]) and _is_within(rest[0], rest[1])


def _is_within(less: Any, more: Any) -> bool:
    if isinstance(less, Mapping) and isinstance(more, Mapping):
        return all(name in more and _is_within(each, more[name]) for name, each in less.items())
    if isinstance(less, list) and isinstance(more, list):
        rest = iter(more)
        return all(any(_is_within(each, other) for other in rest) for each in less)
    return bool(less == more)


def _is_first_alone(candidate: HandoverCandidate) -> bool:
    found = ownership_migration.migrate(candidate.live, to=candidate.passing.manager)
    return found is not None and {each.manager for each in (*found.taken, *found.discarded)} == {FIRST}


def _owners(value: Mapping[str, Any]) -> list[tuple[str, str, object]]:
    return [
        (within.text(each, "manager"), within.text(each, "operation"), each.get("fieldsV1"))
        for each in sequence(value, "metadata", "managedFields")
    ]


# The one write by which fields of an object pass to the engine, on nothing but what was seen of it.


async def write_owner_patch(candidate: HandoverCandidate, migration: Migration, client: kube.Client) -> None:
    """Pass what old owners have of an object to its engine.

    Raises:
        kube.Conflict: Somebody has written it since it was seen.
        kube.NotFound: It is not there any more.
        errors.ClientError: It could not be written.
    """
    id, live = candidate.object.id, candidate.live
    await client.patch(
        within.text(live, "apiVersion") or within.text(candidate.object.value, "apiVersion"), id.kind, id.name,
        ownership_migration.patch(live, migration), form="json", manager=candidate.passing.manager,
        namespace=id.namespace or None,
    )  # fmt: skip
