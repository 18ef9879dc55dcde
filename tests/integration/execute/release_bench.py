"""Machines with a manifest of Talos's, and the engine's part played by its own manager: for tests of the release."""

import contextlib
import dataclasses
import functools
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.clients import kube
from firstlight.execute.actions import talos_release
from firstlight.execute.handover import talos_inventory
from firstlight.execute.handover.talos_state import TalosState, talos_state
from firstlight.execute.world import PendingChange, RunPrograms, World
from firstlight.model.cluster import AddressBook, Cluster, Machine, MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.work import ReleaseFromTalos
from tests import machines
from tests.labs import until

PLACE = Place("firstlight.yaml", 1)
STEP = "handover:release"
MANIFEST = "core-net"
OWNER = ObjectOwner(Party.FLUX, "Kustomization flux-system/net")
LABELS = {"kustomize.toolkit.fluxcd.io/name": "net", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
OBJECTS = """
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: "net:agent"}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: net-config}
data: {mode: bootstrap}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: net-agent, namespace: kube-system}
spec:
  selector: {matchLabels: {app: net-agent}}
  template:
    metadata: {labels: {app: net-agent}}
    spec:
      tolerations: [{operator: Exists}]
      containers: [{name: agent, image: example.org/net:1}]
"""
KEYS = {
    "_net__agent_rbac.authorization.k8s.io_ClusterRole",
    "_net-config__ConfigMap",
    "kube-system_net-agent_apps_DaemonSet",
}
OLD_ONE = ObjectId("", "ConfigMap", "kube-system", "net-old")
"""What an earlier rendition of the manifest had; it is the engine's."""
STRAY = ObjectId("", "ConfigMap", "kube-system", "net-stray")
"""What no engine has: Talos prunes it if it likes."""


@dataclasses.dataclass
class Bench:
    """Machines, a run that talks to them, and the engine's part, played by its own manager."""

    lab: machines.Cluster
    client: kube.Client
    state: Path
    told: list[str] = dataclasses.field(default_factory=list)
    manifests: tuple[str, ...] = (MANIFEST,)
    watch: Callable[[str], None] = lambda _: None
    """Told of everything that is told; may end the run."""

    @property
    def planes(self) -> tuple[Machine, ...]:
        return tuple(
            Machine(name=name, role=MachineRole.CONTROL_PLANE, place=PLACE, address=address)
            for name, address in self.lab.declared.items()
            if name.startswith("cp")
        )

    @property
    def passing(self) -> tuple[Passing, ...]:
        wanted = []
        for value in yaml.safe_load_all(OBJECTS):
            if value["kind"] == "ConfigMap":
                value["metadata"]["namespace"] = "default"
                value["data"]["mode"] = "git"
            wanted.append(Passing(object=Object(value), component="net", manager="kustomize-controller", owner=OWNER))
        return tuple(wanted)

    @property
    def task(self) -> ReleaseFromTalos:
        return ReleaseFromTalos(manifests=self.manifests, passing=self.passing, control_planes=self.planes)

    @functools.cached_property
    def world(self) -> World:
        """Where it all happens; whoever opens it closes it."""

        def tell(step: str, text: str) -> None:
            self.told.append(text)
            self.watch(text)

        async def secrets() -> Secret:
            return self.lab.secrets

        async def resolve(reference: str) -> Secret:
            raise AssertionError(reference)

        reach = AddressBook(
            machines={self.lab.declared[name]: self.lab.loopbacks[name] for name in self.lab.declared},
            kubernetes=self.lab.api,
        )
        return World(
            cluster=Cluster(name="lab", place=PLACE, machines=self.planes),
            programs=RunPrograms(talosctl=self.lab.program), resolve=resolve, state=self.state, reach=reach, tell=tell,
            talos_secrets=secrets, patience=0.0,
        )  # fmt: skip

    async def look(self, **changes: object) -> PendingChange | None:
        return await talos_release.look(dataclasses.replace(self.task, **changes), self.world, STEP)  # type: ignore[arg-type]

    async def perform(self) -> PendingChange | None:
        """A whole run of the step; what it had to write, None for nothing."""
        change = await self.look()
        if change is not None:
            await change.perform()
        return change

    async def talos(self) -> TalosState:
        return await talos_state(self.planes, self.manifests, [each.id for each in self.passing], self.world)

    async def give(self, *names: str) -> None:
        """Put the manifest into the configs of machines, and wait until each has run it."""
        for name in names:
            config = await self.lab.talos.machine_config(self.lab.at(name))
            entry = {"name": MANIFEST, "contents": OBJECTS}
            patch = Secret(yaml.safe_dump({"cluster": {"inlineManifests": [entry]}}))
            patched = await self.lab.talos.patch_config(config, [patch])
            await self.lab.talos.apply_config(self.lab.at(name), patched)
            await until(functools.partial(self.has_run, name), f"{name} to apply it")

    async def has_run(self, name: str) -> bool:
        """Whether a machine has applied the manifest."""
        found = await self.lab.talos.manifest_statuses(self.lab.at(name))
        return any(f"99-{MANIFEST}" in each.spec.manifests_applied for each in found)

    async def adopt(self) -> None:
        """What kustomize-controller does."""
        for each in self.passing:
            metadata = {**each.object.value["metadata"], "labels": LABELS}
            await self.client.apply({**each.object.value, "metadata": metadata}, manager=each.manager, force=True)

    async def live(self) -> list[dict[str, Any]]:
        return [
            await self.client.get(
                each.object.value["apiVersion"], each.id.kind, each.id.name, namespace=each.id.namespace
            )
            for each in self.passing
        ]

    async def keys(self) -> set[str]:
        found = await talos_inventory.read(self.client)
        return {*found.keys} & KEYS if found is not None else set()

    async def config(self, name: str) -> Secret:
        return await self.lab.talos.machine_config(self.lab.at(name))

    @contextlib.asynccontextmanager
    async def waiting(self, name: str) -> AsyncIterator[None]:
        """A machine with a config that waits for its next reboot."""
        config = await self.config(name)
        patch = Secret(yaml.safe_dump({"machine": {"nodeLabels": {"example.org/later": "yes"}}}))
        staged = await self.lab.talos.patch_config(config, [patch])
        await self.lab.talos.apply_config(self.lab.at(name), staged, mode="staged")
        try:
            yield
        finally:
            await self.lab.talos.apply_config(self.lab.at(name), config)

    async def clear(self, before: dict[str, Secret]) -> None:
        """Nothing of it is left for others who use these machines, whatever has failed."""
        for name, config in before.items():
            await self.lab.talos.apply_config(self.lab.at(name), config)
        for name in before:
            await until(functools.partial(self.has_forgotten, name), f"{name} to run its manifests without it")
        ids = [each.id for each in self.passing] + [OLD_ONE, STRAY]
        await talos_inventory.forget(ids, self.client, manager="tests")
        versions = {each.id: each.object.value["apiVersion"] for each in self.passing}
        for id in ids:
            with contextlib.suppress(kube.NotFound):
                await self.client.delete(versions.get(id, "v1"), id.kind, id.name, namespace=id.namespace)

    async def has_forgotten(self, name: str) -> bool:
        return not await self.has_run(name)


def believe(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Passing, ...]]:
    """What a provisional certificate was wanted of; journeys and its own tests show that it is a real one."""
    asked: list[tuple[Passing, ...]] = []

    async def require(passing: tuple[Passing, ...], world: World, *, step: str = "") -> None:
        asked.append(passing)

    monkeypatch.setattr(talos_release, "require_provisional", require)
    return asked
