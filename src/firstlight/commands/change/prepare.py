"""A change at its beginning: decided, its clusters in order, its clone and branch known; nothing is written so far."""

import dataclasses
from pathlib import Path

from firstlight import errors
from firstlight.commands.change import change_checks, cluster_order, followed_branch, path_choice, publish, record_store
from firstlight.commands.change.change_record import ChangePath, ChangeRecord, ChangeStanding
from firstlight.commands.change.ongoing_change import ChangeRequest, OngoingChange
from firstlight.commands.change.record_store import ChangeRecordStore
from firstlight.commands.decide import cluster_look, decide
from firstlight.commands.decide.change_source import ChangeSource, DecisionFacts, RevisionRange, WorkTreeChanges
from firstlight.commands.decide.decide import Decided
from firstlight.execute import live_cluster
from firstlight.execute.means import Means
from firstlight.journal import run_identity
from firstlight.model.decision import Decision, DecisionItem
from firstlight.repo import platform_reader

_RULES = 5
_BY_ENGINE = (ChangePath.EXPEDITED, ChangePath.HYBRID)


class Unchanged(errors.UsageError):
    """Nothing differs."""


async def decide_change(root: Path, asked: ChangeSource, means: Means) -> Decided:
    """The decision, with what is touched rendered.

    Raises:
        Unchanged: Nothing differs.
        errors.UsageError: There is no such revision.
    """
    found = await decide.decide(
        root, asked, git=means.git, open_renderer=lambda platform, known_as: means.open_renderer(platform)
    )
    if not found.decision.items:
        raise Unchanged(
            f"there is no change: {found.decision.title}",
            hint="Change files of the repo, or name commits: --diff main...BRANCH",
        )
    return found


async def begin_change(found: Decided, wishes: ChangeRequest, means: Means) -> OngoingChange:
    """A change that can be carried through, with a record that is not written yet.

    Args:
        found: The decision.
        wishes: What was typed.
        means: How the world is reached.

    Raises:
        errors.Refused: The followed branch does not have what it stands on, or shared files cannot be staged.
        errors.UsageError: A cluster that was named is none of it.
    """
    decision = found.decision
    platform = found.after.platform
    clusters = cluster_order.ordered_clusters(decision, platform, only=wishes.clusters, order=wishes.order)
    clone = await followed_branch.followed_repository(found.states.root, clusters or platform.clusters, means.git)
    await publish.check_base(found, clone)
    branch = await publish.branch_of(found, clone)
    title = wishes.title or title_of(decision, branch)
    now = means.now()
    path = path_choice.chosen(found, is_expedited=bool(wishes.emergency))
    reached = cluster_order.reached_clusters(decision)
    divided = cluster_order.divided_parts(found.states.paths, reached, clusters, branch=branch)
    record = ChangeRecord(
        id=record_store.new_id(branch.rpartition("/")[2], now=now), title=title, why=wishes.why,
        who=await _who(clone), path=path, standing=ChangeStanding.UNDER_WAY, side=str(decision.side or ""),
        risk=str(decision.risk), rules=rules(decision.items), approval=str(decision.approval),
        clusters=tuple(each.name for each in clusters), files=found.states.paths, base=found.states.base,
        branch=branch, commit=found.states.head, parts=divided, begun=now, anyway=wishes.anyway,
        emergency=wishes.emergency, is_at_once=wishes.is_at_once, repository=clone.url, followed=clone.followed,
    )  # fmt: skip
    return OngoingChange(
        decided=found, path=path, clusters=clusters, means=means, repository=clone, patience=wishes.patience,
        keeper=ChangeRecordStore(means.state, record, now=means.now),
    )  # fmt: skip


async def reopen_change(root: Path, record: ChangeRecord, means: Means, *, patience: float) -> OngoingChange:
    """A change that was begun, from its record and its commits; before it was committed, from the work tree.

    Raises:
        errors.Refused: It was not committed, and the work tree has another change by now.
        errors.UsageError: Its commits are gone.
    """
    record = await _moved(root, record, means) if record.commit else await _made(root, record, means)
    asked: ChangeSource = RevisionRange(base=record.base, head=record.commit) if record.commit else WorkTreeChanges()
    found = await decide_change(root, asked, means)
    if not record.commit and (found.states.paths != record.files or found.states.base != record.base):
        raise errors.Refused(
            f"{record.id} was not committed, and the work tree has another change by now",
            hint="Begin anew: firstlight change start",
        )
    platform = found.after.platform
    decision = found.decision
    record = dataclasses.replace(
        record, side=str(decision.side or ""), risk=str(decision.risk), rules=rules(decision.items)
    )  # fmt: skip
    clusters = tuple(each for name in record.clusters if (each := platform.cluster(name)) is not None)
    clone = await followed_branch.followed_repository(root, clusters or platform.clusters, means.git)
    return OngoingChange(
        decided=found, path=record.path, clusters=clusters, means=means, repository=clone, patience=patience,
        keeper=ChangeRecordStore(means.state, record, now=means.now),
    )  # fmt: skip


async def _made(root: Path, record: ChangeRecord, means: Means) -> ChangeRecord:
    """The record of a change that may have been committed, and killed before that was written down."""
    clone = await followed_branch.followed_repository(root, platform_reader.read(root).clusters, means.git)
    made = await publish.existing_commit(clone, record.branch, record.id)
    if not made:
        return record
    is_one = len(record.parts) == 1
    parts = (dataclasses.replace(record.parts[0], commit=made),) if is_one else record.parts
    return dataclasses.replace(record, commit=made, parts=parts)


async def _moved(root: Path, record: ChangeRecord, means: Means) -> ChangeRecord:
    """The record of a change whose branch others have gone on with before it was merged: that is decided anew."""
    part = record.parts[0]
    if len(record.parts) > 1 or part.merged or record.standing is not ChangeStanding.FAILED:
        return record
    platform = platform_reader.read(root)
    clone = await followed_branch.followed_repository(root, platform.clusters, means.git)
    there = await clone.own.fetch(root, clone.remote, part.branch)
    if not there or there == record.commit:
        return record
    tip = await clone.fetched()
    if await clone.git.is_ancestor(root, there, tip):
        return record
    base = await clone.git.merge_base(root, there, tip)
    files = await clone.git.changed_files(root, base, there, since_fork=False)
    names = dict.fromkeys(name for each in files for name in (each.path, each.old_path) if name)
    inside = tuple(each.removeprefix(clone.prefix) for each in names if each.startswith(clone.prefix))
    moved = dataclasses.replace(part, commit=there, files=inside)
    return dataclasses.replace(record, base=base, commit=there, files=inside, parts=(moved,))


def title_of(decision: Decision, branch: str) -> str:
    """What a change is called where nobody says it: what its gravest part is about."""
    item = next(iter(decision.items), None)
    if item is None:
        return branch
    name = branch.rpartition("/")[2].replace("-", " ")
    return f"{name[:1].upper()}{name[1:]}"


def rules(items: tuple[DecisionItem, ...]) -> tuple[str, ...]:
    """The rules that were decisive, the gravest first."""
    return tuple(dict.fromkeys(each.rulings[0].rule for each in items if each.rulings))[:_RULES]


async def _who(clone: followed_branch.FollowedRepository) -> str:
    """Who commits, as Git says; else who runs this."""
    try:
        return await clone.own.who(clone.root)
    except errors.ClientError:
        return run_identity.who().rpartition(":")[0]


async def check_before(carrying: OngoingChange, wishes: ChangeRequest) -> None:
    """Make the checks before the change at the first cluster; in an emergency see first that the engine works.

    Raises:
        errors.Refused: One fails, and nobody said to go on anyway; or it is an emergency of another kind.
    """
    client, unreached, cluster = None, "the change reaches no cluster", ""
    if not carrying.clusters:
        await _judged(carrying, wishes, cluster="", client=None, unreached=unreached)
        return
    first = carrying.clusters[0]
    async with live_cluster.reached(first, carrying.means, is_api_needed=False) as world:
        if world.is_connected:
            client, unreached = world.kube, ""
        else:
            unreached = f"the API of {first.name} does not answer"
        cluster = first.name
        if carrying.record.emergency:
            seen = await cluster_look.look_at_cluster(world.kube, first) if world.is_connected else None
            facts = DecisionFacts(
                operational=seen.is_reached if seen is not None else False,
                engine_works=seen.engine_works if seen is not None else None,
                says=seen.says if seen is not None else unreached,
            )
            check_expedited(first.name, facts, is_engine_needed=carrying.path in _BY_ENGINE)
        await _judged(carrying, wishes, cluster=cluster, client=client, unreached=unreached)


def check_expedited(cluster: str, seen: DecisionFacts, *, is_engine_needed: bool) -> None:
    """See that the emergency path is open: the cluster answers, and its engine works where that has a part in it.

    Args:
        cluster: Its name.
        seen: What was looked up.
        is_engine_needed: Whether the engine brings something of the change.

    Raises:
        errors.Refused: It is another path's emergency.
    """
    if not seen.operational:
        raise errors.Refused(
            f"{cluster} does not answer, so that nobody can bring it the change: {seen.says}",
            hint=f"Bring it back first; what is wrong: firstlight doctor {cluster}",
        )
    if is_engine_needed and seen.engine_works is False:
        raise errors.Refused(
            f"the engine of {cluster} does not work, so that it cannot bring the change: {seen.says}",
            hint="Apply it past the engine, as an override that is found again: firstlight override begin --help",
        )


async def _judged(carrying: OngoingChange, wishes: ChangeRequest, **seen: object) -> None:
    made = await change_checks.before(carrying, **seen)  # type: ignore[arg-type]
    wrong = change_checks.failing(made)
    if wrong and not wishes.anyway:
        carrying.keeper.set(
            standing=ChangeStanding.FAILED, failure="checks before it failed", ended=carrying.means.now()
        )  # fmt: skip
        said = "\n".join(f"  {each.title}: {each.says}" for each in wrong)
        raise errors.Refused(
            f"checks before the change fail, and nothing was committed\n{said}",
            hint='Mend it, or say why it is carried through all the same: firstlight change start --anyway "REASON"',
        )
    if wrong:
        carrying.keeper.set(anyway=wishes.anyway)
