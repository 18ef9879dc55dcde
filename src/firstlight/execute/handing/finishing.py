"""What is left to do for objects that the engine has already, so that it has nothing of them but what Git has.

An engine applies where it sees a difference in fields, and who owns them is none. And an object that was applied with
nothing but its name, as many a Namespace is, has no owner at all before the engine comes: what Kubernetes itself set
is then said to be of ``before-first-apply``, beside the engine.
"""

import contextlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from firstlight.clients import kube
from firstlight.document.within import sequence, text
from firstlight.execute.applying.guarding import guarded
from firstlight.execute.handing import owner_patch, predicting
from firstlight.execute.handing.predicting import Candidate
from firstlight.model.handover import Passing
from firstlight.ownership import certifying, comparing, engine_marks, migrating

if TYPE_CHECKING:
    from firstlight.clients.kube import Client

FIRST = "before-first-apply"
TRIES = 5
_NAME = ("f:metadata", "f:labels", "f:kubernetes.io/metadata.name")
"""The label that Kubernetes gives every Namespace."""


async def finish(passing: Sequence[Passing], client: "Client") -> None:
    """Give the engine what is said to have been there before its first apply, and let it go of that.

    Nothing is written where a field would be lost by it: the certificate tells of what is left.

    Raises:
        errors.ClientError: The API does not answer.
    """
    for each in await predicting.find(passing, client):
        if not is_engines(each):
            continue
        if _is_first_alone(each):
            await _taken(each, client)
        elif certifying.fields_of(each.live, each.passing.manager).has(_NAME):
            await shed(each, client)  # a run before this one was killed between the two


async def _taken(candidate: Candidate, client: "Client") -> None:
    """Pass what was there before the first apply, as often as somebody else writes meanwhile, but not for ever."""
    now: Candidate | None = candidate
    for _ in range(TRIES):
        if now is None or not _is_first_alone(now):
            break
        found = await predicting.predicted(now, client)
        if found is None or found.lost or found.refused:
            return
        if (migration := migrating.migrate(now.live, to=now.passing.manager)) is not None:
            with contextlib.suppress(kube.Conflict, kube.NotFound):
                await owner_patch.write(now, migration, client)
        now = await predicting.again(now, client)
    await shed(candidate, client)


async def shed(candidate: Candidate, client: "Client", *, is_loss_allowed: bool = False) -> None:
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
        now = await predicting.again(candidate, client)
        if now is None or not is_engines(now):
            return
        # The engine is at work, as the same manager: what it has applied since the look would be taken back.
        body = guarded(now.wanted, now.live)
        try:
            after = await client.apply(body, manager=manager, dry_run=True)
            is_same = not comparing.changes(now.live, after, has_status=now.has_status)
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


def is_engines(candidate: Candidate) -> bool:
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


def _is_first_alone(candidate: Candidate) -> bool:
    found = migrating.migrate(candidate.live, to=candidate.passing.manager)
    return found is not None and {each.manager for each in (*found.taken, *found.discarded)} == {FIRST}


def _owners(value: Mapping[str, Any]) -> list[tuple[str, str, object]]:
    return [
        (text(each, "manager"), text(each, "operation"), each.get("fieldsV1"))
        for each in sequence(value, "metadata", "managedFields")
    ]
