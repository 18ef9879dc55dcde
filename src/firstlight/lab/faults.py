"""Faults on the way to the API server: orders to the lab's proxy."""

from typing import Any, Literal

import msgspec

from firstlight.lab import directory
from firstlight.lab.socket_client import SocketClient

Fault = Literal[
    "latency", "reset-before", "reset-after", "truncate", "status", "blackhole", "slow", "tls-close",
    "watch-cut", "watch-gone", "duplicate-event", "stale-list",
]  # fmt: skip
RequestClass = Literal["discovery", "get", "list", "watch", "create", "update", "delete", "other"]


class Faults:
    """The proxy of one lab."""

    def __init__(self, home: directory.Directory) -> None:
        self._client = SocketClient(home.faults, what=f"the fault proxy of lab {home.name}")

    async def add(self, fault: Fault, **rule: Any) -> str:
        """Let a fault happen; the rule's parts are those of docs/lab.md, 'Faults'. The id of the rule."""
        answer = await self._client.call("POST", "/faults", body=msgspec.json.encode({"fault": fault, **rule}))
        return str(msgspec.json.decode(answer)["id"])

    async def rules(self) -> list[dict[str, Any]]:
        """The rules in force, with how often each has struck."""
        rules: list[dict[str, Any]] = msgspec.json.decode(await self._client.call("GET", "/faults"))
        return rules

    async def clear(self, rule: str = "") -> None:
        """End one rule, or all."""
        await self._client.call("DELETE", f"/faults/{rule}" if rule else "/faults")

    async def seed(self, number: int) -> None:
        """Start the proxy's randomness again from a number."""
        await self._client.call("POST", "/seed", body=msgspec.json.encode({"seed": number}))

    async def stats(self) -> dict[str, Any]:
        """Requests by class, and how often faults struck."""
        stats: dict[str, Any] = msgspec.json.decode(await self._client.call("GET", "/stats"))
        return stats

    async def requests(self, since: int = 0) -> list[dict[str, Any]]:
        """What passed through the proxy, the newest 10,000 at most."""
        answer: list[dict[str, Any]] = msgspec.json.decode(await self._client.call("GET", f"/requests?since={since}"))
        return answer

    async def cut_watches(self) -> None:
        """End every running watch now."""
        await self._client.call("POST", "/watches/cut")
