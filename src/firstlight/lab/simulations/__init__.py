"""What the lab pretends, each in a file of its own: nothing that is not listed here and shown in status."""

import importlib
from typing import Protocol

from firstlight.lab.simulations.world import World

NAMES = (
    "kubelets",
    "egress",
    "webhooks",
    "volumes",
    "load_balancers",
    "certificate_requests",
    "custom_resources",
)


class Simulation(Protocol):
    """A module that pretends one thing."""

    WHAT: str

    async def run(self, world: World) -> None:
        """Pretend until cancelled."""


def load(name: str) -> Simulation:
    """A simulation by name."""
    module: Simulation = importlib.import_module(f"{__name__}.{name}")
    return module


def descriptions() -> dict[str, str]:
    """What each simulation pretends, in a line."""
    return {name.replace("_", " "): load(name).WHAT for name in NAMES}
