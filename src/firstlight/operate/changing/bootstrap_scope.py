"""What of a change bootstrap has to do in one cluster: machines, components that it keeps, secrets of the foundation.

Pure: the decision and the platform in, the scope out.
"""

import dataclasses
from collections.abc import Iterable, Iterator

from firstlight.model.change import Matter
from firstlight.model.component import Owner, Side
from firstlight.model.decision import Decision, Item
from firstlight.model.platform import Platform

ELSEWHERE = {
    "talos-upgrade": "machines get another Talos by: firstlight node upgrade",
    "kubernetes-upgrade": "Kubernetes gets another version by: firstlight node upgrade",
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
class Scope:
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


def of(decision: Decision, cluster: str, platform: Platform) -> Scope:
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
    return Scope(
        has_machines=any(each.change.matter is Matter.MACHINE for each in mine),
        components=tuple(kept),
        has_secrets=any(_SECRETS in _procedures(each) for each in mine),
        followed=tuple(each for each in followed if known[each].halves[0]),
        gone=tuple(each for each in touched if each not in known),
    )


def is_bootstrap(item: Item) -> bool:
    """Whether bootstrap has a part in an item."""
    return item.side in (Side.BOOTSTRAP, Side.HYBRID)


def not_walked(items: Iterable[Item]) -> tuple[str, ...]:
    """What of a change is done by another command, in words; empty where all of it is walked."""
    return tuple(dict.fromkeys(ELSEWHERE[name] for each in items for name in _procedures(each) if name in ELSEWHERE))


def _reaches(item: Item, cluster: str) -> bool:
    return not item.clusters or cluster in item.clusters


def _procedures(item: Item) -> Iterator[str]:
    return (each.procedure for each in item.rulings)
