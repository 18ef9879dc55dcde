"""The TCP sockets of this computer as the kernel lists them, and the user that each belongs to.

Data of /proc/net: every user may read it, and nobody can write it. The servers of the lab ask it who calls them, and
the keeper whether a part is connected to the API server.
"""

import contextlib
import os
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

ESTABLISHED, LISTEN = 0x01, 0x0A
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
TRIES = 3
"""How often a socket is looked for: the kernel may pass over one while others come and go."""
PAUSE = 0.005
_MAPPED = b"\0" * 10 + b"\xff\xff"
"""What an IPv4 address begins with where it is written as an IPv6 one."""


class Address(NamedTuple):
    """An end of a connection."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class Socket(NamedTuple):
    """One line of the kernel's table."""

    local: Address
    remote: Address
    state: int
    uid: int
    inode: int
    """0 where no process has it open any more; then its user is not known either."""


def tcp(tables: Sequence[Path] = TABLES) -> Iterator[Socket]:
    """All TCP sockets of this network namespace."""
    for table in tables:
        with contextlib.suppress(OSError):
            yield from (_parsed(line) for line in table.read_text().splitlines()[1:])


def peer_uid(local: Address, remote: Address) -> int | None:
    """The user at the other end of a connection from this computer; None if it has no such end that is open.

    Args:
        local: Our end.
        remote: The other end.
    """
    ends = {f" {_hex(remote, mapped)} {_hex(local, mapped)} " for mapped in (False, True)}
    for attempt in range(TRIES):
        for table in TABLES:
            with contextlib.suppress(OSError):
                for line in table.read_text().splitlines():
                    if any(each in line for each in ends) and (found := _parsed(line)).inode:
                        return found.uid
        if attempt < TRIES - 1:
            time.sleep(PAUSE)
    return None


def inodes(pid: int) -> frozenset[int]:
    """The sockets that a process has open; none if it is gone, or somebody else's."""
    found = set()
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                kind, _, number = os.readlink(entry.path).partition(":")
                if kind == "socket":
                    found.add(int(number.strip("[]")))
    return frozenset(found)


def is_connected(pid: int, remote: Address) -> bool:
    """Whether a process has a connection to an IPv4 address, by a socket of that kind."""
    own = inodes(pid)
    return any(each.remote == remote and each.state == ESTABLISHED and each.inode in own for each in tcp(TABLES[:1]))


def is_listening(pid: int, local: Address) -> bool:
    """Whether a process listens on an IPv4 address."""
    own = inodes(pid)
    return any(each.local == local and each.state == LISTEN and each.inode in own for each in tcp(TABLES[:1]))


def _parsed(line: str) -> Socket:
    words = line.split()
    return Socket(_address(words[1]), _address(words[2]), int(words[3], 16), int(words[7]), int(words[9]))


def _address(text: str) -> Address:
    host, _, port = text.partition(":")
    # Words of 32 bits, each in the byte order of this computer.
    raw = b"".join(struct.pack("=I", int(host[start : start + 8], 16)) for start in range(0, len(host), 8))
    if raw.startswith(_MAPPED):
        raw = raw.removeprefix(_MAPPED)
    family = socket.AF_INET if len(raw) == 4 else socket.AF_INET6
    return Address(socket.inet_ntop(family, raw), int(port, 16))


def _hex(address: Address, mapped: bool) -> str:
    raw = socket.inet_pton(socket.AF_INET6 if ":" in address.host else socket.AF_INET, address.host)
    raw = _MAPPED + raw if mapped and len(raw) == 4 else raw
    words = struct.unpack(f"={len(raw) // 4}I", raw)
    return f"{''.join(f'{word:08X}' for word in words)}:{address.port:04X}"
