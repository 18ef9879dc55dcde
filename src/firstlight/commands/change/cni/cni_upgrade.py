"""Whether a change is an upgrade of the network plugin, and from which version to which."""

import dataclasses
from collections.abc import Iterator

from firstlight.commands.change.cni import network_plugins
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.decide.decide import Decided
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Owner
from firstlight.model.platform import Platform
from firstlight.model.source import Embedded
from firstlight.plan import version_bump

ROLE = "cni"
RULE = "cni-version"


@dataclasses.dataclass(frozen=True, kw_only=True)
class CniUpgrade:
    """What becomes of a cluster's network plugin."""

    component: Component
    """As it is to be."""
    product: str
    """``cilium``."""
    before: str
    after: str

    @property
    def title(self) -> str:
        """For people: ``cilium 1.18.4 › 1.19.2``."""
        return f"{self.component.name} {self.before or '?'} › {self.after or '?'}"

    @property
    def is_git(self) -> bool:
        """Whether the engine rolls it out."""
        return self.component.owner is Owner.GITOPS


def is_cni_upgrade(decided: Decided) -> bool:
    """Whether a change upgrades the network plugin of a cluster."""
    names = {one.cluster for each in decided.decision.items for one in each.touched if one.role == ROLE}
    before, after = decided.before.platform, decided.after.platform
    return any(True for name in names for _ in _upgrades(before, after, name)) or any(
        ruling.rule == RULE and _is_version(ruling.field.before, ruling.field.after)
        for each in decided.decision.items
        for ruling in each.rulings
        if ruling.field is not None
    )


def inline_components(decided: Decided) -> tuple[Component, ...]:
    """Network plugins that a change upgrades and that a machine config of the repo holds as an inline manifest."""
    if not is_cni_upgrade(decided):
        return ()
    touched = {(one.cluster, one.component) for each in decided.decision.items for one in each.touched}
    return tuple(
        each
        for each in decided.after.platform.components
        if each.role == ROLE and (each.cluster, each.name) in touched and any(map(is_inline, each.origins))
    )


def is_inline(origin: Origin) -> bool:
    """Whether an origin is an inline manifest in a file of the repo."""
    return isinstance(origin.source, Embedded)


def of(carrying: OngoingChange, cluster: Cluster) -> CniUpgrade | None:
    """The upgrade of a cluster's network plugin; None where it has none or keeps its version."""
    found = [*_upgrades(carrying.before, carrying.after, cluster.name)]
    if found:
        return found[0]
    for item in carrying.decided.decision.items:
        for ruling in item.rulings if any(one.cluster == cluster.name for one in item.touched) else ():
            field = ruling.field
            if ruling.rule == RULE and field is not None and _is_version(field.before, field.after):
                component = _component(carrying.after, cluster.name)
                both = [version_bump.number(each) for each in (field.before, field.after)]
                old, new = reversed(both) if carrying.is_reverting else both
                if component is not None:
                    return CniUpgrade(
                        component=component, product=network_plugins.key_of(component), before=old, after=new
                    )
    return None


def _upgrades(before: Platform, after: Platform, cluster: str) -> Iterator[CniUpgrade]:
    """By the versions that both platforms declare."""
    old = {each.name: each for each in before.components_of(cluster) if each.role == ROLE}
    for each in after.components_of(cluster):
        if each.role == ROLE and each.name in old and old[each.name].version != each.version:
            yield CniUpgrade(
                component=each, product=network_plugins.key_of(each), before=old[each.name].version, after=each.version
            )


def _component(platform: Platform, cluster: str) -> Component | None:
    return next((each for each in platform.components_of(cluster) if each.role == ROLE), None)


def _is_version(before: object, after: object) -> bool:
    return (
        bool(version_bump.number(before))
        and bool(version_bump.number(after))
        and version_bump.bump(before, after) is not None
    )
