"""A change taken back: exactly what it brought, out of the followed branch as it is by now, and out of clusters."""

import dataclasses

from firstlight import errors
from firstlight.clients import git
from firstlight.clients.git.user_git import MergeConflict
from firstlight.commands.change import change, followed_branch, path_choice, publish
from firstlight.commands.change.change import ChangeOutcome, note_released, walk_cluster, with_release
from firstlight.commands.change.change_record import ChangePart, ChangeStanding
from firstlight.commands.change.ongoing_change import ChangeHost, ChangeRequest, OngoingChange, no_stages
from firstlight.commands.change.publish import Unmerged, clone_of
from firstlight.commands.change.record_store import recorded_step
from firstlight.model.decision import Approval

_FEW = 3


async def revert(carrying: OngoingChange, wishes: ChangeRequest, host: ChangeHost) -> ChangeOutcome:
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
        way = path_choice.way(carrying.path)
        for cluster in carrying.clusters if way.early_back is not no_stages else ():
            if (
                cluster.name in begun
                and not (outcome := await walk_cluster(back, cluster, way.early_back, host)).is_done
            ):
                keeper.set(failure=outcome.says)
                return outcome
        for number in reversed(range(len(carrying.record.parts))):
            await _taken_back(back, number, wishes, host)
        for cluster in carrying.clusters:
            if cluster.name in begun or any(each.reverted for each in carrying.record.parts):
                outcome = await walk_cluster(back, cluster, with_release(way.stages, back), host)
                if not outcome.is_done:
                    keeper.set(failure=outcome.says)
                    return outcome
                note_released(carrying, cluster)
    except Unmerged as error:
        return ChangeOutcome(is_done=False, is_waiting=True, says=error.message, hint=error.hint)
    except errors.FirstlightError as error:
        keeper.set(failure=error.message)
        raise
    keeper.set(standing=ChangeStanding.REVERTED, ended=carrying.means.now())
    change.write_incident(carrying)
    return ChangeOutcome(is_done=True)


async def _taken_back(carrying: OngoingChange, number: int, wishes: ChangeRequest, host: ChangeHost) -> None:
    """One part out of the followed branch."""
    clone, part = clone_of(carrying), carrying.record.parts[number]
    if part.reverted or not part.commit:
        return
    if not part.merged:
        tip = await clone.fetched()
        found = await followed_branch.landed_commit(
            clone, base=publish.base_of(carrying, part), commit=part.commit, tip=tip
        )
        if not found:
            host.say(f"{clone.followed} never had {part.branch}; remove it: git push {clone.remote} --delete "
                     f"{part.branch}")  # fmt: skip
            return
        publish.put(carrying, number, merged=found)
        part = carrying.record.parts[number]
    mark = f":{part.cluster}" if part.cluster else ""
    title = f"take it out of {clone.followed}"
    async with recorded_step(carrying.keeper, f"git:revert{mark}", title=title, cluster=part.cluster) as told:
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
        publish.put(carrying, number, reverted=found)
    host.say(f"{clone.followed} is without it at {found[:12]}")


async def _directly(carrying: OngoingChange, number: int, wishes: ChangeRequest, host: ChangeHost) -> str:
    """Take it back on the followed branch itself, anew where that moves meanwhile."""
    clone = clone_of(carrying)
    for attempt in range(1, followed_branch.TRIES + 1):
        tip = await clone.fetched()
        made = await _made(carrying, carrying.record.parts[number], wishes, tip=tip)
        if not made:
            return tip
        try:
            await clone.own.push(clone.root, clone.remote, clone.followed, commit=made)
        except git.GitRejected as error:
            if not error.is_behind or attempt == followed_branch.TRIES:
                raise
            host.say(f"{clone.followed} has moved meanwhile: taken back anew")
            continue
        await clone.fetched()
        return made
    raise AssertionError("unreachable")


async def _by_branch(carrying: OngoingChange, number: int, wishes: ChangeRequest, host: ChangeHost) -> str:
    """Take it back on a branch of its own, which others review and merge."""
    clone, part = clone_of(carrying), carrying.record.parts[number]
    if not part.reverting:
        tip = await clone.fetched()
        made = await _made(carrying, part, wishes, tip=tip)
        if not made:
            return tip
        publish.put(carrying, number, reverting=made, reverting_branch=f"revert-{part.branch.replace('/', '-')}")
        part = carrying.record.parts[number]
    base, branch = f"{part.reverting}^", part.reverting_branch
    tip = await clone.fetched()
    found = await followed_branch.landed_commit(clone, base=base, commit=part.reverting, tip=tip)
    if found:
        return found
    if await clone.own.fetch(clone.root, clone.remote, branch) != part.reverting:
        await clone.own.push(clone.root, clone.remote, branch, commit=part.reverting)
        host.say(f"pushed {branch} to {clone.remote}")
    if not wishes.is_waiting:
        return ""
    for line in publish.how(clone, dataclasses.replace(part, branch=branch)):
        host.say(line)
    return await followed_branch.wait_merged(clone, base=base, commit=part.reverting, branch=branch, say=host.say)


async def _made(carrying: OngoingChange, part: ChangePart, wishes: ChangeRequest, *, tip: str) -> str:
    """The commit that takes a part back, on a tip of the followed branch; empty where that is without it."""
    clone, record = clone_of(carrying), carrying.record
    message = publish.revert_message(record, why=wishes.why or record.failure, part=part.cluster)
    async with clone.own.beside(clone.root, tip) as tree:
        try:
            return await clone.own.undo(tree, message, base=publish.base_of(carrying, part), commit=part.commit)
        except MergeConflict as error:
            more = " …" if len(error.files) > _FEW else ""
            raise errors.Refused(
                f"it cannot be taken back by a program: {', '.join(error.files[:_FEW])}{more} has changed since",
                hint=f"Take it back by hand: git diff {part.commit[:12]} {publish.base_of(carrying, part)[:13]}",
            ) from error
