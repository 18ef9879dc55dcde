"""What machines say when they are asked directly: their version, memory and time."""

import dataclasses
import re
from typing import Literal

import msgspec

from firstlight import errors
from firstlight.clients.talosctl import talos_errors, talosctl_output
from firstlight.clients.talosctl.machine_target import MachineTarget, is_host
from firstlight.clients.talosctl.talosctl_program import OFFLINE, READ, WRITE, TalosctlProgram
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


class FactCommands(TalosctlProgram):
    """Questions to machines that are no resources."""

    async def client_version(self, *, timeout: float = OFFLINE) -> str:
        """The version of talosctl itself, without the v."""
        done = await self._offline(["version"], options=["--client", "--short"], timeout=timeout)
        match = _CLIENT.search(done.text)
        if match is None:
            raise talos_errors.TalosUnreadable(
                talos_errors.TalosctlCall(("version",)), detail="it does not tell its version"
            )
        return match[1] or match[2]

    async def version(self, target: MachineTarget, *, timeout: float = READ) -> machine.RunningVersion:
        """What a machine runs."""
        node = target.node
        # The option is hidden from the help, and the only form of this that is not made for reading.
        done = await self._ask(["version"], target, options=["--json"], timeout=timeout, in_maintenance=True)
        try:
            (document,) = talosctl_output.parse_documents(done.text)
            answer = msgspec.convert(document, _Answer)
        except ValueError as error:
            raise talos_errors.TalosUnreadable(
                self._call(["version"], target), detail="its version cannot be read"
            ) from error
        return machine.RunningVersion(
            node=answer.metadata.hostname or node,
            tag=answer.version.tag,
            sha=answer.version.sha,
            arch=answer.version.arch,
            platform=answer.platform.name,
            mode=answer.platform.mode,
            has_rbac=answer.features.rbac,
        )

    async def boot_id(self, target: MachineTarget, *, timeout: float = READ) -> str:
        """What names the boot that a machine lives in; each has another one."""
        done = await self._ask(["read"], target, operands=[_BOOT_ID], timeout=timeout)
        return done.text.strip()

    async def memory(self, target: MachineTarget, *, timeout: float = READ) -> tuple[machine.Memory, ...]:
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
            raise talos_errors.TalosUnreadable(
                self._call(["memory"], target), detail="its memory cannot be read"
            ) from error

    async def time(
        self, target: MachineTarget, *, server: str = "", timeout: float = READ
    ) -> tuple[machine.Clock, ...]:
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
                    node_time=talosctl_output.parse_time(row["NODE-TIME"]),
                    server_time=talosctl_output.parse_time(row["NTP-SERVER-TIME"]),
                )
                for row in talosctl_output.parse_table(done.text)
            )
        except (ValueError, KeyError) as error:
            raise talos_errors.TalosUnreadable(
                self._call(["time"], target), detail="its time cannot be read"
            ) from error


def _kilobytes(text: str) -> int:
    number, _, unit = text.partition(" ")
    if unit != "kB":
        raise ValueError(f"{text!r} is not in kB")
    return int(number) * 1024


# The services of machines: their states, their logs, and the kernel's.


ServiceAction = Literal["start", "stop", "restart"]

_HEADING = ["NODE", "SERVICE", "STATE", "HEALTH", "LAST", "CHANGE", "LAST", "EVENT"]
_ROW = re.compile(
    r"(?P<node>\S+) {3,}(?P<id>\S+) {3,}(?P<state>\S+) {3,}(?P<health>OK|Fail|\?) {3,}(?P<ago>\S+)? ?ago {3,}"
    r"(?P<event>.*)"
)
_HEALTH = {"OK": True, "Fail": False, "?": None}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")


class ServiceCommands(TalosctlProgram):
    """What runs on machines, and what it says."""

    async def service_states(
        self, target: MachineTarget, *, timeout: float = READ
    ) -> tuple[machine.TalosServiceState, ...]:
        """Every service of machines, those that do not run included, and what last happened to it."""
        # A table: the resources, which there are as JSON, have neither the state nor the event.
        done = await self._ask(["service"], target, timeout=timeout, several=True)
        heading, *lines = done.text.removesuffix("\n").split("\n")
        if heading.split() != _HEADING:
            raise talos_errors.TalosUnreadable(self._call(["service"], target), detail="its services cannot be read")
        found: list[machine.TalosServiceState] = []
        for line in lines:
            match = _ROW.fullmatch(line)
            if match is not None:
                found.append(_state(match))
            elif found:
                # An event of several lines; the columns of the lines after it start elsewhere.
                found[-1] = dataclasses.replace(found[-1], last_event=f"{found[-1].last_event}\n{line}")
        return tuple(found)

    async def service_action(
        self, target: MachineTarget, id: str, action: ServiceAction, *, timeout: float = WRITE
    ) -> None:
        """Start, stop or restart a service of a machine."""
        await self._ask(["service"], target, operands=[_id(id), action], timeout=timeout)

    async def logs(
        self,
        target: MachineTarget,
        id: str,
        *,
        tail: int | None = None,
        kubernetes: bool = False,
        timeout: float = READ,
    ) -> tuple[str, ...]:
        """The log of a service of a machine, or with ``kubernetes`` of a container, from its beginning."""
        options = [*([f"--tail={tail}"] if tail is not None else []), *(["--kubernetes"] if kubernetes else [])]
        done = await self._ask(["logs"], target, options=options, operands=[_id(id)], timeout=timeout)
        return _lines(done.text, target.node)

    async def dmesg(self, target: MachineTarget, *, timeout: float = READ) -> tuple[str, ...]:
        """The kernel's log of a machine, in which Talos logs, too."""
        done = await self._ask(["dmesg"], target, timeout=timeout)
        return _lines(done.text, target.node)


def _id(text: str) -> str:
    if not _ID.fullmatch(text):
        raise errors.UsageError(f"{text[:80]!r} is not the name of a service")
    return text


def _lines(text: str, node: str) -> tuple[str, ...]:
    """The lines without the machine's name, with which each begins."""
    prefix = f"{node}: "
    return tuple(line.removeprefix(prefix) for line in text.removesuffix("\n").split("\n")) if text else ()


def _state(row: re.Match[str]) -> machine.TalosServiceState:
    return machine.TalosServiceState(
        node=row["node"],
        id=row["id"],
        state=row["state"],
        is_healthy=_HEALTH[row["health"]],
        last_event="" if row["event"] == "<none>" else row["event"],
        last_change=talosctl_output.parse_duration(row["ago"]) if row["ago"] else None,
    )
