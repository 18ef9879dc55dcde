"""What the simulations share: a client, the settings, and the objects of the kinds they follow, as last seen."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import lab_directory, lab_settings, loopback_network

MANAGER = "lab"
FIRST_RETRY, LAST_RETRY = 0.25, 15.0
log = logging.getLogger("lab")

Object = dict[str, Any]
Key = tuple[str, str]
Store = dict[Key, Object]


@dataclasses.dataclass(frozen=True)
class FollowedKind:
    """A kind that is watched."""

    store: Store
    synced: asyncio.Future[None]


class SimulatedCluster:
    """The cluster, as the simulations see it."""

    def __init__(
        self,
        home: lab_directory.LabDirectory,
        client: kube.Client,
        wanted: lab_settings.LabSettings,
        *,
        net: loopback_network.LoopbackNetwork,
        tasks: asyncio.TaskGroup,
    ) -> None:
        self.home = home
        self.client = client
        self.settings = wanted
        self.net = net
        self.tasks = tasks
        self._version = 0
        self._changed = asyncio.Condition()
        self._followed: dict[tuple[str, str], FollowedKind] = {}
        self._failures: dict[tuple[str, Key], tuple[str, int]] = {}
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
        """The objects of a kind, kept up to date; all that are there now when this returns.

        Raises:
            errors.ClientError: The kind is not served, not yet or no longer.
        """
        followed = self._followed.get((api_version, kind))
        if followed is None:
            followed = self._followed[api_version, kind] = FollowedKind({}, asyncio.get_running_loop().create_future())
            self.tasks.create_task(self._keep(api_version, kind, followed), name=f"follow {kind}")
        await asyncio.shield(followed.synced)
        return followed.store

    async def _keep(self, api_version: str, kind: str, followed: FollowedKind) -> None:
        try:
            async for event in self.client.watch(api_version, kind):
                match event:
                    case kube.Synced():
                        followed.synced.set_result(None)
                    case kube.Deleted(obj):
                        followed.store.pop(key(obj), None)
                    case kube.Added(obj) | kube.Modified(obj):
                        followed.store[key(obj)] = obj
                await self.notify()
        except (kube.NotFound, kube.UnknownKind) as error:
            # Its definition is gone, or not yet served: whoever wants it followed asks again.
            del self._followed[api_version, kind]
            followed.store.clear()
            if not followed.synced.done():
                followed.synced.set_exception(error)
                followed.synced.exception()  # somebody has seen it, even if the caller was cancelled

    @staticmethod
    def put(store: Store, obj: Object) -> None:
        """Remember what a write answered, unless the object has gone or moved on meanwhile."""
        known = store.get(key(obj))
        if known is not None and known["metadata"].get("uid") == obj["metadata"].get("uid"):
            versions = [int(each["metadata"].get("resourceVersion", 0)) for each in (known, obj)]
            if versions[1] > versions[0]:
                store[key(obj)] = obj

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
        """Do something with several objects at once; what fails is logged once and comes up again, ever more rarely."""

        async def one(obj: Object) -> None:
            identity = (str(obj.get("kind")), key(obj))
            try:
                await action(obj)
                self._failures.pop(identity, None)
            except Exception as error:
                said, times = self._failures.get(identity, ("", 0))
                if str(error) != said:
                    expected = isinstance(error, errors.ClientError)
                    log.info("%s %s: %s", *identity, error, exc_info=None if expected else error)
                self._failures[identity] = (str(error), times + 1)
                delay = min(FIRST_RETRY * 2.0**times, LAST_RETRY)
                asyncio.get_running_loop().call_later(delay, self._notify_later)

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
