"""What the processes of a lab listen on, as the kernel says it."""

import ipaddress
import os
from pathlib import Path
from typing import NamedTuple

from firstlight.lab import procfs, running_lab
from firstlight.lab.actors import actor_table
from firstlight.lab.loopback_network import LabServer, LoopbackNetwork, server_table

LISTENING = "00010000"
"""The flag of a unix socket that listens."""


class Port(NamedTuple):
    """A TCP port that is open."""

    of: str
    """The part: as servers.yaml calls it."""
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        return ipaddress.ip_address(self.host).is_loopback


async def ports(lab: running_lab.Lab) -> list[Port]:
    """All TCP ports of a lab."""
    owners = await _owners(lab)
    return sorted(
        Port(owners[each.inode], each.local.host, each.local.port)
        for each in procfs.tcp_sockets()
        if each.state == procfs.LISTEN and each.inode in owners
    )


async def unix_sockets(lab: running_lab.Lab) -> list[tuple[str, str]]:
    """All unix sockets of a lab that listen: the part, and the path; an abstract one begins with an at sign."""
    owners, found = await _owners(lab), []
    places = {inode: pid for pid in procfs.processes_of(lab.home.path) for inode in procfs.socket_inodes(pid)}
    for line in Path("/proc/net/unix").read_text().splitlines()[1:]:
        words = line.split(maxsplit=7)
        inode = int(words[6])
        if inode in owners and words[3] == LISTENING and len(words) == 8:
            path = words[7] if words[7].startswith("@") else _resolved(words[7], places[inode])
            found.append((owners[inode], path))
    return sorted(found)


def declared(found: Port, net: LoopbackNetwork) -> LabServer | None:
    """What servers.yaml says of a port."""
    for each in server_table():
        if each.of == found.of and each.port_in(net) in (0, found.port) and each.host in ("", found.host):
            return each
    return None


def _resolved(path: str, pid: int) -> str:
    """Where a socket is that was bound by a path of the process's own."""
    beside = os.readlink(f"/proc/{pid}/cwd")
    return os.path.realpath(os.path.join(beside, path.replace("/proc/self/", f"/proc/{pid}/")))


async def _owners(lab: running_lab.Lab) -> dict[int, str]:
    """The part that each socket belongs to. A part is a session: all that it starts is in it, too."""
    status = await lab.status()
    machines = {each.name for each in status.machines}
    rows = {each.name: each.row for each in actor_table.read_actors(lab.home.wanted_actors).actors}
    names = {
        part.pid: "machine" if part.name in machines else rows.get(part.name, part.name)
        for part in status.parts
        if part.pid
    }
    found = {}
    for pid in procfs.processes_of(lab.home.path):
        for inode in procfs.socket_inodes(pid):
            found[inode] = names.get(os.getsid(pid), "supervisor")
    return found
