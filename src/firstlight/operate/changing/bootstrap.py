"""The path of a change that only bootstrap can bring: machine configs, components that it keeps, foundation secrets.

It is looked at before the merge and applied after it: what was merged was approved, and the engine gets nothing of it.
The way back is the revision before, applied in the same way.
"""

from firstlight import errors
from firstlight.execute.change import Change
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.model.verdict import Passed, Verdict, lets_on
from firstlight.operate import selecting
from firstlight.operate.changing import (
    bootstrap_backup,
    bootstrap_components,
    bootstrap_machines,
    bootstrap_verify,
    checking,
)
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.changing.bootstrap_scope import Scope, not_walked, of
from firstlight.operate.changing.carrying import Carrying, Way
from firstlight.operate.node import choosing


def early(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """What can be seen before the merge, and is cheaper to mend there."""
    return (fit(carrying, cluster, scope_of(carrying, cluster), Preparing(carrying, cluster)),)


def stages(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """All that is written, and the checks after it."""
    scope, preparing = scope_of(carrying, cluster), Preparing(carrying, cluster)
    applied = brought(carrying, cluster, scope, preparing=preparing, world=world)
    return (*applied, checking.stage(carrying, cluster))


WAY = Way(stages=stages, early=early)


def scope_of(carrying: Carrying, cluster: Cluster) -> Scope:
    """Bootstrap's half of a change in a cluster."""
    return of(carrying.decided.decision, cluster.name, carrying.after)


def brought(
    carrying: Carrying, cluster: Cluster, scope: Scope, *, preparing: Preparing, world: World
) -> tuple[Stage, ...]:
    """The stages of bootstrap's half: kept, machines one after the other, components, verified.

    Args:
        carrying: The change.
        cluster: Its cluster.
        scope: What of it is bootstrap's.
        preparing: Prepares the cluster's bootstrap.
        world: Holds the files as long as it is open.

    Raises:
        errors.Refused: The files say something of machines that cannot be used.
    """
    found = [] if scope.is_empty else [bootstrap_backup.stage(carrying, cluster, with_configs=scope.has_machines)]
    if scope.has_machines:
        found += bootstrap_machines.stages(cluster, preparing, world)
    found += [bootstrap_components.stage(each, preparing, cluster=cluster.name) for each in _names(scope)]
    found += [_by_hand(cluster, scope)] if scope.gone else []
    more = bootstrap_verify.gates(preparing, scope.components) if scope.components else None
    return (*found, bootstrap_verify.stage(cluster, patience=carrying.patience, more=more))


def fit(carrying: Carrying, cluster: Cluster, scope: Scope, preparing: Preparing) -> Stage:
    """Before anything is written: that it is a walk at all, that it renders, and that the cluster is well."""

    async def look(world: World) -> Change | None:
        refuse_elsewhere(carrying)
        if scope.has_machines:
            choosing.refuse_omni(cluster)
        if not scope.is_empty:
            await bootstrap_backup.require(carrying, cluster, world)
        selecting.only((await preparing.get(world)).work.plan, _names(scope))
        return None

    well = bootstrap_verify.stage(cluster, patience=0.0)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        verdict, hint = await well.wait(world, on_verdict)
        if not lets_on(verdict) and carrying.record.anyway:
            return Passed(f"not well, and carried through all the same: {verdict.reason}"), ""
        return verdict, hint

    return Stage(
        id=f"{cluster.name}:fit", name=f"{cluster.name} is well before it", what="renders, nodes, agents, operators",
        phase=Phase.MACHINE, look=look, wait=wait,
    )  # fmt: skip


def _names(scope: Scope) -> tuple[str, ...]:
    """What ``--only`` takes."""
    return (*([selecting.SECRETS] if scope.has_secrets else []), *scope.components)


def _by_hand(cluster: Cluster, scope: Scope) -> Stage:
    """What is left for a person, for the journal and the record."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        names = ", ".join(scope.gone)
        verdict = Passed(f"bootstrap removes nothing: what {names} brought is deleted by hand, once nothing needs it")
        on_verdict(verdict)
        return verdict, ""

    return Stage(id=f"{cluster.name}:by-hand", name="what is left to do", what=", ".join(scope.gone), wait=wait)


def refuse_elsewhere(carrying: Carrying) -> None:
    """See that no part of a change is done by another command.

    Raises:
        errors.Refused: One is.
    """
    if elsewhere := not_walked(carrying.decided.decision.items):
        raise errors.Refused(
            f"this is not done by a walk of changes alone: {'; '.join(elsewhere)}",
            hint="Take it out of this change, and do it by its own steps: firstlight decide shows them.",
        )
