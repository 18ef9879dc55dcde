"""Which network plugin a component is, and what is known of its upgrades: ``policy/cni_upgrades.yaml``."""

import dataclasses
import functools

from firstlight.model.component import Component
from firstlight.model.source import Chart
from firstlight.plan import facts
from firstlight.policy.auditing import tables

CILIUM = "cilium"


@dataclasses.dataclass(frozen=True)
class Product:
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
def table() -> dict[str, Product]:
    """All that are known."""
    return tables.read("cni_upgrades.yaml", dict[str, Product])


def key_of(component: Component) -> str:
    """What a component is known as: ``cilium``; its own name where it is not known."""
    names = [component.name.rpartition("/")[2]]
    for origin in component.origins:
        names += [each.name.rpartition("/")[2] for each in facts.sources(origin) if isinstance(each, Chart)]
    return next((key for name in names for key, each in table().items() if name in each.names), names[0])


def of(key: str) -> Product:
    """What is known of it; its name where that is all."""
    return table().get(key, Product(title=key))
