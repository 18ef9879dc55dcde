"""What the simulations share: the client, the settings, and the pods, nodes and definitions as last seen."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import directory
from firstlight.lab import settings as lab_settings

MANAGER = "lab"
log = logging.getLogger("lab")

PARTS = frozenset({
    "nodes", "pods", "definitions", "egress", "webhooks", "volumes", "load_balancers", "certificate_requests",
    "custom_resources",
})  # fmt: skip
"""What must have started before the lab is ready."""

Object = dict[str, Any]


class World:
    """The cluster, as the simulations see it."""

    def __init__(
        self, home: directory.Directory, client: kube.Client, wanted: lab_settings.Settings, loopback: str
    ) -> None:
        self.home = home
        self.client = client
        self.settings = wanted
        self.loopback = loopback
        self.pods: dict[tuple[str, str], Object] = {}
        self.nodes: dict[str, Object] = {}
        self.definitions: dict[str, Object] = {}
        """Established CustomResourceDefinitions by name."""
        self._version = 0
        self._changed = asyncio.Condition()
        self._starting = set(PARTS)
        self.started = asyncio.Event()
        """Set once every simulation listens."""

    async def notify(self) -> None:
        """Say that pods, nodes or definitions are not what they were."""
        async with self._changed:
            self._version += 1
            self._changed.notify_all()

    async def changes(self) -> AsyncIterator[None]:
        """Once at first, then whenever something has changed; changes that come together count once."""
        seen = -1
        while True:
            async with self._changed:
                while self._version == seen:
                    await self._changed.wait()
                seen = self._version
            yield

    def has_ready_pod(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod with all these labels is ready."""
        return any(
            labels.items() <= pod["metadata"].get("labels", {}).items() and is_ready(pod) for pod in self.pods.values()
        )

    def start(self, name: str) -> None:
        """Called by each simulation once it listens."""
        self._starting.discard(name)
        if not self._starting:
            self.started.set()

    @contextlib.contextmanager
    def forgiving(self, what: str) -> Iterator[None]:
        """Log what the API refuses and go on: the object has changed or gone, and the next event brings it again."""
        try:
            yield
        except errors.ClientError as error:
            log.info("%s: %s", what, error)


def condition(obj: Object, kind: str) -> str:
    """The status of a condition; empty if there is none."""
    for each in obj.get("status", {}).get("conditions") or ():
        if each["type"] == kind:
            return str(each["status"])
    return ""


def is_ready(obj: Object) -> bool:
    """Whether the condition Ready is true."""
    return condition(obj, "Ready") == "True"


def key(obj: Object) -> tuple[str, str]:
    """Namespace and name."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]
