"""The path of an upgrade of the network plugin: looked at, one minor version at a time, rolled out node by node, tried.

Whoever owns it in the end rolls it out: the engine, or bootstrap. Machines that still hold it as an inline manifest get
the new one. The way back is the minor version before, brought in the same way.
"""

from firstlight.execute.walking import Stage
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
from firstlight.model.component import Phase
from firstlight.operate.changing import (
    bootstrap_backup,
    bootstrap_components,
    checking,
    cni_choosing,
    cni_connectivity,
    cni_inline,
    cni_manifests,
    cni_preflight,
    cni_rollout,
    gitops,
    hybrid_boundary,
)
from firstlight.operate.changing.bootstrap_prepared import Preparing
from firstlight.operate.changing.carrying import Carrying, Way
from firstlight.operate.changing.cni_choosing import Upgrade

is_one = cni_choosing.is_one
_TOLD = frozenset({"security-posture"})
"""New versions of a network plugin may do more than old ones; that was to be seen before the merge."""


def early(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """What is looked at before the merge."""
    upgrade = cni_choosing.of(carrying, cluster)
    return _looked(carrying, cluster, upgrade, Preparing(carrying, cluster)) if upgrade is not None else ()


def stages(carrying: Carrying, cluster: Cluster, world: World) -> tuple[Stage, ...]:
    """The rollout, gated and tried; one that is taken back is looked at only now."""
    upgrade = cni_choosing.of(carrying, cluster)
    if upgrade is None:
        return gitops.stages(carrying, cluster, world)
    preparing = Preparing(carrying, cluster)
    first = _looked(carrying, cluster, upgrade, preparing) if carrying.is_reverting else ()
    rolled = (_by_git if upgrade.is_git else _by_bootstrap)(carrying, cluster, upgrade, preparing)
    gates = (cni_rollout.stage(carrying, cluster, upgrade, preparing), cni_connectivity.stage(carrying, cluster))
    return (*first, *rolled, *gates, checking.stage(carrying, cluster, told=checking.TOLD | _TOLD))


WAY = Way(stages=stages, early=early)


def _looked(carrying: Carrying, cluster: Cluster, upgrade: Upgrade, preparing: Preparing) -> tuple[Stage, ...]:
    found = [cni_preflight.stage(carrying, cluster, upgrade, preparing)]
    if all(upgrade.component.halves):
        found.append(hybrid_boundary.stage(cluster, (upgrade.component.name,), preparing))
    return tuple(found)


def _by_git(carrying: Carrying, cluster: Cluster, upgrade: Upgrade, preparing: Preparing) -> tuple[Stage, ...]:
    """By the engine; machines that still hold it get the same."""
    engine = gitops.engine_stages(carrying, cluster) if checking.target(carrying) else ()
    return (*engine, *cni_inline.stages(cluster, upgrade, preparing))


def _by_bootstrap(carrying: Carrying, cluster: Cluster, upgrade: Upgrade, preparing: Preparing) -> tuple[Stage, ...]:
    """Kept, then brought by Talos or by Helm."""
    is_inline = upgrade.component.phase is Phase.INLINE
    backup = bootstrap_backup.stage(carrying, cluster, with_configs=is_inline)
    if is_inline:
        inline = cni_inline.stages(cluster, upgrade, preparing)
        return (backup, *inline, cni_manifests.stage(cluster, upgrade, preparing))
    return (backup, bootstrap_components.stage(upgrade.component.name, preparing, cluster=cluster.name))
