"""What a step has to write, found by looking; nothing is written before it is performed."""

import dataclasses
from collections.abc import Awaitable, Callable


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Writes that bring the world from what it is to what it must be."""

    writes: tuple[str, ...]
    """Each for people: ``create Deployment kube-system/cilium-operator``, ``apply the config of cp-1 (reboot)``."""
    perform: Callable[[], Awaitable[None]] = dataclasses.field(repr=False)
    """Convergent: killed half-way and looked at again, what is left is another change."""
    danger: str = ""
    """What cannot be undone, or takes something down; confirmed by a person before it is performed."""
