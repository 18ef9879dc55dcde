"""The loopback network of a lab.

Linux answers on all of 127.0.0.0/8, so each lab takes a /24 of its own and every part keeps its usual port: nothing
clashes with what listens on 127.0.0.1, nor with another lab. Which /24 is taken is known to the kernel alone: the
supervisor holds an abstract socket named after it, which is free again the moment it dies.
"""

import dataclasses
import socket

from firstlight import errors

FIRST, LAST = 1, 250
_PROBED_PORTS = (2379, 6443, 6444)


@dataclasses.dataclass(frozen=True)
class Network:
    """One /24 of loopback, and the addresses that stand for it in Kubernetes objects."""

    number: int

    @property
    def loopback(self) -> str:
        """Where the parts of the control plane really listen."""
        return f"127.71.{self.number}.1"

    @property
    def declared(self) -> str:
        """The control plane's address in endpoints and certificates, where loopback is refused."""
        return f"10.71.{self.number}.1"


@dataclasses.dataclass(frozen=True)
class Claim:
    """A network held for as long as the socket is open."""

    network: Network
    holder: socket.socket


def claim(preferred: int | None) -> Claim:
    """Take a free network, the preferred one if it is free."""
    numbers = [*([preferred] if preferred else []), *range(FIRST, LAST + 1)]
    for number in numbers:
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            holder.bind(f"\0firstlight-lab-network-{number}")
        except OSError:
            holder.close()
            continue
        network = Network(number)
        if _is_free(network):
            return Claim(network, holder)
        holder.close()
    raise errors.LabError(
        "no loopback network is free",
        hint="Labs that run: firstlight lab status; stop one: firstlight lab down NAME",
    )


def _is_free(network: Network) -> bool:
    for port in _PROBED_PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((network.loopback, port))
            except OSError:
                return False
    return True
