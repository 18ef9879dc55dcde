"""Trouble on request: a server that refuses, hangs or hangs up, for all its repositories or some of them."""

import asyncio
import dataclasses
import itertools
from typing import Literal

import msgspec

SourceFaultKind = Literal["unavailable", "hang", "drop", "unauthorized"]
ServerName = Literal["git", "registry", "charts"]


class SourceFault(msgspec.Struct, frozen=True, rename="camel"):
    """A fault in force."""

    id: str
    kind: SourceFaultKind
    server: ServerName
    repository: str
    """Its own name, or the beginning of several; empty for all."""
    seconds: float
    """How long in all; 0 until it is cleared."""
    hits: int


@dataclasses.dataclass
class _Active:
    fault: SourceFault
    over: asyncio.Event
    timer: asyncio.TimerHandle | None = None
    hits: int = 0

    def concerns(self, server: ServerName, repository: str) -> bool:
        named = self.fault.repository
        return self.fault.server == server and (not named or f"{repository}/".startswith(f"{named}/"))


class SourceFaults:
    """Those in force."""

    def __init__(self) -> None:
        self._active: dict[str, _Active] = {}
        self._numbers = itertools.count(1)

    def add(
        self, kind: SourceFaultKind, server: ServerName, *, repository: str = "", seconds: float = 0
    ) -> SourceFault:
        """Let it happen from now on."""
        fault = SourceFault(str(next(self._numbers)), kind, server, repository, seconds, 0)
        active = _Active(fault, asyncio.Event())
        if seconds:
            active.timer = asyncio.get_running_loop().call_later(seconds, self.clear, fault.id)
        self._active[fault.id] = active
        return fault

    def active(self) -> tuple[SourceFault, ...]:
        """All of them, with how often each has struck."""
        return tuple(msgspec.structs.replace(each.fault, hits=each.hits) for each in self._active.values())

    def clear(self, fault: str = "") -> None:
        """End one, or all."""
        for name in [fault] if fault else list(self._active):
            ended = self._active.pop(name, None)
            if ended is not None:
                ended.over.set()
                if ended.timer is not None:
                    ended.timer.cancel()

    def strike(self, server: ServerName, repository: str) -> SourceFault | None:
        """The newest fault that a request meets."""
        for each in reversed(self._active.values()):
            if each.concerns(server, repository):
                each.hits += 1
                return each.fault
        return None

    async def over(self, fault: SourceFault) -> None:
        """Wait until it has ended."""
        if fault.id in self._active:
            await self._active[fault.id].over.wait()
