"""Fields passed from their old owners to the engine: one patch an object, on nothing but what was seen of it."""

import asyncio
import dataclasses
from collections.abc import Callable, Sequence

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.handing import finishing, judging, owner_patch, predicting
from firstlight.execute.handing.predicting import PARALLEL, Candidate
from firstlight.ownership import migrating

_TRIES = 8
_PAUSES = (0.0, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds between two tries at what others write too."""

Tell = Callable[[str], None]


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """What must hold of what an object has become by the time that it is written."""

    cluster: str
    is_loss_allowed: bool = False


def pending(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those of which somebody still owns fields who came before Git."""
    return [each for each in candidates if migrating.migrate(each.live, to=each.passing.manager) is not None]


def sentence(candidate: Candidate) -> str:
    """What is to be written, for people."""
    manager = candidate.passing.manager
    migration = migrating.migrate(candidate.live, to=manager)
    taken = migration.taken + migration.discarded if migration is not None else ()
    names = ", ".join(dict.fromkeys(each.manager for each in taken))
    return f"pass what {names} owns of {candidate.object.id} to {manager}"


def heavy(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that are the engine's alone, with fields that Git does not have and that its next apply would take away."""
    return [
        each
        for each in candidates
        if finishing.is_engines(each)
        and migrating.migrate(each.live, to=each.passing.manager) is None
        and migrating.lost(each.live, each.wanted, to=each.passing.manager)
    ]


async def migrate(
    candidates: Sequence[Candidate], client: "kube.Client", *, rules: Rules, tell: Tell = lambda text: None
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

    async def one(candidate: Candidate) -> tuple[Candidate, errors.FirstlightError | None]:
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


async def _one(candidate: Candidate, client: "kube.Client", *, rules: Rules, tell: Tell) -> None:
    now: Candidate | None = candidate
    for number in range(_TRIES):
        migration = migrating.migrate(now.live, to=now.passing.manager) if now is not None else None
        if now is None or migration is None:
            return
        for each in migration.discarded:
            tell(f"{now.object.id}: what {each.manager} applied in another version is nobody's now")
        try:
            await owner_patch.write(now, migration, client)
        except kube.NotFound:
            return
        except (kube.Conflict, kube.Ambiguous):
            if number + 1 == _TRIES:
                raise
        else:
            await finishing.shed(now, client, is_loss_allowed=rules.is_loss_allowed)
            return
        await asyncio.sleep(_PAUSES[number])
        now = await predicting.again(now, client)
        if now is not None and (found := await predicting.predicted(now, client)) is not None:
            judging.check([found], cluster=rules.cluster, is_loss_allowed=rules.is_loss_allowed)


def _together(
    failures: Sequence[tuple[Candidate, errors.FirstlightError]], tried: int
) -> errors.FirstlightError:  # fmt: skip
    """Several failures as one; a passing one is told as such, so that it is tried again."""
    first = next((error for _, error in failures if not isinstance(error, kube.Conflict | kube.Ambiguous)), None)
    if first is None or len(failures) == 1:
        return failures[0][1]
    lines = "\n".join(f"  {each.object.id}: {error}" for each, error in failures)
    message = f"{len(failures)} of {tried} objects did not change their owner:\n{lines}"
    if any(isinstance(error, errors.Refused) for _, error in failures):
        return errors.Refused(message, hint=first.hint)
    return errors.ClientError(message, hint=first.hint)
