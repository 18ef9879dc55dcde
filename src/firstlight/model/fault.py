"""The faults that the lab's proxy knows, and the classes of requests that they can happen to."""

from typing import Literal

Kind = Literal[
    "latency", "reset-before", "reset-after", "truncate", "status", "blackhole", "slow", "tls-close",
    "watch-cut", "watch-gone", "duplicate-event", "stale-list",
]  # fmt: skip
RequestClass = Literal["discovery", "get", "list", "watch", "create", "update", "delete", "other"]
