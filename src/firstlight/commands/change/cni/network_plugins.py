"""Which network plugin a component is, and what is known of its upgrades: ``policy/cni_upgrades.yaml``."""

import dataclasses
import enum
import functools

from firstlight.model.component import Component
from firstlight.model.source import ChartSource
from firstlight.model.versions import Line, minor
from firstlight.plan import cluster_facts, version_bump, well_known

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
