"""What the lab pretends, each in a file of its own: nothing that is not listed here and shown in status.

A simulation starts once (it follows kinds, it listens) and then acts whenever something has changed: it looks at
what it follows and brings it to where the real thing would have it. What fails is looked at again.
"""

import importlib
from typing import Protocol

from firstlight.lab.simulations.world import World

NAMES = (
    "kubelets", "egress", "webhooks", "source_rewrites", "volumes", "load_balancers", "certificate_requests",
    "custom_resources", "redis_passwords", "actors",
)  # fmt: skip


class Simulation(Protocol):
    """Pretends one thing."""

    what: str
    """In a line, for the status."""

    async def start(self, world: World) -> None:
        """Follow and listen."""

    async def act(self, world: World) -> None:
        """Do what is due."""


def load(name: str) -> Simulation:
    """A simulation by name."""
    made: Simulation = importlib.import_module(f"{__name__}.{name}").Simulation()
    return made


def descriptions() -> dict[str, str]:
    """What each simulation pretends, in a line."""
    return {name.replace("_", " "): load(name).what for name in NAMES}
