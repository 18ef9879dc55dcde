"""CRDs that the API server has left in Installing are woken, whoever made them and whichever step waits for them.

One for each run, beside its steps. A step may wait for a CRD in many ways: the gate of its own CRDs, an object whose
kind is not served yet, a Helm release, an engine that brings CRDs itself. So no step looks for itself.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from firstlight import errors
from firstlight.clients import kube
from firstlight.document.within import text
from firstlight.execute.world import PendingChange, World
from firstlight.gates import crds
from firstlight.gates.gate_parts import GateQuestion
from firstlight.model.observation import GateView, WatchTarget
from firstlight.model.plan import Gate, Subject
from firstlight.model.verdict import Passed, Verdict, Waiting

MANAGER = "firstlight"
SETTLED = 3.0
"""Seconds after which a run begins to look: one that has nothing to wait for is over by then."""
PAUSE = 1.0
"""Seconds between two looks for a way to the API."""
_API_VERSION, _KIND = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
_LOOK = WatchTarget(api_version=_API_VERSION, kind=_KIND)
_API_SERVERS = "apiserver.kubernetes.io/identity=kube-apiserver"
"""Labels of the Leases by which API servers tell who they are; each process has an identity of its own."""
_FOR_EVER = 86400.0

Key = tuple[str, str]
"""The UID and the version of a CRD."""


class CrdWaking:
    """Watches all CRDs, and wakes each that stays in Installing for longer than a healthy API server needs."""

    def __init__(
        self,
        world: World,
        *,
        write: Callable[[PendingChange], Awaitable[None]],
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Prepare.

        Args:
            world: The cluster, which may be reached only later.
            write: Performs a change, if this run may write.
            tell: Told of each CRD that is woken.
            clock: Seconds, for how long a CRD has not changed: clocks of the cluster may differ.
            now: The wall clock.
            sleep: How to wait.
        """
        self._world = world
        self._write = write
        self._tell = tell
        self._clock = clock
        self._now = now
        self._sleep = sleep
        self._since: dict[Key, float] = {}
        self._due: tuple[Mapping[str, Any], ...] = ()
        self._woken: dict[str, frozenset[str]] = {}
        """The API servers that there were when a CRD was woken, by its UID."""
        self._told: set[str] = set()

    async def watch(self) -> None:
        """Wake what gets stuck; ends with the run, by being cancelled, or when this run must not write."""
        await self._sleep(SETTLED)
        while True:
            if not self._world.is_connected:
                await self._sleep(PAUSE)
                continue
            try:
                await self._world.watching.wait(_question(self._judge), on_verdict=lambda _: None)
                for crd in self._due:
                    await self._come_to(crd)
            except errors.Refused as error:
                self._say(f"CRDs stuck in Installing are not woken: {error.message}")
                return
            except errors.ClientError as error:
                # Whoever waits for the API says so; a CRD is looked at again when it answers.
                self._say(f"looking again for CRDs stuck in Installing: {error.message}")
                await self._sleep(PAUSE)

    def _judge(self, view: GateView) -> Verdict:
        at = self._clock()
        installing = {_key(each): each for each in view.all(_LOOK) if crds.is_installing(each)}
        self._since = {key: self._since.get(key, at) for key in installing}
        self._due = tuple(
            crd for key, crd in installing.items() if at - self._since[key] >= crds.LONGEST_INSTALLING
        )  # fmt: skip
        return Passed() if self._due else Waiting("no CRD is stuck in Installing")

    async def _come_to(self, crd: Mapping[str, Any]) -> None:
        """Wake a CRD; a second time only if the API server was restarted since, else nothing would come of it."""
        name, uid = text(crd, "metadata", "name"), text(crd, "metadata", "uid")
        self._since[_key(crd)] = self._clock()  # it is come to again only after as long a time
        servers = await self._servers()
        if uid in self._woken and servers <= self._woken[uid]:
            self._say(f"CRD {name} was woken, and the API server still does not establish it: see its log")
            return
        seconds = f"{crds.LONGEST_INSTALLING:.0f} s"
        self._tell(f"waking CRD {name}: in Installing for more than {seconds}; {crds.WHY_STUCK}")

        async def perform() -> None:
            patch = crds.wake_patch(crd, self._now())
            await self._world.kube.patch(
                _API_VERSION, _KIND, name, patch, form="json", manager=MANAGER, subresource="status"
            )

        try:
            await self._write(PendingChange(writes=(f"wake CRD {name}",), perform=perform))
        except (kube.Conflict, kube.Invalid, kube.NotFound):
            return  # it changed meanwhile, which wakes it too
        except kube.Forbidden as error:
            self._say(f"CRD {name} could not be woken: {error.detail}")
        self._woken[uid] = servers

    async def _servers(self) -> frozenset[str]:
        try:
            found = await self._world.kube.list(
                "coordination.k8s.io/v1", "Lease", namespace="kube-system", labels=_API_SERVERS
            )
        except kube.Forbidden:
            return frozenset()
        return frozenset(text(each, "spec", "holderIdentity") for each in found.items)

    def _say(self, told: str) -> None:
        if told not in self._told:
            self._told.add(told)
            self._tell(told)


def _question(judge: Callable[[GateView], Verdict]) -> GateQuestion:
    gate = Gate(Subject.CRDS)
    return GateQuestion(gate=gate, name="stuck CRDs", looks=(_LOOK,), judge=judge, timeout=_FOR_EVER)


def _key(crd: Mapping[str, Any]) -> Key:
    return text(crd, "metadata", "uid"), text(crd, "metadata", "resourceVersion")
