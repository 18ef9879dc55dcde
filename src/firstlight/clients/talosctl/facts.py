"""What machines say when they are asked directly: their version, memory and time."""

import re

import msgspec

from firstlight import errors
from firstlight.clients.talosctl import documents, tables, units
from firstlight.clients.talosctl import errors as talos_errors
from firstlight.clients.talosctl.program import OFFLINE, READ, Program
from firstlight.clients.talosctl.target import Target, is_host
from firstlight.model import machine

_CLIENT = re.compile(r"Talos v(\S+)|Tag:\s+v(\S+)")
_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class _Metadata(msgspec.Struct, frozen=True):
    hostname: str = ""


class _Version(msgspec.Struct, frozen=True):
    tag: str
    sha: str = ""
    arch: str = ""


class _Platform(msgspec.Struct, frozen=True):
    name: str = ""
    mode: str = ""


class _Features(msgspec.Struct, frozen=True):
    rbac: bool = False


class _Answer(msgspec.Struct, frozen=True):
    """What ``version --json`` prints; values that are empty are left out."""

    version: _Version
    metadata: _Metadata = _Metadata()
    platform: _Platform = _Platform()
    features: _Features = _Features()


class Facts(Program):
    """Questions to machines that are no resources."""

    async def client_version(self, *, timeout: float = OFFLINE) -> str:
        """The version of talosctl itself, without the v."""
        done = await self._offline(["version"], options=["--client", "--short"], timeout=timeout)
        match = _CLIENT.search(done.text)
        if match is None:
            raise talos_errors.Unreadable(talos_errors.Call(("version",)), detail="it does not tell its version")
        return match[1] or match[2]

    async def version(self, target: Target, *, timeout: float = READ) -> machine.Version:
        """What a machine runs."""
        node = target.node
        # The option is hidden from the help, and the only form of this that is not made for reading.
        done = await self._ask(["version"], target, options=["--json"], timeout=timeout, in_maintenance=True)
        try:
            (document,) = documents.parse(done.text)
            answer = msgspec.convert(document, _Answer)
        except ValueError as error:
            raise talos_errors.Unreadable(
                self._call(["version"], target), detail="its version cannot be read"
            ) from error
        return machine.Version(
            node=answer.metadata.hostname or node,
            tag=answer.version.tag,
            sha=answer.version.sha,
            arch=answer.version.arch,
            platform=answer.platform.name,
            mode=answer.platform.mode,
            has_rbac=answer.features.rbac,
        )

    async def boot_id(self, target: Target, *, timeout: float = READ) -> str:
        """What names the boot that a machine lives in; each has another one."""
        done = await self._ask(["read"], target, operands=[_BOOT_ID], timeout=timeout)
        return done.text.strip()

    async def memory(self, target: Target, *, timeout: float = READ) -> tuple[machine.Memory, ...]:
        """The memory of machines."""
        # The table is in rounded megabytes; the long form has what /proc/meminfo has, after a line for each node.
        done = await self._ask(["memory"], target, options=["--verbose"], timeout=timeout, several=True)
        found: list[dict[str, str]] = []
        for line in done.text.splitlines():
            name, _, value = line.partition(": ")
            if name == "NODE":
                found.append({})
            if found:
                found[-1][name] = value
        try:
            return tuple(
                machine.Memory(
                    node=each["NODE"],
                    total=_kilobytes(each["MemTotal"]),
                    free=_kilobytes(each["MemFree"]),
                    available=_kilobytes(each["MemAvailable"]),
                )
                for each in found
            )
        except (ValueError, KeyError) as error:
            raise talos_errors.Unreadable(self._call(["memory"], target), detail="its memory cannot be read") from error

    async def time(self, target: Target, *, server: str = "", timeout: float = READ) -> tuple[machine.Clock, ...]:
        """The time of machines beside that of a time server: the one they use, or a given one."""
        if server and not is_host(server):
            raise errors.UsageError(f"{server[:80]!r} is not an address or a host name")
        options = [f"--check={server}"] if server else []
        # A table, since the command knows no other form.
        done = await self._ask(["time"], target, options=options, timeout=timeout, several=True)
        try:
            return tuple(
                machine.Clock(
                    node=row["NODE"],
                    server=row["NTP-SERVER"],
                    node_time=units.time(row["NODE-TIME"]),
                    server_time=units.time(row["NTP-SERVER-TIME"]),
                )
                for row in tables.parse(done.text)
            )
        except (ValueError, KeyError) as error:
            raise talos_errors.Unreadable(self._call(["time"], target), detail="its time cannot be read") from error


def _kilobytes(text: str) -> int:
    number, _, unit = text.partition(" ")
    if unit != "kB":
        raise ValueError(f"{text!r} is not in kB")
    return int(number) * 1024
