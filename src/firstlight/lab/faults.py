"""The faults that the lab's proxy knows, and the classes of requests that they can happen to."""

from typing import Any, Literal

import msgspec

from firstlight.lab import lab_directory
from firstlight.lab.socket_client import SocketClient

FaultKind = Literal[
    "latency", "reset-before", "reset-after", "truncate", "status", "blackhole", "slow", "tls-close",
    "watch-cut", "watch-gone", "duplicate-event", "stale-list",
]  # fmt: skip
RequestClass = Literal["discovery", "get", "list", "watch", "create", "update", "delete", "other"]


# Faults on the way to the API server: orders to the lab's proxy.


class ActiveFault(msgspec.Struct, frozen=True):
    """A rule in force."""

    rule: dict[str, Any]
    matched: int
    hits: int


class ProxiedRequest(msgspec.Struct, frozen=True, rename="camel"):
    """What passed through the proxy."""

    number: int
    user: str
    method: str
    path: str
    class_: str = msgspec.field(name="class")
    status: int
    """0 where nothing was answered."""
    milliseconds: float
    bytes: int
    faults: tuple[str, ...] = ()


class _Active(msgspec.Struct, frozen=True):
    faults: tuple[ActiveFault, ...]


class _Requests(msgspec.Struct, frozen=True):
    requests: tuple[ProxiedRequest, ...]


class FaultProxy:
    """The proxy of one lab."""

    def __init__(self, home: lab_directory.LabDirectory) -> None:
        self._client = SocketClient(home.faults, what=f"the fault proxy of lab {home.name}")

    async def add(self, fault: FaultKind, **rule: Any) -> str:
        """Let a fault happen; the rule's parts are those of docs/lab.md, 'Faults'. The id of the rule."""
        answer = await self._client.call("POST", "/faults", body=msgspec.json.encode({"fault": fault, **rule}))
        return str(msgspec.json.decode(answer)["id"])

    async def active(self) -> tuple[ActiveFault, ...]:
        """The rules in force, with how often each has struck."""
        return msgspec.json.decode(await self._client.call("GET", "/faults"), type=_Active).faults

    async def clear(self, rule: str = "") -> None:
        """End one rule, or all."""
        await self._client.call("DELETE", f"/faults/{rule}" if rule else "/faults")

    async def seed(self, number: int) -> None:
        """Start the proxy's randomness again from a number."""
        await self._client.call("POST", "/seed", body=msgspec.json.encode({"seed": number}))

    async def requests(self, since: int = 0) -> tuple[ProxiedRequest, ...]:
        """What passed through the proxy after the request of a number, the newest 10,000 at most."""
        return msgspec.json.decode(await self._client.call("GET", f"/requests?since={since}"), type=_Requests).requests

    async def cut_watches(self) -> None:
        """End every running watch now."""
        await self._client.call("POST", "/watches/cut")
