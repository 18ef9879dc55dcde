"""A change carried through: Git's part, then one cluster after the other; what fails stops those that come later."""

import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.execute.loop import Result
from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.change_record import ChangeStanding
from firstlight.model.cluster import Cluster
from firstlight.model.verdict import Failed, Waiting
from firstlight.operate import reaching
from firstlight.operate.changing import checking, holding, incidents, paths, publishing, staging
from firstlight.operate.changing.carrying import Carrying, Stages
from firstlight.operate.changing.publishing import Unmerged
from firstlight.operate.changing.stepping import recorded
from firstlight.operate.changing.wishes import Host, Wishes
from firstlight.operate.walk import Walk


class Stopped(Exception):
    """A cluster did not come to what it must be before the merge."""

    def __init__(self, outcome: "Outcome") -> None:
        super().__init__(outcome.says)
        self.outcome = outcome


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of carrying a change through."""

    is_done: bool
    is_refused: bool = False
    is_waiting: bool = False
    """Whether it only waits for somebody to merge it."""
    says: str = ""
    hint: str = ""


async def carry(carrying: Carrying, wishes: Wishes, host: Host) -> Outcome:
    """Carry a change through from wherever it is; its record says what came of it.

    Args:
        carrying: The change; its checks before are made.
        wishes: How far, and how.
        host: Told what is done; walks clusters.

    Raises:
        errors.FirstlightError: Something in Git could not be done; the record says what.
    """
    keeper = carrying.keeper
    without = wishes.without_backup or carrying.record.without_backup
    keeper.set(standing=ChangeStanding.UNDER_WAY, failure="", ended=0.0, without_backup=without)
    try:
        await publishing.commit(carrying)
        outcome = await _through(carrying, wishes, host)
    except Stopped as error:
        outcome = error.outcome
    except Unmerged as error:
        return Outcome(is_done=False, is_waiting=True, says=error.message, hint=error.hint)
    except errors.FirstlightError as error:
        keeper.set(standing=ChangeStanding.FAILED, failure=error.message)
        incidents.write(carrying)
        raise
    if outcome.is_done:
        keeper.set(standing=ChangeStanding.DONE, ended=carrying.means.now())
    else:
        keeper.set(standing=ChangeStanding.FAILED, failure=outcome.says)
    incidents.write(carrying)
    return outcome


async def _through(carrying: Carrying, wishes: Wishes, host: Host) -> Outcome:
    way = paths.way(carrying.path)
    await _merged(carrying, 0, carrying.clusters if len(carrying.record.parts) == 1 else carrying.clusters[:1],
                  wishes, host)  # fmt: skip
    for cluster in carrying.clusters:
        numbers = [at for at, each in enumerate(carrying.record.parts) if at and each.cluster == cluster.name]
        for number in numbers:
            await _merged(carrying, number, (cluster,), wishes, host)
        outcome = await walked(carrying, cluster, released(way.stages, carrying), host)
        if not outcome.is_done:
            return outcome
        let_go(carrying, cluster)
    return Outcome(is_done=True)


async def _merged(
    carrying: Carrying, number: int, clusters: Sequence[Cluster], wishes: Wishes, host: Host
) -> None:  # fmt: skip
    """One part into the followed branch, with what must be done in clusters before."""
    way = paths.way(carrying.path)
    await staging.commit(carrying, number)
    await publishing.push(carrying, number, host)
    if carrying.record.parts[number].merged:
        return
    if number == 0 and not carrying.record.is_at_once:
        await _hold(carrying, host)
    for cluster in clusters:
        outcome = await walked(carrying, cluster, way.early, host)
        if not outcome.is_done:
            raise Stopped(outcome)
    await publishing.merge(carrying, number, wishes, host)


async def _hold(carrying: Carrying, host: Host) -> None:
    """Let what later clusters share with the first one rest there, before anybody can merge it."""
    later = staging.to_hold(carrying, 0)
    if not later:
        return
    carrying.keeper.set(held=tuple(each.name for each in later))
    for cluster in later:
        host.say(f"what it touches in {cluster.name} rests until its turn has come")
        outcome = await walked(carrying, cluster, _holding, host)
        if not outcome.is_done:
            raise Stopped(outcome)


def _holding(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    return (holding.hold(carrying, cluster),)


def released(stages: Stages, carrying: Carrying) -> Stages:
    """What a path does in a cluster, where what rests there for the change is let go.

    Not before the engine has fetched the commit: else it would go on with the one before, which may be what failed. And
    not before bootstrap's half is there, where that comes first.
    """

    def found(given: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
        every = list(stages(given, cluster, world))
        if cluster.name in carrying.record.held:
            before = next((at for at, each in enumerate(every) if ":reconcile" in each.id), 0)
            every.insert(before, holding.release(given, cluster))
        return tuple(every)

    return found


def let_go(carrying: Carrying, cluster: Cluster) -> None:
    """Note that nothing rests in a cluster any more."""
    carrying.keeper.set(held=tuple(each for each in carrying.record.held if each != cluster.name))


async def walked(carrying: Carrying, cluster: Cluster, stages: Stages, host: Host) -> Outcome:
    """What a path does in one cluster.

    Raises:
        errors.Unreachable: The API does not answer.
        errors.Refused: Another run works on this cluster.
    """
    async with reaching.reached(cluster, carrying.means) as world:
        found = recorded(stages(carrying, cluster, world), carrying.keeper, cluster=cluster.name)
        if not found:
            return Outcome(is_done=True)
        walk = Walk(
            cluster=cluster, command="change resume", again=carrying.record.id, stages=found,
            revision=checking.target(carrying),
        )  # fmt: skip
        return _outcome(await host.walk(walk, world), found, carrying, cluster)


def _outcome(result: Result, stages: Sequence[Stage], carrying: Carrying, cluster: Cluster) -> Outcome:
    if result.is_complete:
        return Outcome(is_done=True)
    wrong = [(each, result.outcomes.get(each.id)) for each in stages]
    stage, verdict = next((each, found) for each, found in wrong if isinstance(found, Failed | Waiting))
    reason = verdict.reason if verdict is not None else ""
    back = f"Take it back: firstlight change revert {carrying.record.id}"
    later = carrying.clusters[carrying.clusters.index(cluster) + 1 :] if cluster in carrying.clusters else ()
    left = f"; {', '.join(each.name for each in later)} did not get it" if later else ""
    if held := [each.name for each in later if each.name in carrying.record.held]:
        left += f", and what it touches in {', '.join(held)} rests until it is gone on with or reverted"
    return Outcome(
        is_done=False, is_refused=result.is_refused, says=f"{cluster.name}, {stage.name}: {reason}{left}",
        hint="" if carrying.is_reverting else f"{back}; or mend it, and go on: firstlight change resume",
    )  # fmt: skip
