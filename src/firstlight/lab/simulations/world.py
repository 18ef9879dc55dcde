"""What the simulations share: a client, the settings, and the objects of the kinds they follow, as last seen."""

import asyncio
import contextlib
import datetime
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import directory
from firstlight.lab import settings as lab_settings

MANAGER = "lab"
RETRY_SECONDS = 0.5
log = logging.getLogger("lab")

Object = dict[str, Any]
Key = tuple[str, str]
Store = dict[Key, Object]


class World:
    """The cluster, as the simulations see it."""

    def __init__(
        self,
        home: directory.Directory,
        client: kube.Client,
        wanted: lab_settings.Settings,
        *,
        loopback: str,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.home = home
        self.client = client
        self.settings = wanted
        self.loopback = loopback
        self.tasks = tasks
        self._version = 0
        self._changed = asyncio.Condition()
        self._stores: dict[tuple[str, str], Store] = {}
        self.pods: Store = {}
        self.nodes: Store = {}
        self.definitions: Store = {}

    async def start(self) -> None:
        """Follow what every simulation looks at."""
        self.pods, self.nodes, self.definitions = await asyncio.gather(
            self.follow("v1", "Pod"),
            self.follow("v1", "Node"),
            self.follow("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
        )

    async def follow(self, api_version: str, kind: str) -> Store:
        """The objects of a kind, kept up to date; all that are there now when this returns."""
        identity = (api_version, kind)
        if identity not in self._stores:
            self._stores[identity] = {}
            synced = asyncio.Event()
            self.tasks.create_task(self._keep(api_version, kind, synced), name=f"follow {kind}")
            await synced.wait()
        return self._stores[identity]

    async def _keep(self, api_version: str, kind: str, synced: asyncio.Event) -> None:
        store = self._stores[api_version, kind]
        try:
            async for event in self.client.watch(api_version, kind):
                match event:
                    case kube.Synced():
                        synced.set()
                    case kube.Deleted(obj):
                        store.pop(key(obj), None)
                    case kube.Added(obj) | kube.Modified(obj):
                        store[key(obj)] = obj
                await self.notify()
        except (kube.NotFound, kube.UnknownKind):
            # Its definition was deleted: whoever wants it followed asks again when there is a new one.
            log.info("%s is no longer served", kind)
            self._stores.pop((api_version, kind))
            store.clear()
            synced.set()

    async def notify(self) -> None:
        """Say that something is not what it was."""
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

    async def each(self, objects: Iterable[Object], action: Callable[[Object], Awaitable[None]]) -> None:
        """Do something with several objects at once; what the API refuses is logged and comes up again soon."""

        async def one(obj: Object) -> None:
            try:
                await action(obj)
            except errors.ClientError as error:
                log.info("%s %s: %s", obj.get("kind"), key(obj), error)
                asyncio.get_running_loop().call_later(RETRY_SECONDS, self._notify_later)

        await asyncio.gather(*(one(obj) for obj in objects))

    def _notify_later(self) -> None:
        with contextlib.suppress(RuntimeError):  # the simulator is stopping
            self.tasks.create_task(self.notify())

    def has_ready_pod(self, labels: Mapping[str, str]) -> bool:
        """Whether a pod with all these labels is ready."""
        return any(
            labels.items() <= pod["metadata"].get("labels", {}).items() and is_ready(pod) for pod in self.pods.values()
        )

    def definition(self, group: str, kind: str) -> Object | None:
        """An established definition of a kind."""
        for each in self.definitions.values():
            spec = each["spec"]
            if spec["group"] == group and spec["names"]["kind"] == kind and condition(each, "Established") == "True":
                return each
        return None


def condition(obj: Object, kind: str) -> str:
    """The status of a condition; empty if there is none."""
    for each in obj.get("status", {}).get("conditions") or ():
        if each["type"] == kind:
            return str(each["status"])
    return ""


def is_ready(obj: Object) -> bool:
    """Whether the condition Ready is true."""
    return condition(obj, "Ready") == "True"


def key(obj: Object) -> Key:
    """Namespace and name."""
    return obj["metadata"].get("namespace", ""), obj["metadata"]["name"]


def now() -> str:
    """The time as Kubernetes writes it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
