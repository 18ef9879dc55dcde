"""Which path a change takes, and which half of a hybrid change comes first.

What the engine applies may need what bootstrap brings, so that bootstrap mostly comes first. What goes, goes the other
way round: nothing may stand on it any more. And what Git owns since the handover belongs to the engine alone.
"""

import dataclasses
from collections.abc import Sequence
from typing import assert_never

from firstlight import errors
from firstlight.commands.change import change_checks, gitops_path, publish
from firstlight.commands.change.bootstrap import bootstrap_path
from firstlight.commands.change.bootstrap.bootstrap_path import BootstrapScope, is_bootstrap
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.change_record import ChangePath
from firstlight.commands.change.cni import cni_path
from firstlight.commands.change.moves import move_path
from firstlight.commands.change.ongoing_change import OngoingChange, PathStages
from firstlight.commands.decide.decide import Decided
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.change import ChangedField, ChangeVerb, Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Side
from firstlight.model.decision import Decision, DecisionItem
from firstlight.model.verdict import Passed, Verdict

_FEW = 3


@dataclasses.dataclass(frozen=True, slots=True)
class HybridOrder:
    """Which half comes first."""

    first: Side
    """BOOTSTRAP or GITOPS."""
    why: str


def hybrid_order(decision: Decision, scope: BootstrapScope) -> HybridOrder:
    """The order.

    Args:
        decision: What was decided.
        scope: Bootstrap's half of it.

    Raises:
        errors.Refused: Each half stands on the other: it has to be two changes.
    """
    if scope.is_empty:
        names = ", ".join(scope.followed) or "it"
        return HybridOrder(Side.GITOPS, f"Git owns {names} since the handover: bootstrap only reads it, and follows")
    ours = [each for each in decision.items if _is_written(each, scope)]
    theirs = [each for each in decision.items if each not in ours and each.side in (Side.GITOPS, Side.HYBRID)]
    going = [each for each in ours if is_taken(each) and _is_stood_on(each, theirs)]
    coming = [each for each in ours if not is_taken(each)]
    if not going:
        return HybridOrder(Side.BOOTSTRAP, f"what the engine applies after the merge may need {_named(coming or ours)}")
    if coming and not all(is_taken(each) for each in theirs):
        if any(is_taken(each) for each in theirs):
            raise errors.Refused(
                f"{_named(going)} goes and {_named(coming)} comes in bootstrap's half, and so it is in Git's: "
                "neither half can come first",
                hint="Make two changes of it: first what comes, then what goes.",
            )
        return HybridOrder(Side.BOOTSTRAP, f"what the engine applies after the merge may need {_named(coming)}")
    return HybridOrder(Side.GITOPS, f"{_named(going)} goes: what Git has on top of it goes or changes before it")


def is_taken(item: DecisionItem) -> bool:
    """Whether an item takes something away, or switches it off."""
    change = item.change
    if change.verb is ChangeVerb.REMOVED:
        return True
    return change.verb is ChangeVerb.CHANGED and bool(change.fields) and all(map(_is_off, change.fields))


def _is_off(field: ChangedField) -> bool:
    return field.verb is ChangeVerb.REMOVED or (field.before is True and field.after is False)


def _is_written(item: DecisionItem, scope: BootstrapScope) -> bool:
    """Whether bootstrap writes something of an item; what Git owns it only reads."""
    if not is_bootstrap(item):
        return False
    names = {each.component for each in item.touched}
    return item.side is Side.BOOTSTRAP or item.change.matter is Matter.MACHINE or bool(names & set(scope.components))


def _is_stood_on(item: DecisionItem, others: Sequence[DecisionItem]) -> bool:
    """Whether something of the other half needs what an item is about; everything needs the machines."""
    if item.change.matter is Matter.MACHINE or not item.touched:
        return True
    names = {each.component for each in item.touched}
    needing = {name for each in item.touched for name in (*each.dependents, *each.brings)}
    return any(each.component in names | needing for other in others for each in other.touched)


def _named(items: Sequence[DecisionItem]) -> str:
    found = dict.fromkeys(each.change.title for each in items)
    more = len(found) - _FEW
    return ", ".join([*found][:_FEW]) + (f" and {more} more" if more > 0 else "")


# The approval of a change whose bootstrap half comes before the merge: nothing is written without it.
#
# Whoever approves in a forge alone leaves nothing in Git that says so before the merge: then a person is asked.


def approval_stage(carrying: OngoingChange, cluster: Cluster) -> WalkStage:
    """A stage that writes nothing, and asks where Git does not tell that the change is approved."""

    async def look(world: World) -> PendingChange | None:
        found = await publish.approved(carrying, _part(carrying, cluster))
        if found.is_given or carrying.record.emergency:
            return None

        async def perform() -> None:
            confirmed = f"{found.needed}: Git does not say so; {carrying.record.who} has said that it is given"
            carrying.keeper.set(approval=confirmed)

        asked = (
            f"it needs the approval of {found.needed} before {cluster.name} is changed, and Git has none: {found.says}"
        )
        return PendingChange(writes=("go on with an approval that Git does not have",), perform=perform, danger=asked)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        verdict = Passed(carrying.record.approval)
        on_verdict(verdict)
        return verdict, ""

    return WalkStage(
        id=f"{cluster.name}:approval", name="approved", what="before anything is written", look=look, wait=wait
    )


def _part(carrying: OngoingChange, cluster: Cluster) -> int:
    """The part of the change that is for a cluster."""
    numbers = [at for at, each in enumerate(carrying.record.parts) if each.cluster == cluster.name]
    return numbers[0] if numbers else 0


# The path of a change with two halves: bootstrap's by its stages, Git's by the engine, in the order that they need.


def early(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """What is looked at before the merge; and bootstrap's half, where it comes first and is approved.

    A cluster whose turn has not come is only looked at: it gets neither half before.
    """
    scope, preparing = bootstrap_path.scope_of(carrying, cluster), PreparedBootstrap(carrying, cluster)
    order = hybrid_order(carrying.decided.decision, scope)
    found = [_told(order, cluster)]
    if scope.followed:
        found.append(change_checks.boundary_stage(cluster, scope.followed, preparing))
    if not scope.is_empty:
        found.append(bootstrap_path.fit_stage(carrying, cluster, scope, preparing))
    if not scope.is_empty and order.first is Side.BOOTSTRAP and cluster.name not in carrying.record.held:
        found.append(approval_stage(carrying, cluster))
        found += bootstrap_path.bring_stages(carrying, cluster, scope, preparing=preparing, world=world)
    return tuple(found)


def stages(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """Git's half, and bootstrap's where it comes last, or only now; taken back, what came first goes last."""
    scope = bootstrap_path.scope_of(carrying, cluster)
    # What was never merged the engine never had: then only bootstrap's half is taken back.
    by_git = gitops_path.engine_stages(carrying, cluster) if change_checks.target(carrying) else ()
    checks = change_checks.stage(carrying, cluster)
    if scope.is_empty:
        return (*by_git, checks)
    order = hybrid_order(carrying.decided.decision, scope)
    is_held = cluster.name in carrying.record.held
    if order.first is Side.BOOTSTRAP and not carrying.is_reverting and not is_held:
        return (*by_git, checks)
    preparing = PreparedBootstrap(carrying, cluster)
    by_bootstrap = bootstrap_path.bring_stages(carrying, cluster, scope, preparing=preparing, world=world)
    if not carrying.is_reverting and order.first is Side.BOOTSTRAP:
        return (*by_bootstrap, *by_git, checks)
    if not carrying.is_reverting:
        return (*by_git, *by_bootstrap, checks)
    if order.first is Side.GITOPS:
        back = HybridOrder(Side.BOOTSTRAP, "what went last comes back first")
        return (_told(back, cluster), *by_bootstrap, *by_git, checks)
    return (_told(HybridOrder(Side.GITOPS, "what came first goes last"), cluster), *by_git, *by_bootstrap, checks)


HYBRID_PATH = PathStages(stages=stages, early=early)


def _told(order: HybridOrder, cluster: Cluster) -> WalkStage:
    """The order and why it is so, for the journal and the record."""
    which = "bootstrap's half" if order.first is Side.BOOTSTRAP else "Git's half"

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        verdict = Passed(f"{which} comes first: {order.why}")
        on_verdict(verdict)
        return verdict, ""

    return WalkStage(id=f"{cluster.name}:order", name="which half comes first", what=order.why, wait=wait)


def chosen(decided: Decided, *, is_expedited: bool) -> ChangePath:
    """The path of a change: that of its side, but an emergency, the network's upgrade and a move have their own."""
    if cni_path.is_one(decided):
        return ChangePath.CNI
    if move_path.is_move(decided.before.platform, decided.after.platform):
        return ChangePath.MOVE
    match decided.decision.side:
        case Side.BOOTSTRAP:
            return ChangePath.BOOTSTRAP
        case Side.HYBRID:
            return ChangePath.HYBRID
        case _:
            return ChangePath.EXPEDITED if is_expedited else ChangePath.GITOPS


def way(path: ChangePath) -> PathStages:
    """What a path does; an emergency's is the usual one of Git, once it is merged."""
    match path:
        case ChangePath.BOOTSTRAP:
            return bootstrap_path.BOOTSTRAP_PATH
        case ChangePath.HYBRID:
            return HYBRID_PATH
        case ChangePath.CNI:
            return cni_path.CNI_PATH
        case ChangePath.MOVE:
            return move_path.WAY
        case ChangePath.GITOPS | ChangePath.EXPEDITED:
            return gitops_path.GITOPS_PATH
        case _:
            assert_never(path)
