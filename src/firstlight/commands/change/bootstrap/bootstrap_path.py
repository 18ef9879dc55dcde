"""The path of a change that only bootstrap can bring: machine configs, components that it keeps, foundation secrets.

It is looked at before the merge and applied after it: what was merged was approved, and the engine gets nothing of it.
The way back is the revision before, applied in the same way.
"""

import dataclasses
from collections.abc import Iterable, Iterator

from firstlight import errors
from firstlight.commands.change import change_checks
from firstlight.commands.change.bootstrap import bootstrap_stages
from firstlight.commands.change.bootstrap.prepared_bootstrap import PreparedBootstrap
from firstlight.commands.change.ongoing_change import OngoingChange, PathStages
from firstlight.commands.node import machine_lookup
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.model.change import Matter
from firstlight.model.cluster import Cluster
from firstlight.model.component import Owner, Phase, Side
from firstlight.model.decision import Decision, DecisionItem
from firstlight.model.platform import Platform
from firstlight.model.verdict import Passed, Verdict, lets_on
from firstlight.plan import selection

# What of a change bootstrap has to do in one cluster: machines, components that it keeps, secrets of the foundation.
#
# Pure: the decision and the platform in, the scope out.


ELSEWHERE = {
    "talos-upgrade": "machines get another Talos by: firstlight node upgrade",
    "kubernetes-upgrade": "Kubernetes gets another version by: firstlight node upgrade",
    "operator-upgrade": "a controller upgrades the machines once it is merged: see firstlight decide",
    "node-add": "a machine joins by: firstlight node add",
    "node-remove": "a machine leaves by: firstlight node remove",
    "authorities": "keys are rotated by talosctl rotate-ca: see firstlight decide",
    "cluster-new": "a cluster is made by: firstlight up",
    "cluster-rebuild": "a cluster is rebuilt step by step: see firstlight decide",
    "to-gitops": "a component changes hands by: firstlight handover",
}
"""Procedures that are no walk of a change, each with what does them."""
_SECRETS = "foundation-secrets"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class BootstrapScope:
    """Bootstrap's half of a change in one cluster."""

    has_machines: bool = False
    """Whether machine configs differ; which machines they are for, a dry run tells."""
    components: tuple[str, ...] = ()
    """Those that bootstrap keeps for ever, in the order of the platform."""
    has_secrets: bool = False
    followed: tuple[str, ...] = ()
    """Components that Git owns and bootstrap began with: its half has to say the same as Git's."""
    gone: tuple[str, ...] = ()
    """Components that bootstrap does not have any more: what they brought is taken away by hand."""

    @property
    def is_empty(self) -> bool:
        """Whether bootstrap has nothing to write."""
        return not (self.has_machines or self.components or self.has_secrets)


def bootstrap_scope(decision: Decision, cluster: str, platform: Platform) -> BootstrapScope:
    """Bootstrap's half.

    Args:
        decision: What was decided.
        cluster: The name of the cluster.
        platform: As it is to be.
    """
    mine = [each for each in decision.items if is_bootstrap(each) and _reaches(each, cluster)]
    known = {each.name: each for each in platform.components_of(cluster)}
    touched = dict.fromkeys(one.component for each in mine for one in each.touched if one.cluster == cluster)
    kept = [name for name, each in known.items() if name in touched and each.owner is Owner.BOOTSTRAP]
    followed = [name for name, each in known.items() if name in touched and each.owner is Owner.GITOPS]
    return BootstrapScope(
        has_machines=any(each.change.matter is Matter.MACHINE for each in mine),
        components=tuple(kept),
        has_secrets=any(_SECRETS in _procedures(each) for each in mine),
        followed=tuple(each for each in followed if known[each].halves[0]),
        gone=tuple(each for each in touched if each not in known),
    )


def is_bootstrap(item: DecisionItem) -> bool:
    """Whether bootstrap has a part in an item."""
    return item.side in (Side.BOOTSTRAP, Side.HYBRID)


def not_walked(items: Iterable[DecisionItem]) -> tuple[str, ...]:
    """What of a change is done by another command, in words; empty where all of it is walked."""
    return tuple(dict.fromkeys(ELSEWHERE[name] for each in items for name in _procedures(each) if name in ELSEWHERE))


def _reaches(item: DecisionItem, cluster: str) -> bool:
    return not item.clusters or cluster in item.clusters


def _procedures(item: DecisionItem) -> Iterator[str]:
    return (each.procedure for each in item.rulings)


def early(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """What can be seen before the merge, and is cheaper to mend there."""
    return (fit_stage(carrying, cluster, scope_of(carrying, cluster), PreparedBootstrap(carrying, cluster)),)


def stages(carrying: OngoingChange, cluster: Cluster, world: World) -> tuple[WalkStage, ...]:
    """All that is written, and the checks after it."""
    scope, preparing = scope_of(carrying, cluster), PreparedBootstrap(carrying, cluster)
    applied = bring_stages(carrying, cluster, scope, preparing=preparing, world=world)
    return (*applied, change_checks.stage(carrying, cluster))


BOOTSTRAP_PATH = PathStages(stages=stages, early=early)


def scope_of(carrying: OngoingChange, cluster: Cluster) -> BootstrapScope:
    """Bootstrap's half of a change in a cluster."""
    return bootstrap_scope(carrying.decided.decision, cluster.name, carrying.after)


def bring_stages(
    carrying: OngoingChange, cluster: Cluster, scope: BootstrapScope, *, preparing: PreparedBootstrap, world: World
) -> tuple[WalkStage, ...]:
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
    found = [] if scope.is_empty else [bootstrap_stages.stage(carrying, cluster, with_configs=scope.has_machines)]
    if scope.has_machines:
        found += bootstrap_stages.machine_stages(cluster, preparing, world)
    found += [bootstrap_stages.component_stage(each, preparing, cluster=cluster.name) for each in _names(scope)]
    found += [_by_hand(cluster, scope)] if scope.gone else []
    more = bootstrap_stages.component_gates(preparing, scope.components) if scope.components else None
    return (*found, bootstrap_stages.verify_stage(cluster, patience=carrying.patience, more=more))


def fit_stage(
    carrying: OngoingChange, cluster: Cluster, scope: BootstrapScope, preparing: PreparedBootstrap
) -> WalkStage:
    """Before anything is written: that it is a walk at all, that it renders, and that the cluster is well."""

    async def look(world: World) -> PendingChange | None:
        refuse_elsewhere(carrying)
        if scope.has_machines:
            machine_lookup.refuse_omni(cluster)
        if not scope.is_empty:
            await bootstrap_stages.require(carrying, cluster, world)
        selection.only((await preparing.get(world)).work.plan, _names(scope))
        return None

    well = bootstrap_stages.verify_stage(cluster, patience=0.0)

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        verdict, hint = await well.wait(world, on_verdict)
        if not lets_on(verdict) and carrying.record.anyway:
            return Passed(f"not well, and carried through all the same: {verdict.reason}"), ""
        return verdict, hint

    return WalkStage(
        id=f"{cluster.name}:fit", name=f"{cluster.name} is well before it", what="renders, nodes, agents, operators",
        phase=Phase.MACHINE, look=look, wait=wait,
    )  # fmt: skip


def _names(scope: BootstrapScope) -> tuple[str, ...]:
    """What ``--only`` takes."""
    return (*([selection.SECRETS] if scope.has_secrets else []), *scope.components)


def _by_hand(cluster: Cluster, scope: BootstrapScope) -> WalkStage:
    """What is left for a person, for the journal and the record."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        names = ", ".join(scope.gone)
        verdict = Passed(f"bootstrap removes nothing: what {names} brought is deleted by hand, once nothing needs it")
        on_verdict(verdict)
        return verdict, ""

    return WalkStage(id=f"{cluster.name}:by-hand", name="what is left to do", what=", ".join(scope.gone), wait=wait)


def refuse_elsewhere(carrying: OngoingChange) -> None:
    """See that no part of a change is done by another command.

    Raises:
        errors.Refused: One is.
    """
    if elsewhere := not_walked(carrying.decided.decision.items):
        raise errors.Refused(
            f"this is not done by a walk of changes alone: {'; '.join(elsewhere)}",
            hint="Take it out of this change, and do it by its own steps: firstlight decide shows them.",
        )
