"""Whether a change is an upgrade of the network plugin, from which version to which, and what is known of that way.

What is known of upgrades stands in ``plan/cni_upgrades.yaml``.
"""

import dataclasses
import enum
import functools
from collections.abc import Iterator

from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.commands.decide.decide import Decided
from firstlight.model.cluster import Cluster
from firstlight.model.component import Component, Origin, Owner
from firstlight.model.platform import Platform
from firstlight.model.source import ChartSource, Embedded
from firstlight.model.versions import Line, minor
from firstlight.plan import cluster_facts, version_bump, well_known

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
                    return CniUpgrade(component=component, product=key_of(component), before=old, after=new)
    return None


def _upgrades(before: Platform, after: Platform, cluster: str) -> Iterator[CniUpgrade]:
    """By the versions that both platforms declare."""
    old = {each.name: each for each in before.components_of(cluster) if each.role == ROLE}
    for each in after.components_of(cluster):
        if each.role == ROLE and each.name in old and old[each.name].version != each.version:
            yield CniUpgrade(component=each, product=key_of(each), before=old[each.name].version, after=each.version)


def _component(platform: Platform, cluster: str) -> Component | None:
    return next((each for each in platform.components_of(cluster) if each.role == ROLE), None)


def _is_version(before: object, after: object) -> bool:
    return (
        bool(version_bump.number(before))
        and bool(version_bump.number(after))
        and version_bump.bump(before, after) is not None
    )


CILIUM = "cilium"


@dataclasses.dataclass(frozen=True)
class NetworkPlugin:
    """A network plugin."""

    title: str
    names: tuple[str, ...] = ()
    """What its charts and components are called."""
    image: str = ""
    """How the image of its agents ends, without the tag."""
    consecutive: bool = False
    """Whether it goes one minor version at a time only, up and back."""
    kernels: dict[str, str] = dataclasses.field(default_factory=dict)
    """The least Linux of each minor version."""


@functools.cache
def plugin_table() -> dict[str, NetworkPlugin]:
    """All that are known."""
    return well_known.read_table("cni_upgrades.yaml", dict[str, NetworkPlugin])


def key_of(component: Component) -> str:
    """What a component is known as: ``cilium``; its own name where it is not known."""
    names = [component.name.rpartition("/")[2]]
    for origin in component.origins:
        names += [
            each.name.rpartition("/")[2] for each in cluster_facts.sources(origin) if isinstance(each, ChartSource)
        ]
    return next((key for name in names for key, each in plugin_table().items() if name in each.names), names[0])


def plugin_of(key: str) -> NetworkPlugin:
    """What is known of it; its name where that is all."""
    return plugin_table().get(key, NetworkPlugin(title=key))


# From one version of the network plugin to another: at once, in several changes, or not at all.


class PluginStride(enum.StrEnum):
    """How far it goes."""

    NONE = "none"
    PATCH = "patch"
    MINOR = "minor"
    SKIP = "skip"
    """A minor version is left out, or the major one changes."""
    BACK = "back"
    """To a patch version before, or to the minor version before."""
    FAR_BACK = "far back"
    UNKNOWN = "unknown"
    """One of both is no version that can be told, such as a range."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PluginUpgradeStep:
    """What becomes of the version."""

    stride: PluginStride
    says: str
    minors: tuple[str, ...] = ()
    """The minor versions on the way, the last one included: each is a change of its own."""
    is_refused: bool = False


def step_between(before: str, after: str, product: NetworkPlugin) -> PluginUpgradeStep:
    """Judge a step.

    Args:
        before: The version that runs.
        after: The version that is wanted.
        product: Whose.
    """
    old, new = version_bump.number(before), version_bump.number(after)
    first, last = minor(old), minor(new)
    if first is None or last is None:
        what = f"{before or 'what runs'} and {after or 'what is wanted'}"
        return PluginUpgradeStep(
            stride=PluginStride.UNKNOWN,
            says=f"{what} cannot be compared: whether a minor version is left out is for a person to see",
        )
    if old == new:
        return PluginUpgradeStep(stride=PluginStride.NONE, says=f"{product.title} {new} runs already")
    if first == last:
        is_back = version_bump.bump(old, new) == "down"
        word = "back to a patch version before" if is_back else "a patch version"
        return PluginUpgradeStep(
            stride=PluginStride.BACK if is_back else PluginStride.PATCH, says=f"{product.title} {old} › {new}: {word}"
        )
    return _apart(old, new, first, last, product)


def _apart(old: str, new: str, first: Line, last: Line, product: NetworkPlugin) -> PluginUpgradeStep:
    """Two minor versions."""
    way = f"{product.title} {old} › {new}"
    if first[0] != last[0]:
        return PluginUpgradeStep(
            stride=PluginStride.SKIP,
            says=f"{way}: another major version; read its upgrade notes",
            is_refused=product.consecutive,
        )
    numbers = range(first[1] + 1, last[1] + 1) if last > first else range(first[1] - 1, last[1] - 1, -1)
    minors = tuple(f"{first[0]}.{each}" for each in numbers)
    if len(minors) == 1:
        stride, word = (
            (PluginStride.MINOR, "the next minor version")
            if last > first
            else (PluginStride.BACK, "the minor version before, which is the way back")
        )
        return PluginUpgradeStep(stride=stride, says=f"{way}: {word}", minors=minors)
    stride = PluginStride.SKIP if last > first else PluginStride.FAR_BACK
    each = " › ".join(minors)
    if product.consecutive:
        return PluginUpgradeStep(
            stride=stride,
            says=f"{way} leaves minor versions out: {each}, each a change of its own, and well before the next",
            minors=minors,
            is_refused=True,
        )
    return PluginUpgradeStep(
        stride=stride, says=f"{way} passes over minor versions ({each}): read the notes of each", minors=minors
    )
