"""The path of a change with two halves: bootstrap's by its stages, Git's by the engine, in the order that they need."""

from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Side
from firstlight.model.verdict import Passed, Verdict
from firstlight.operate.changing import bootstrap, checking, gitops, hybrid_approval, hybrid_boundary, hybrid_order
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.changing.carrying import Carrying, Way
from firstlight.operate.changing.hybrid_order import Order


def early(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """What is looked at before the merge; and bootstrap's half, where it comes first and is approved.

    A cluster whose turn has not come is only looked at: it gets neither half before.
    """
    scope, preparing = bootstrap.scope_of(carrying, cluster), Preparing(carrying, cluster)
    order = hybrid_order.of(carrying.decided.decision, scope)
    found = [_told(order, cluster)]
    if scope.followed:
        found.append(hybrid_boundary.stage(cluster, scope.followed, preparing))
    if not scope.is_empty:
        found.append(bootstrap.fit(carrying, cluster, scope, preparing))
    if not scope.is_empty and order.first is Side.BOOTSTRAP and cluster.name not in carrying.record.held:
        found.append(hybrid_approval.stage(carrying, cluster))
        found += bootstrap.brought(carrying, cluster, scope, preparing=preparing, world=world)
    return tuple(found)


def stages(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """Git's half, and bootstrap's where it comes last, or only now; taken back, what came first goes last."""
    scope = bootstrap.scope_of(carrying, cluster)
    # What was never merged the engine never had: then only bootstrap's half is taken back.
    by_git = gitops.engine_stages(carrying, cluster) if checking.target(carrying) else ()
    checks = checking.stage(carrying, cluster)
    if scope.is_empty:
        return (*by_git, checks)
    order = hybrid_order.of(carrying.decided.decision, scope)
    is_held = cluster.name in carrying.record.held
    if order.first is Side.BOOTSTRAP and not carrying.is_reverting and not is_held:
        return (*by_git, checks)
    preparing = Preparing(carrying, cluster)
    by_bootstrap = bootstrap.brought(carrying, cluster, scope, preparing=preparing, world=world)
    if not carrying.is_reverting and order.first is Side.BOOTSTRAP:
        return (*by_bootstrap, *by_git, checks)
    if not carrying.is_reverting:
        return (*by_git, *by_bootstrap, checks)
    if order.first is Side.GITOPS:
        back = Order(Side.BOOTSTRAP, "what went last comes back first")
        return (_told(back, cluster), *by_bootstrap, *by_git, checks)
    return (_told(Order(Side.GITOPS, "what came first goes last"), cluster), *by_git, *by_bootstrap, checks)


WAY = Way(stages=stages, early=early)


def _told(order: Order, cluster: Cluster) -> Stage:
    """The order and why it is so, for the journal and the record."""
    which = "bootstrap's half" if order.first is Side.BOOTSTRAP else "Git's half"

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        verdict = Passed(f"{which} comes first: {order.why}")
        on_verdict(verdict)
        return verdict, ""

    return Stage(id=f"{cluster.name}:order", name="which half comes first", what=order.why, wait=wait)
