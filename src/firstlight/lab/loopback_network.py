"""The loopback network of a lab.

Linux answers on all of 127.0.0.0/8, so each lab takes a /24 of its own and every part keeps its usual port: nothing
clashes with what listens on 127.0.0.1, nor with another lab. A program that listens on every address (a kubelet, k3s)
does clash; then all ports are shifted. Which /24 is taken is known to the kernel alone: the supervisor holds an
abstract socket named after it, which is free again the moment it dies.

Virtual machines have addresses of their own in that /24, since talosctl expects each at the same port.
"""

import dataclasses
import functools
import socket
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec
import yaml

from firstlight import errors

FIRST, LAST = 1, 250
PREFERRED = range(100, 200)
"""Networks of labs with machines; others take the first that is free."""
SHIFTS = (0, 20000, 40000)
ACTORS = 50
"""For how many actors there is an address; they come after those of 190 machines."""


@dataclasses.dataclass(frozen=True)
class LoopbackNetwork:
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
    def api(self) -> int:
        """Port of the API server."""
        return 6443 + self.shift

    @property
    def faults(self) -> int:
        """Port of the fault proxy."""
        return 6444 + self.shift

    @property
    def admission(self) -> int:
        """Port of the lab's own admission webhook."""
        return 9443 + self.shift

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
    def git(self) -> int:
        """Port of the Git server."""
        return 3000 + self.shift

    @property
    def registry(self) -> int:
        """Port of the OCI registry."""
        return 5000 + self.shift

    @property
    def charts(self) -> int:
        """Port of the Helm repositories."""
        return 8879 + self.shift

    @property
    def apid(self) -> int:
        """Port of Talos's API on every machine."""
        return 50000 + self.shift // 10000

    @property
    def trustd(self) -> int:
        """Port of Talos's certificates on control-plane machines."""
        return 50001 + self.shift // 10000

    @property
    def connect(self) -> int:
        """Port of the stand-in for 1Password Connect."""
        return 8080 + self.shift

    def machine(self, number: int) -> str:
        """Where a machine listens; they are counted from 1."""
        return f"127.71.{self.number}.{10 + number}"

    def actor(self, number: int) -> str:
        """Where an actor listens; they are counted from 1."""
        return f"127.71.{self.number}.{200 + number}"

    @property
    def machine_ports(self) -> tuple[int, ...]:
        """Those that a control-plane machine takes on its own address."""
        return (self.apid, self.trustd, self.etcd, self.etcd_peer)

    @property
    def ports(self) -> tuple[int, ...]:
        """All of them."""
        return (
            self.etcd, self.etcd_peer, self.api, self.faults, self.admission, self.kubelet, self.controller_manager,
            self.scheduler,
        )  # fmt: skip

    @property
    def source_ports(self) -> tuple[int, ...]:
        """Those of the sources, where a lab has them."""
        return (self.git, self.registry, self.charts)


@dataclasses.dataclass(frozen=True)
class NetworkNeeds:
    """What a lab listens on besides its control plane."""

    machines: bool = False
    sources: bool = False
    actors: tuple[int, ...] = ()
    """Ports of actors, before they are shifted."""
    standins: bool = False


NOTHING_ELSE = NetworkNeeds()


@dataclasses.dataclass(frozen=True)
class NetworkClaim:
    """A network held for as long as the socket is open."""

    network: LoopbackNetwork
    holder: socket.socket


def network_of_place(place: str) -> LoopbackNetwork:
    """Where a lab with machines would like to be: it follows from where its files are.

    So its machines are found at the same addresses when it is made anew, and no other lab takes them while it is down.
    """
    return LoopbackNetwork(PREFERRED[zlib.crc32(place.encode()) % len(PREFERRED)])


def claim_network(
    preferred: LoopbackNetwork | None,
    *,
    shifts: Sequence[int] = SHIFTS,
    needs: NetworkNeeds = NOTHING_ELSE,
    others: bool = True,
) -> NetworkClaim:
    """Take a free network, the preferred one if it is free.

    Args:
        preferred: The one that the lab had, or would like.
        shifts: How far ports may be moved where the usual ones are taken.
        needs: What must be free too.
        others: Whether another network than the preferred one will do.

    Raises:
        errors.LabError: None is free.
    """
    every = [LoopbackNetwork(number, shift) for shift in shifts for number in range(FIRST, LAST + 1)]
    taken = 0
    for network in [*([preferred] if preferred else []), *(every if others or preferred is None else [])]:
        holder = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            holder.bind(f"\0firstlight-lab-network-{network.number}")
        except OSError:
            holder.close()
            continue
        taken = taken_port(network, needs)
        if not taken:
            return NetworkClaim(network, holder)
        holder.close()
    if preferred is not None and not others:
        cause = f"port {taken} is in use there" if taken else "another lab has it"
        raise errors.LabError(
            f"the loopback network of this lab, 127.71.{preferred.number}.0/24, is taken: {cause}",
            hint="Its machines' etcd members know each other by these addresses. Labs that run: firstlight lab list",
        )
    cause = f": port {taken} is in use on all of them" if taken else ""
    raise errors.LabError(
        f"no loopback network is free{cause}",
        hint="Labs that run: firstlight lab list; stop one: firstlight lab down -n NAME",
    )


def taken_port(network: LoopbackNetwork, needs: NetworkNeeds = NOTHING_ELSE) -> int:
    """A port of the network that something listens on; 0 if there is none."""
    wanted = [(network.loopback, port) for port in network.ports]
    if needs.sources:
        wanted += [(network.loopback, port) for port in network.source_ports]
    if needs.standins:
        wanted.append((network.loopback, network.connect))
    wanted += [(network.actor(1), port + network.shift) for port in needs.actors]
    if needs.machines:
        wanted += [(network.machine(1), port) for port in network.machine_ports]
    for address, port in wanted:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                return port
    return 0


# Which ports a lab opens, and what each asks of a client; servers.yaml is the list.


AskedOfClients = Literal["certificate", "password", "user", "silence", "nothing"]
HIGH_PORTS = 50000
"""Ports from here on cannot be moved as far as the others."""


class LabServer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A port; servers.yaml explains the fields."""

    of: str
    port: int
    asks: AskedOfClients
    gives: str = ""
    host: str = ""

    def port_in(self, net: LoopbackNetwork) -> int:
        """The port in a lab whose ports were moved; 0 if any will do."""
        return 0 if not self.port else self.port + (net.shift // 10000 if self.port >= HIGH_PORTS else net.shift)


@functools.cache
def server_table() -> tuple[LabServer, ...]:
    """All of them."""
    raw = yaml.load(Path(__file__).with_name("servers.yaml").read_text(), Loader=yaml.CSafeLoader)
    return msgspec.convert(raw, tuple[LabServer, ...])
