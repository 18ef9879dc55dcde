"""A shop under a real Flux, and commands of overrides on it: whole, or in another process that is killed at a write."""

import asyncio
import contextlib
import dataclasses
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec

from firstlight.clients import command, kube
from firstlight.commands.override import apply, begin, end, session
from firstlight.commands.override.git_agreement import RenderedGit
from firstlight.commands.override.session import lease_held
from firstlight.execute.overrides import object_snapshot
from firstlight.execute.overrides.override_context import (
    OverrideContext,
    OverrideEvent,
    OverrideWriting,
    OverrideWritten,
)
from firstlight.model.component import ObjectId
from firstlight.model.override import Override, OverrideStanding
from tests.flux import OFTEN, Flux, config
from tests.integration.commands.override import overriding
from tests.integration.commands.override.overriding import part, placed, web, web_id, wish

COMMANDS = ("begin", "apply", "delete", "end", "abort")
MAP = {"a": "1"}


class Order(msgspec.Struct, frozen=True):
    """One command, and where the process that runs it is killed."""

    command: str
    kubeconfig: str
    state: str
    space: str
    id: str = ""
    replicas: int = 0
    revision: str = ""
    write: int = 0
    """The number of the write, from 1."""
    moment: str = ""
    """``before`` it is sent, or ``after`` it was answered."""


async def perform(order: Order, at: OverrideContext) -> None:
    """Run a command as the command line does."""
    async with lease_held(at):
        if order.command == "begin":
            await begin.begin_override(wish(f"Kustomization {order.space}/shop"), at)
            return
        override = await session.read_override(at, order.id)
        if override.is_over:
            return
        if order.command == "apply":
            await apply.apply_objects(override, [part(order.space, {"replicas": order.replicas})], at)
        elif order.command == "delete":
            await apply.delete_object(override, map_id(order.space), at)
        elif order.command == "end":
            wanted = {web_id(order.space): placed(web(order.replicas), order.space)}
            await end.end_override(override, at, git=RenderedGit(wanted=wanted, revision=order.revision))
        else:
            await end.abort_override(override, at)


def map_id(space: str) -> ObjectId:
    """The ConfigMap beside the Deployment."""
    return ObjectId("", "ConfigMap", space, "map")


def files(space: str) -> dict[str, dict[str, Any]]:
    """What Git has of a shop."""
    child = {
        "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
        "kind": "Kustomization",
        "metadata": {"name": "shop", "namespace": space},
        "spec": {
            **OFTEN, "path": "./shop", "prune": True, "targetNamespace": space,
            "sourceRef": {"kind": "GitRepository", "name": space},
        },
    }  # fmt: skip
    return {"apps/shop.yaml": child, "shop/web.yaml": web(), "shop/map.yaml": config("map", **MAP)}


@contextlib.asynccontextmanager
async def opened(flux: Flux, home: Path) -> "AsyncIterator[Shop]":
    """A shop in a namespace of its own, for all tests of a file: each leaves it as Git has it."""
    space = f"shop-{uuid.uuid4().hex[:8]}"
    await flux.kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}, manager="tests")
    yield await Shop.opened(flux, space, home)
    await flux.kube.delete("v1", "Namespace", space)


@dataclasses.dataclass(frozen=True)
class Shop:
    """A Kustomization with a Deployment and a ConfigMap, and the one that applies it."""

    flux: Flux
    space: str
    home: Path

    @classmethod
    async def opened(cls, flux: Flux, space: str, home: Path) -> "Shop":
        """Declare it, and wait until Flux has it."""
        commit = await flux.repository(space, space, files(space))
        spec = {**OFTEN, "path": "./apps", "prune": True, "sourceRef": {"kind": "GitRepository", "name": space}}
        await flux.apply("Kustomization", "apps", space, spec)
        await flux.ready("Kustomization", "apps", space, revision=commit)
        await flux.ready("Kustomization", "shop", space, revision=commit)
        return cls(flux, space, home)

    def ground(
        self, *, client: kube.Client | None = None, tell: Callable[[OverrideEvent], None] = lambda event: None
    ) -> OverrideContext:
        """Where overrides work."""
        return overriding.ground(client or self.flux.kube, self.home, tell=tell)

    def order(self, name: str, **more: Any) -> Order:
        """A command."""
        return Order(
            command=name, kubeconfig=str(self.flux.lab.kubeconfig), state=str(self.home), space=self.space, **more
        )  # fmt: skip

    async def next(self, name: str = "", *, replicas: int = 0, revision: str = "") -> None:
        """What somebody types next: a command, or anything that writes."""
        if not name:
            async with lease_held(self.ground()):
                return
        opened = await self.open()
        id = opened[0].id if opened else ""
        await perform(self.order(name, id=id, replicas=replicas, revision=revision), self.ground())

    async def prepared(self, name: str, *, replicas: int) -> Order:
        """All that comes before a command, and the command itself, which is to be run by whoever asks."""
        earlier = {"begin": (), "apply": ("begin",), "delete": ("begin",), "end": ("begin", "apply")}
        for each in earlier.get(name, ("begin", "apply", "delete")):
            await self.next(each, replicas=replicas)
        revision = await self.mended(replicas) if name == "end" else ""
        opened = await self.open()
        return self.order(name, id=opened[0].id if opened else "", replicas=replicas, revision=revision)

    async def killed(self, order: Order) -> bool:
        """Run a command in another process; whether that was killed."""
        given = msgspec.json.encode(order).decode()
        done = await command.run([sys.executable, "-m", "tests.overrides", given], check=False, timeout=90)
        assert done.code in (0, -signal.SIGKILL), done.stderr
        return done.code != 0

    async def replicas(self) -> int:
        """Those of the Deployment."""
        return int((await overriding.deployment(self.flux.kube, self.space))["spec"]["replicas"])

    async def open(self) -> list[Override]:
        """Overrides that are not over; of this shop, since nobody else works in this lab."""
        return [each for each in await session.list_overrides(self.ground()) if not each.is_over]

    async def mended(self, replicas: int) -> str:
        """Git has what was changed; the commit."""
        return await self.flux.commit(self.space, {"shop/web.yaml": web(replicas)})

    async def marks(self) -> list[str]:
        """Everything that an override has left on something."""
        found = []
        for name in ("apps", "shop"):
            live = await self.flux.get("Kustomization", name, self.space)
            if overriding.is_marked(live) or live["spec"].get("suspend"):
                found.append(f"Kustomization {name}")
        live = await overriding.deployment(self.flux.kube, self.space)
        return [*found, *(["Deployment web"] if overriding.is_marked(live) else [])]

    async def snapshots(self, override: Override) -> dict[ObjectId, Any]:
        """What was kept of how it was."""
        return dict(await object_snapshot.read(override, self.flux.kube))

    async def kept(self) -> int:
        """How many Secrets with snapshots there are."""
        listed = await self.flux.kube.list("v1", "Secret", namespace="kube-system", labels=object_snapshot.LABEL)
        return len(listed.items)

    async def is_as_git_has_it(self, replicas: int) -> None:
        """See that nothing rests, nothing is left, and everything is as Git has it."""
        assert not await self.open()
        assert await self.marks() == []
        assert await self.kept() == 0
        assert await self.replicas() == replicas
        assert await self.flux.config_map("map", self.space) == MAP


async def is_consistent(shop: Shop, *, before: int, after: int) -> Override | None:
    """See that nothing rests without an open override, and that no change is without its record and snapshot."""
    opened = await shop.open()
    for each in opened:
        assert each.standing is OverrideStanding.OPEN, f"{each.id} is {each.standing}"
        kept = await shop.snapshots(each)
        assert kept[web_id(shop.space)]["spec"]["replicas"] == before, "the snapshot is not what was there before"
        assert kept[map_id(shop.space)]["data"] == MAP
    assert len(opened) <= 1
    if not opened:
        assert await shop.marks() == [], "something rests, and no override is open"
        return None
    (found,) = opened
    recorded = {each.object: each for each in found.changes}
    if await shop.replicas() != before:
        assert await shop.replicas() == after
        assert web_id(shop.space) in recorded, "what was applied is not recorded"
    if await shop.flux.config_map("map", shop.space) != MAP:
        assert recorded[map_id(shop.space)].is_deleted, "what was deleted is not recorded"
    return found


class Strike:
    """Ends the process at a write; all writes are counted."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._count = 0

    def tell(self, event: OverrideEvent) -> None:
        """Count, and strike."""
        if isinstance(event, OverrideWriting):
            self._count += 1
        is_moment = isinstance(event, OverrideWriting if self._order.moment == "before" else OverrideWritten)
        if self._order.moment and is_moment and self._count == self._order.write:
            os.kill(os.getpid(), signal.SIGKILL)


async def _main(order: Order) -> None:
    async with kube.Client(kube.load(Path(order.kubeconfig))) as client:
        await perform(order, overriding.ground(client, Path(order.state), tell=Strike(order).tell))


if __name__ == "__main__":
    asyncio.run(_main(msgspec.json.decode(sys.argv[1].encode(), type=Order)))
