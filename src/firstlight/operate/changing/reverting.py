"""A change taken back: exactly what it brought, out of the followed branch as it is by now, and out of clusters."""

import dataclasses

from firstlight import errors
from firstlight.clients import git as gits
from firstlight.clients.git.own import Conflict
from firstlight.model.change_record import ChangePart, ChangeStanding
from firstlight.model.decision import Approval
from firstlight.operate.changing import incidents, merging, paths, publishing
from firstlight.operate.changing.carrying import Carrying, none
from firstlight.operate.changing.publishing import Unmerged, clone_of
from firstlight.operate.changing.running import Outcome, let_go, released, walked
from firstlight.operate.changing.stepping import step
from firstlight.operate.changing.wishes import Host, Wishes
from firstlight.report import change_message

_FEW = 3


async def revert(carrying: Carrying, wishes: Wishes, host: Host) -> Outcome:
    """Take a change back from wherever it is, and see that clusters are as before.

    Args:
        carrying: The change.
        wishes: Why, and whether it is an emergency.
        host: Told what is done; walks clusters.

    Raises:
        errors.FirstlightError: It cannot be taken back by a program; the record says what.
    """
    keeper = carrying.keeper
    keeper.set(standing=ChangeStanding.REVERTING, ended=0.0)
    back = dataclasses.replace(carrying, is_reverting=True)
    try:
        begun = {each.cluster for each in carrying.record.steps if each.cluster}
        way = paths.way(carrying.path)
        for cluster in carrying.clusters if way.early_back is not none else ():
            if cluster.name in begun and not (outcome := await walked(back, cluster, way.early_back, host)).is_done:
                keeper.set(failure=outcome.says)
                return outcome
        for number in reversed(range(len(carrying.record.parts))):
            await _taken_back(back, number, wishes, host)
        for cluster in carrying.clusters:
            if cluster.name in begun or any(each.reverted for each in carrying.record.parts):
                outcome = await walked(back, cluster, released(way.stages, back), host)
                if not outcome.is_done:
                    keeper.set(failure=outcome.says)
                    return outcome
                let_go(carrying, cluster)
    except Unmerged as error:
        return Outcome(is_done=False, is_waiting=True, says=error.message, hint=error.hint)
    except errors.FirstlightError as error:
        keeper.set(failure=error.message)
        raise
    keeper.set(standing=ChangeStanding.REVERTED, ended=carrying.means.now())
    incidents.write(carrying)
    return Outcome(is_done=True)


async def _taken_back(carrying: Carrying, number: int, wishes: Wishes, host: Host) -> None:
    """One part out of the followed branch."""
    clone, part = clone_of(carrying), carrying.record.parts[number]
    if part.reverted or not part.commit:
        return
    if not part.merged:
        tip = await clone.fetched()
        found = await merging.landed(clone, base=publishing.base_of(carrying, part), commit=part.commit, tip=tip)
        if not found:
            host.say(f"{clone.followed} never had {part.branch}; remove it: git push {clone.remote} --delete "
                     f"{part.branch}")  # fmt: skip
            return
        publishing.put(carrying, number, merged=found)
        part = carrying.record.parts[number]
    mark = f":{part.cluster}" if part.cluster else ""
    title = f"take it out of {clone.followed}"
    async with step(carrying.keeper, f"git:revert{mark}", title=title, cluster=part.cluster) as told:
        is_direct = bool(wishes.emergency) or carrying.decided.decision.approval is Approval.SELF
        found = await (_directly if is_direct else _by_branch)(carrying, number, wishes, host)
        if not found:
            told.verdict, told.says = "waiting", f"{clone.tracked} still has it"
            branch = carrying.record.parts[number].reverting_branch
            raise Unmerged(
                f"{branch} takes it back and is pushed, and {clone.followed} does not have it so far",
                hint=f"Have it merged, then: firstlight change resume {carrying.record.id}",
            )
        told.says = f"{clone.followed} is without it at {found[:12]}"
        publishing.put(carrying, number, reverted=found)
    host.say(f"{clone.followed} is without it at {found[:12]}")


async def _directly(carrying: Carrying, number: int, wishes: Wishes, host: Host) -> str:
    """Take it back on the followed branch itself, anew where that moves meanwhile."""
    clone = clone_of(carrying)
    for attempt in range(1, merging.TRIES + 1):
        tip = await clone.fetched()
        made = await _made(carrying, carrying.record.parts[number], wishes, tip=tip)
        if not made:
            return tip
        try:
            await clone.own.push(clone.root, clone.remote, clone.followed, commit=made)
        except gits.Rejected as error:
            if not error.is_behind or attempt == merging.TRIES:
                raise
            host.say(f"{clone.followed} has moved meanwhile: taken back anew")
            continue
        await clone.fetched()
        return made
    raise AssertionError("unreachable")


async def _by_branch(carrying: Carrying, number: int, wishes: Wishes, host: Host) -> str:
    """Take it back on a branch of its own, which others review and merge."""
    clone, part = clone_of(carrying), carrying.record.parts[number]
    if not part.reverting:
        tip = await clone.fetched()
        made = await _made(carrying, part, wishes, tip=tip)
        if not made:
            return tip
        publishing.put(carrying, number, reverting=made, reverting_branch=f"revert-{part.branch.replace('/', '-')}")
        part = carrying.record.parts[number]
    base, branch = f"{part.reverting}^", part.reverting_branch
    tip = await clone.fetched()
    found = await merging.landed(clone, base=base, commit=part.reverting, tip=tip)
    if found:
        return found
    if await clone.own.fetch(clone.root, clone.remote, branch) != part.reverting:
        await clone.own.push(clone.root, clone.remote, branch, commit=part.reverting)
        host.say(f"pushed {branch} to {clone.remote}")
    if not wishes.is_waiting:
        return ""
    for line in publishing.how(clone, dataclasses.replace(part, branch=branch)):
        host.say(line)
    return await merging.wait(clone, base=base, commit=part.reverting, branch=branch, say=host.say)


async def _made(carrying: Carrying, part: ChangePart, wishes: Wishes, *, tip: str) -> str:
    """The commit that takes a part back, on a tip of the followed branch; empty where that is without it."""
    clone, record = clone_of(carrying), carrying.record
    message = change_message.revert(record, why=wishes.why or record.failure, part=part.cluster)
    async with clone.own.beside(clone.root, tip) as tree:
        try:
            return await clone.own.undo(tree, message, base=publishing.base_of(carrying, part), commit=part.commit)
        except Conflict as error:
            more = " …" if len(error.files) > _FEW else ""
            raise errors.Refused(
                f"it cannot be taken back by a program: {', '.join(error.files[:_FEW])}{more} has changed since",
                hint=f"Take it back by hand: git diff {part.commit[:12]} {publishing.base_of(carrying, part)[:13]}",
            ) from error
