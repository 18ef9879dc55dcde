"""etcd on control-plane machines.

``talosctl etcd`` prints tables and nothing else, so they are read by their headings. What a machine knows of its own
member is a resource, too: see ``etcd_member_id``.
"""

import contextlib
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.clients.talosctl import talos_errors, talosctl_output
from firstlight.clients.talosctl.machine_target import MachineTarget
from firstlight.clients.talosctl.talosctl_program import READ, WRITE, TalosctlProgram
from firstlight.model import machine

T = TypeVar("T")

SNAPSHOT = 300.0
"""Seconds for a snapshot: a database of the largest size, 8 GB, over a gigabit network, and its checksum."""

_MEMBER = re.compile(r"[0-9a-f]{1,16}")
_SNAPSHOT = re.compile(
    r"snapshot info: hash (?P<hash>[0-9a-f]+), revision (?P<revision>\d+), total keys (?P<keys>\d+),"
    r" total size (?P<size>\d+)"
)
_IN_USE = re.compile(r"(?P<size>.*) \([0-9.]+%\)")
_NOBODY = "0" * 16


class EtcdCommands(TalosctlProgram):
    """The members of etcd, and what it holds."""

    async def etcd_members(self, target: MachineTarget, *, timeout: float = READ) -> tuple[machine.EtcdMember, ...]:
        """The members that machines know of, each machine's list after the other's."""
        return await self._rows(["etcd", "members"], target, _member, timeout=timeout)

    async def etcd_status(self, target: MachineTarget, *, timeout: float = READ) -> tuple[machine.EtcdStatus, ...]:
        """How the members on machines are."""
        return await self._rows(["etcd", "status"], target, _status, timeout=timeout)

    async def etcd_alarms(self, target: MachineTarget, *, timeout: float = READ) -> tuple[machine.EtcdAlarm, ...]:
        """The alarms that members have raised."""
        return await self._rows(["etcd", "alarm", "list"], target, _alarm, timeout=timeout)

    async def etcd_disarm(self, target: MachineTarget, *, timeout: float = WRITE) -> tuple[machine.EtcdAlarm, ...]:
        """End the alarms; they are raised again if their cause is still there."""
        return await self._rows(["etcd", "alarm", "disarm"], target, _alarm, timeout=timeout)

    async def etcd_defrag(self, target: MachineTarget, *, timeout: float = SNAPSHOT) -> None:
        """Give back the space that the database of one member does not use; it answers nobody meanwhile."""
        await self._ask(["etcd", "defrag"], target, timeout=timeout)

    async def etcd_leave(self, target: MachineTarget, *, timeout: float = WRITE) -> None:
        """Let a machine leave the cluster of etcd."""
        await self._ask(["etcd", "leave"], target, timeout=timeout)

    async def etcd_forfeit_leadership(self, target: MachineTarget, *, timeout: float = WRITE) -> None:
        """Let a member that leads hand over to another."""
        await self._ask(["etcd", "forfeit-leadership"], target, timeout=timeout)

    async def etcd_remove_member(self, target: MachineTarget, member: str, *, timeout: float = WRITE) -> None:
        """Remove a member whose machine is gone; the target is a machine of those that stay."""
        if not _MEMBER.fullmatch(member):
            raise errors.UsageError(f"{member[:80]!r} is not the id of an etcd member")
        await self._ask(["etcd", "remove-member"], target, operands=[member], timeout=timeout)

    async def etcd_snapshot(
        self, target: MachineTarget, path: Path, *, timeout: float = SNAPSHOT
    ) -> machine.EtcdSnapshot:
        """Write what etcd holds to a file, whole or not at all; readable for its owner only.

        It is checked by talosctl before it gets its name, so an older file of that name is lost only to a good one.
        """
        path = path.absolute()
        if not path.parent.is_dir():
            raise errors.UsageError(f"{path.parent} is not a directory")
        with atomic_file.beside(path) as unfinished, _removed(unfinished.with_name(f"{unfinished.name}.part")):
            done = await self._ask(
                ["etcd", "snapshot"], target, operands=[str(unfinished)], timeout=timeout, stays=True
            )
            match = _SNAPSHOT.search(done.text)
            if match is None or not unfinished.is_file():
                raise talos_errors.TalosUnreadable(
                    self._call(["etcd", "snapshot"], target), detail="it does not say what it wrote"
                )
            unfinished.chmod(0o600)
            atomic_file.put(unfinished, path)
        return machine.EtcdSnapshot(
            path=path,
            hash=match["hash"],
            revision=int(match["revision"]),
            keys=int(match["keys"]),
            size=int(match["size"]),
        )

    async def _rows(
        self, words: list[str], target: MachineTarget, read: Callable[[Mapping[str, str], str], T], *, timeout: float
    ) -> tuple[T, ...]:
        done = await self._ask(words, target, timeout=timeout, several=True)
        # The machine's own name is left out if there is only one and it answered itself.
        alone = target.nodes[0]
        try:
            return tuple(read(row, alone) for row in talosctl_output.parse_table(done.text))
        except (ValueError, KeyError) as error:
            raise talos_errors.TalosUnreadable(self._call(words, target), detail="the table cannot be read") from error


def _member(row: Mapping[str, str], alone: str) -> machine.EtcdMember:
    return machine.EtcdMember(
        node=row.get("NODE", alone),
        id=_id(row["ID"]),
        hostname=row["HOSTNAME"],
        peer_urls=_list(row["PEER URLS"]),
        client_urls=_list(row["CLIENT URLS"]),
        is_learner=_truth(row["LEARNER"]),
    )


def _status(row: Mapping[str, str], alone: str) -> machine.EtcdStatus:
    in_use = _IN_USE.fullmatch(row["IN USE"])
    if in_use is None:
        raise ValueError("the size in use has no share")
    leader = _id(row["LEADER"])
    return machine.EtcdStatus(
        node=row.get("NODE", alone),
        member=_id(row["MEMBER"]),
        leader="" if leader == _NOBODY else leader,
        size=talosctl_output.parse_size(row["DB SIZE"]),
        in_use=talosctl_output.parse_size(in_use["size"]),
        raft_index=int(row["RAFT INDEX"]),
        raft_term=int(row["RAFT TERM"]),
        raft_applied_index=int(row["RAFT APPLIED INDEX"]),
        is_learner=_truth(row["LEARNER"]),
        errors=row["ERRORS"],
    )


def _alarm(row: Mapping[str, str], alone: str) -> machine.EtcdAlarm:
    return machine.EtcdAlarm(node=row.get("NODE", alone), member=_id(row["MEMBER"]), alarm=row["ALARM"])


def _id(text: str) -> str:
    if not _MEMBER.fullmatch(text):
        raise ValueError(f"{text!r} is not the id of a member")
    return text


def _truth(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split(",")) if text else ()


@contextlib.contextmanager
def _removed(path: Path) -> Iterator[None]:
    """Remove what talosctl leaves behind when it is interrupted."""
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
