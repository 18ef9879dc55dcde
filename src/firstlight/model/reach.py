"""Where declared addresses are really reached: as they are, or, in a rehearsal, on loopback."""

import dataclasses
from collections.abc import Mapping


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """The address book of a run; an empty one means that everything is where it says."""

    machines: Mapping[str, str] = dataclasses.field(default_factory=dict)
    """By declared address: where the machine's Talos API listens, as ``host`` or ``host:port``."""
    kubernetes: str = ""
    """The URL at which the Kubernetes API is reached, instead of the one in the kubeconfig."""

    def machine(self, address: str) -> str:
        """Where a machine's Talos API listens."""
        return self.machines.get(address, address)
