"""Faults on the way to the API server: orders to the lab's proxy."""

from typing import Any

import msgspec

from firstlight.lab import directory
from firstlight.lab.socket_client import SocketClient
from firstlight.model import fault as model


class Active(msgspec.Struct, frozen=True):
    """A rule in force."""

    rule: dict[str, Any]
    matched: int
    hits: int


class Request(msgspec.Struct, frozen=True, rename="camel"):
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
    faults: tuple[Active, ...]


class _Requests(msgspec.Struct, frozen=True):
    requests: tuple[Request, ...]


class Faults:
    """The proxy of one lab."""

    def __init__(self, home: directory.Directory) -> None:
        self._client = SocketClient(home.faults, what=f"the fault proxy of lab {home.name}")

    async def add(self, fault: model.Kind, **rule: Any) -> str:
        """Let a fault happen; the rule's parts are those of docs/lab.md, 'Faults'. The id of the rule."""
        answer = await self._client.call("POST", "/faults", body=msgspec.json.encode({"fault": fault, **rule}))
        return str(msgspec.json.decode(answer)["id"])

    async def active(self) -> tuple[Active, ...]:
        """The rules in force, with how often each has struck."""
        return msgspec.json.decode(await self._client.call("GET", "/faults"), type=_Active).faults

    async def clear(self, rule: str = "") -> None:
        """End one rule, or all."""
        await self._client.call("DELETE", f"/faults/{rule}" if rule else "/faults")

    async def seed(self, number: int) -> None:
        """Start the proxy's randomness again from a number."""
        await self._client.call("POST", "/seed", body=msgspec.json.encode({"seed": number}))

    async def requests(self, since: int = 0) -> tuple[Request, ...]:
        """What passed through the proxy after the request of a number, the newest 10,000 at most."""
        return msgspec.json.decode(await self._client.call("GET", f"/requests?since={since}"), type=_Requests).requests

    async def cut_watches(self) -> None:
        """End every running watch now."""
        await self._client.call("POST", "/watches/cut")
