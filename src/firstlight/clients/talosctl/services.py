"""The services of machines: their states, their logs, and the kernel's."""

import dataclasses
import re
from typing import Literal

from firstlight import errors
from firstlight.clients.talosctl import errors as talos_errors
from firstlight.clients.talosctl import units
from firstlight.clients.talosctl.program import READ, WRITE, Program
from firstlight.clients.talosctl.target import Target
from firstlight.model import machine

Action = Literal["start", "stop", "restart"]

_HEADING = ["NODE", "SERVICE", "STATE", "HEALTH", "LAST", "CHANGE", "LAST", "EVENT"]
_ROW = re.compile(
    r"(?P<node>\S+) {3,}(?P<id>\S+) {3,}(?P<state>\S+) {3,}(?P<health>OK|Fail|\?) {3,}(?P<ago>\S+)? ?ago {3,}"
    r"(?P<event>.*)"
)
_HEALTH = {"OK": True, "Fail": False, "?": None}
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]*")


class Services(Program):
    """What runs on machines, and what it says."""

    async def service_states(self, target: Target, *, timeout: float = READ) -> tuple[machine.ServiceState, ...]:
        """Every service of machines, those that do not run included, and what last happened to it."""
        # A table: the resources, which there are as JSON, have neither the state nor the event.
        done = await self._ask(["service"], target, timeout=timeout, several=True)
        heading, *lines = done.text.removesuffix("\n").split("\n")
        if heading.split() != _HEADING:
            raise talos_errors.Unreadable(self._call(["service"], target), detail="its services cannot be read")
        found: list[machine.ServiceState] = []
        for line in lines:
            match = _ROW.fullmatch(line)
            if match is not None:
                found.append(_state(match))
            elif found:
                # An event of several lines; the columns of the lines after it start elsewhere.
                found[-1] = dataclasses.replace(found[-1], last_event=f"{found[-1].last_event}\n{line}")
        return tuple(found)

    async def service_action(self, target: Target, id: str, action: Action, *, timeout: float = WRITE) -> None:
        """Start, stop or restart a service of a machine."""
        await self._ask(["service"], target, operands=[_id(id), action], timeout=timeout)

    async def logs(
        self, target: Target, id: str, *, tail: int | None = None, kubernetes: bool = False, timeout: float = READ
    ) -> tuple[str, ...]:
        """The log of a service of a machine, or with ``kubernetes`` of a container, from its beginning."""
        options = [*([f"--tail={tail}"] if tail is not None else []), *(["--kubernetes"] if kubernetes else [])]
        done = await self._ask(["logs"], target, options=options, operands=[_id(id)], timeout=timeout)
        return _lines(done.text, target.node)

    async def dmesg(self, target: Target, *, timeout: float = READ) -> tuple[str, ...]:
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


def _state(row: re.Match[str]) -> machine.ServiceState:
    return machine.ServiceState(
        node=row["node"],
        id=row["id"],
        state=row["state"],
        is_healthy=_HEALTH[row["health"]],
        last_event="" if row["event"] == "<none>" else row["event"],
        last_change=units.seconds(row["ago"]) if row["ago"] else None,
    )
