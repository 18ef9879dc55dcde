"""The processes of a lab as the kernel sees them, however their parents died.

Every process that a lab starts carries the lab's directory in its environment; a process id is trusted only together
with that mark, so that a reused id is never killed.
"""

import contextlib
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from firstlight import errors

LAB_MARK = "FIRSTLIGHT_LAB"


def processes_of(home: Path) -> tuple[int, ...]:
    """The ids of all living processes of a lab, apart from this one."""
    wanted = f"{LAB_MARK}={home}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            if wanted in (entry / "environ").read_bytes().split(b"\0") and not _is_dead(entry):
                found.append(int(entry.name))
    return tuple(found)


def kill_processes(home: Path, *, timeout: float = 20) -> int:
    """Kill every process of a lab at once and wait until they have let go of everything; how many there were.

    Raises:
        errors.LabError: Some do not die.
    """
    victims: set[int] = set()
    deadline = time.monotonic() + timeout
    while living := processes_of(home):
        victims.update(living)
        handles = [handle for pid in living if (handle := _kill(pid)) >= 0]
        try:
            for handle in handles:
                # Readable only after the process has closed its files: locks and ports are free then.
                if not select.select([handle], [], [], max(0, deadline - time.monotonic()))[0]:
                    raise errors.LabError(
                        f"processes of the lab in {home} do not die: {', '.join(map(str, processes_of(home)))}",
                        hint="They hang in the kernel, on a disk or network file system perhaps.",
                    )
        finally:
            for handle in handles:
                os.close(handle)
    return len(victims)


def resident_memory(pid: int, *, family: bool = False) -> int:
    """Resident bytes of a process, with those of its children if they are its own business; 0 if it is gone."""
    resident = 0
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                resident = int(line.split()[1]) * 1024
        if family:
            resident += sum(resident_memory(child) for child in _children(pid))
    return resident


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _kill(pid: int) -> int:
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return -1
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    return handle


def _is_dead(entry: Path) -> bool:
    """Zombies keep an empty environment on most kernels; on others their state tells."""
    stat = (entry / "stat").read_text()
    return stat[stat.rindex(")") + 2] in "ZX"


# The TCP sockets of this computer as the kernel lists them, and the user that each belongs to.
#
# Data of /proc/net: every user may read it, and nobody can write it. The servers of the lab ask it who calls them, and
# the keeper whether a part is connected to the API server.


ESTABLISHED, LISTEN = 0x01, 0x0A
SOCKET_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
PEER_TRIES = 3
"""How often a socket is looked for: the kernel may pass over one while others come and go."""
PEER_PAUSE = 0.005
_MAPPED = b"\0" * 10 + b"\xff\xff"
"""What an IPv4 address begins with where it is written as an IPv6 one."""


class SocketAddress(NamedTuple):
    """An end of a connection."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class TcpSocket(NamedTuple):
    """One line of the kernel's table."""

    local: SocketAddress
    remote: SocketAddress
    state: int
    uid: int
    inode: int
    """0 where no process has it open any more; then its user is not known either."""


def tcp_sockets(tables: Sequence[Path] = SOCKET_TABLES) -> Iterator[TcpSocket]:
    """All TCP sockets of this network namespace."""
    for table in tables:
        with contextlib.suppress(OSError):
            yield from (_parsed(line) for line in table.read_text().splitlines()[1:])


def peer_uid(local: SocketAddress, remote: SocketAddress) -> int | None:
    """The user at the other end of a connection from this computer; None if it has no such end that is open.

    Args:
        local: Our end.
        remote: The other end.
    """
    ends = {f" {_hex(remote, mapped)} {_hex(local, mapped)} " for mapped in (False, True)}
    for attempt in range(PEER_TRIES):
        for table in SOCKET_TABLES:
            with contextlib.suppress(OSError):
                for line in table.read_text().splitlines():
                    if any(each in line for each in ends) and (found := _parsed(line)).inode:
                        return found.uid
        if attempt < PEER_TRIES - 1:
            time.sleep(PEER_PAUSE)
    return None


def socket_inodes(pid: int) -> frozenset[int]:
    """The sockets that a process has open; none if it is gone, or somebody else's."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                kind, _, number = os.readlink(entry.path).partition(":")
                if kind == "socket":
                    found.add(int(number.strip("[]")))
    return frozenset(found)


def is_connected(pid: int, remote: SocketAddress) -> bool:
    """Whether a process has a connection to an IPv4 address, by a socket of that kind."""
    own = socket_inodes(pid)
    return any(
        each.remote == remote and each.state == ESTABLISHED and each.inode in own
        for each in tcp_sockets(SOCKET_TABLES[:1])
    )


def is_listening(pid: int, local: SocketAddress) -> bool:
    """Whether a process listens on an IPv4 address."""
    own = socket_inodes(pid)
    return any(
        each.local == local and each.state == LISTEN and each.inode in own for each in tcp_sockets(SOCKET_TABLES[:1])
    )


def _parsed(line: str) -> TcpSocket:
    words = line.split()
    return TcpSocket(_address(words[1]), _address(words[2]), int(words[3], 16), int(words[7]), int(words[9]))


def _address(text: str) -> SocketAddress:
    host, _, port = text.partition(":")
    # Words of 32 bits, each in the byte order of this computer.
    raw = b"".join(struct.pack("=I", int(host[start : start + 8], 16)) for start in range(0, len(host), 8))
    if raw.startswith(_MAPPED):
        raw = raw.removeprefix(_MAPPED)
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    return SocketAddress(socket.inet_ntop(family, raw), int(port, 16))


def _hex(address: SocketAddress, mapped: bool) -> str:
    raw = socket.inet_pton(socket.AF_INET6 if ":" in address.host else socket.AF_INET, address.host)
    raw = _MAPPED + raw if mapped and len(raw) == 4 else raw
    words = struct.unpack(f"={len(raw) // 4}I", raw)
    return f"{''.join(f'{word:08X}' for word in words)}:{address.port:04X}"
