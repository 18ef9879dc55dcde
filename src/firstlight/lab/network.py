"""The loopback network of a lab.

Linux answers on all of 127.0.0.0/8, so each lab takes a /24 of its own and every part keeps its usual port: nothing
clashes with what listens on 127.0.0.1, nor with another lab. A program that listens on every address (a kubelet, k3s)
does clash; then all ports are shifted. Which /24 is taken is known to the kernel alone: the supervisor holds an
abstract socket named after it, which is free again the moment it dies.
"""

import dataclasses
import socket
from collections.abc import Sequence

from firstlight import errors

FIRST, LAST = 1, 250
SHIFTS = (0, 20000, 40000)


@dataclasses.dataclass(frozen=True)
class Network:
    """One /24 of loopback, and the addresses that stand for it in Kubernetes objects."""

    number: int
    shift: int = 0

    @property
    def loopback(self) -> str:
        """Where the parts of the control plane really listen."""
        return f"127.71.{self.number}.1"

    @property
    def declared(self) -> str:
        """The control plane's address in endpoints and certificates, where loopback is refused."""
        return f"10.71.{self.number}.1"

    @property
    def etcd(self) -> int:
        """Port of etcd's clients."""
        return 2379 + self.shift

    @property
    def etcd_peer(self) -> int:
        """Port of etcd's members."""
        return 2380 + self.shift

    @property
    def etcd_metrics(self) -> int:
        """Port of etcd's health."""
        return 2381 + self.shift

    @property
    def api(self) -> int:
        """Port of the API server."""
        return 6443 + self.shift

    @property
    def faults(self) -> int:
        """Port of the fault proxy."""
        return 6444 + self.shift

    @property
    def kwok(self) -> int:
        """Port of kwok's health."""
        return 10247 + self.shift

    @property
    def kubelet(self) -> int:
        """Port of the simulated kubelet; Node objects show 10250."""
        return 10250 + self.shift

    @property
    def controller_manager(self) -> int:
        """Port of the controller manager's health."""
        return 10257 + self.shift

    @property
    def scheduler(self) -> int:
        """Port of the scheduler's health."""
        return 10259 + self.shift

    @property
    def ports(self) -> tuple[int, ...]:
        """All of them."""
        return (
            self.etcd, self.etcd_peer, self.etcd_metrics, self.api, self.faults, self.kwok, self.kubelet,
            self.controller_manager, self.scheduler,
        )  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Claim:
    """A network held for as long as the socket is open."""

    network: Network
    holder: socket.socket


def claim(preferred: Network | None, *, shifts: Sequence[int] = SHIFTS) -> Claim:
    """Take a free network, the preferred one if it is free."""
    every = [Network(number, shift) for shift in shifts for number in range(FIRST, LAST + 1)]
    taken = 0
    for network in [*([preferred] if preferred else []), *every]:
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            holder.bind(f"\0firstlight-lab-network-{network.number}")
        except OSError:
            holder.close()
            continue
        taken = taken_port(network)
        if not taken:
            return Claim(network, holder)
        holder.close()
    cause = f": port {taken} is in use on all of them" if taken else ""
    raise errors.LabError(
        f"no loopback network is free{cause}",
        hint="Labs that run: firstlight lab list; stop one: firstlight lab down -n NAME",
    )


def taken_port(network: Network) -> int:
    """A port of the network that something listens on; 0 if there is none."""
    for port in network.ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((network.loopback, port))
            except OSError:
                return port
    return 0
