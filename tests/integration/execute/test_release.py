"""Talos forgets what the engine owns: on every control plane, in whatever order it is cut short, and for good."""

import contextlib
import dataclasses
import functools
import http.server
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute import machine_configs
from firstlight.execute.actions import configure, release
from firstlight.execute.change import Change
from firstlight.execute.handing import certifying, provisional, talos_inventory
from firstlight.execute.handing.releasing import TalosState, talos_state
from firstlight.execute.world import Programs, World
from firstlight.lab import machine_settings
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import ObjectId
from firstlight.model.handover import Passing
from firstlight.model.machine_draft import MachineDraft, Patch
from firstlight.model.owner import ObjectOwner, Party
from firstlight.model.place import Place
from firstlight.model.reach import Reach
from firstlight.model.rendition import Object
from firstlight.model.secret import Secret
from firstlight.model.verdict import Failed, Passed
from firstlight.model.work import Configure, Release
from firstlight.operate.verify import talos_release
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

OLD = """
machine: {kubelet: {image: ghcr.io/siderolabs/kubelet:v1.35.0}}
cluster:
  apiServer: {image: registry.k8s.io/kube-apiserver:v1.35.0}
  controllerManager: {image: registry.k8s.io/kube-controller-manager:v1.35.0}
  scheduler: {image: registry.k8s.io/kube-scheduler:v1.35.0}
"""
"""A version of Kubernetes that Talos 1.12 takes."""


class Killed(BaseException):
    """The end of a run, in the middle of a step."""


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
    def task(self) -> Release:
        return Release(manifests=self.manifests, passing=self.passing, control_planes=self.planes)

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

        reach = Reach(
            machines={self.lab.declared[name]: self.lab.loopbacks[name] for name in self.lab.declared},
            kubernetes=self.lab.api,
        )
        return World(
            cluster=Cluster(name="lab", place=PLACE, machines=self.planes),
            programs=Programs(talosctl=self.lab.program), resolve=resolve, state=self.state, reach=reach, tell=tell,
            talos_secrets=secrets, patience=0.0,
        )  # fmt: skip

    async def look(self, **changes: object) -> Change | None:
        return await release.look(dataclasses.replace(self.task, **changes), self.world, STEP)  # type: ignore[arg-type]

    async def perform(self) -> Change | None:
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


@pytest_asyncio.fixture(scope="module")
async def bench(cluster: machines.Cluster, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """Three control planes with a manifest that nobody has adopted so far."""
    async with kube.Client(kube.load(cluster.lab.kubeconfig)) as client:
        one = Bench(cluster, client, tmp_path_factory.mktemp("state"))
        await one.world.connect(kube.load(cluster.lab.kubeconfig))
        before = {each.name: await one.config(each.name) for each in one.planes}
        try:
            await one.give(*before)
            yield one
        finally:
            await one.clear(before)
            await one.world.close()


@pytest.fixture(autouse=True)
def proven(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Passing, ...]]:
    """What a provisional certificate was wanted of; journeys and its own tests show that it is a real one."""
    asked: list[tuple[Passing, ...]] = []

    async def require(passing: tuple[Passing, ...], world: World, *, step: str = "") -> None:
        asked.append(passing)

    monkeypatch.setattr(provisional, "require", require)
    return asked


async def test_what_no_engine_has_is_not_released(bench: Bench) -> None:
    with pytest.raises(errors.Refused, match=r"does not belong to flux .*releasing it now would leave it to nobody"):
        await bench.look()

    state = await bench.talos()
    assert {*state.keys} == KEYS
    assert state.listing == ("cp-1", "cp-2", "cp-3")
    assert state.doomed == ()
    assert {*state.annotated} == {*state.managed} == {each.id for each in bench.passing}


async def test_a_machine_that_does_not_answer_holds_the_release_up(bench: Bench) -> None:
    await bench.adopt()
    gone = Machine(name="cp-4", role=MachineRole.CONTROL_PLANE, place=PLACE, address="127.0.0.1")

    with pytest.raises(errors.Refused, match="cp-4 does not say what it has"):
        await bench.look(control_planes=(*bench.planes, gone))
    with pytest.raises(errors.Refused, match="cp-3 is a control plane that is not declared"):
        await bench.look(control_planes=bench.planes[:2])


async def test_what_a_manifest_brings_besides_is_not_left_to_nobody(bench: Bench) -> None:
    daemon = bench.passing[2]
    await bench.client.apply(daemon.object.value, manager=daemon.manager, force=True)

    with pytest.raises(
        errors.Refused, match="also brings DaemonSet kube-system/net-agent, which no engine has"
    ) as told:
        await bench.look(passing=bench.passing[:2])

    await bench.adopt()
    assert "let talosctl upgrade-k8s delete it" in told.value.hint


async def test_a_config_that_waits_on_one_machine_stops_it_before_anything_is_written(bench: Bench) -> None:
    """Else the first machine would be without the manifest, and the reboot of the last would put the keys back."""
    ready = await bench.look()
    async with bench.waiting("cp-3"):
        with pytest.raises(errors.Refused, match="cp-3 has a config that waits for its next reboot") as told:
            await bench.look()
        assert ready is not None
        with pytest.raises(errors.Refused, match="cp-3 has a config that waits"):
            await ready.perform()
        state = await bench.talos()

    assert "talosctl reboot" in told.value.hint
    assert "upgrade-k8s" not in told.value.hint, "nothing is in danger"
    assert {*state.keys} == KEYS
    assert state.listing == ("cp-1", "cp-2", "cp-3")


async def test_it_is_cut_short_again_and_again_and_nothing_is_ever_in_danger(
    bench: Bench, proven: list[tuple[Passing, ...]]
) -> None:
    before = await bench.live()
    seen: list[tuple[int, int]] = []
    moments = ["taken out of the inventory", "cp-1: its config", "after the release"]

    for moment in moments:

        def watch(text: str, moment: str = moment) -> None:
            if moment in text:
                raise Killed

        bench.watch = watch
        with pytest.raises(Killed):
            await bench.perform()
        bench.watch = lambda _: None
        state = await bench.talos()
        seen.append((len(state.keys), len(state.listing)))
        assert state.doomed == (), "an upgrade in this moment would delete the CNI"

    assert seen == [(0, 3), (0, 2), (0, 0)]
    assert bench.told.count(release.WARNING) == 1, "between the first config and the last"
    assert proven == [bench.passing] * 3, "each time the engine was proven to have it before"
    assert any(each.startswith("before the release: talosctl upgrade-k8s would write") for each in bench.told)
    assert any("ConfigMap default/net-config" in each for each in bench.told if each.startswith("before"))
    assert bench.told[-1] == "after the release: talosctl upgrade-k8s would touch nothing"

    assert await bench.perform() is None, "a second run finds nothing"
    after = await bench.live()
    assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
    assert after[2]["metadata"]["generation"] == before[2]["metadata"]["generation"]
    for each in after:
        assert talos_inventory.ANNOTATION not in each["metadata"].get("annotations", {})
        owners = {entry["manager"] for entry in each["metadata"]["managedFields"] if not entry.get("subresource")}
        assert owners == {"kustomize-controller"}
    assert "default_greeting__ConfigMap" in (await bench.client.get(
        "v1", "ConfigMap", talos_inventory.NAME, namespace="kube-system"
    ))["data"], "what was not released stays"  # fmt: skip


async def test_one_machine_that_has_it_again_undoes_the_release_and_is_seen(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    await bench.give("cp-2")

    state = await bench.talos()

    assert not state.is_released
    assert state.configs == {"cp-1": (), "cp-2": (MANIFEST,), "cp-3": ()}
    assert {*state.keys} == {*state.doomed} == KEYS, "upgraded through cp-1 it would all be deleted"
    assert state.left[0].startswith("upgrade-k8s would delete ")
    assert f"the config of cp-2 still has {MANIFEST}" in state.left
    async with bench.waiting("cp-2"):
        with pytest.raises(errors.Refused, match="cp-2 has a config that waits") as told:
            await bench.look()
    assert "without --manifests-no-prune until firstlight has run again" in told.value.hint

    async def unproven(*_: object, **__: object) -> None:
        raise errors.Refused("it is not proven")

    with monkeypatch.context() as patched:
        patched.setattr(provisional, "require", unproven)
        with pytest.raises(errors.Refused, match="not proven") as told:
            await bench.perform()
    assert release.WARNING in told.value.hint
    assert await bench.keys() == set(), "what would be deleted is saved in any case"
    change = await bench.perform()
    assert change is not None
    assert change.danger == ""
    assert change.writes[0] == f"apply the config of cp-2 without {MANIFEST}"
    assert (await bench.talos()).is_released


async def test_what_somebody_took_out_of_the_configs_by_hand_is_repaired(
    bench: Bench, proven: list[tuple[Passing, ...]]
) -> None:
    """The order that deletes a CNI: released from the configs, still in the inventory; Git never had some of it."""
    for id, labels in ((OLD_ONE, LABELS), (STRAY, {})):
        metadata = {"name": id.name, "namespace": id.namespace, "labels": labels}
        await bench.client.apply({"apiVersion": "v1", "kind": id.kind, "metadata": metadata}, manager="tests")
    keys = [*KEYS, talos_inventory.key(OLD_ONE), talos_inventory.key(STRAY)]
    await bench.client.patch(
        "v1", "ConfigMap", talos_inventory.NAME, {"data": dict.fromkeys(keys, "")}, manager="tests",
        namespace="kube-system",
    )  # fmt: skip

    async def look(task: Release) -> TalosState:
        return await bench.talos()

    red = await talos_release.check(bench.task, look)
    change = await bench.perform()
    green = await talos_release.check(bench.task, look)

    assert red.verdict == Failed("the next talosctl upgrade-k8s deletes ConfigMap net-config and 3 more")
    assert "--manifests-no-prune" in red.detail[-1]
    assert green.verdict == Passed("3 control planes, nothing left")
    assert change is not None
    assert change.writes == ("take 4 objects out of Talos's inventory",)
    assert proven == [], "nothing holds this up"
    assert any("deletes what was taken out of configs too early" in each for each in bench.told)
    assert await bench.keys() == set()
    left = await talos_inventory.read(bench.client)
    assert left is not None
    assert left.of([OLD_ONE]) == (), "an object of the engine, whether Git lists it today or not"
    assert left.of([STRAY]) == (talos_inventory.key(STRAY),)
    assert bench.told[-1].startswith("after the release: talosctl upgrade-k8s would delete ")
    assert bench.told[-1].endswith("net-stray, which is Talos's own")
    assert len(await bench.live()) == 3


async def test_the_same_object_under_another_name_is_seen_and_nothing_is_said_to_be_released(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name says nothing of what is in a manifest: what counts is what a machine applies, and an upgrade would."""
    before = await bench.config("cp-1")
    agent = OBJECTS.rpartition("---\n")[2].replace("net:1", "evil:1")
    patch = Secret(yaml.safe_dump({"cluster": {"inlineManifests": [{"name": "net-again", "contents": agent}]}}))
    await bench.lab.talos.apply_config(bench.lab.at("cp-1"), await bench.lab.talos.patch_config(before, [patch]))
    try:

        async def state() -> TalosState | None:
            found = await bench.talos()
            return found if found.again else None

        await until(state, "cp-1 to have the manifest")
        found = await bench.talos()
        id = bench.passing[2].id
        assert found.again == {"cp-1": {"net-again": (id,)}}
        proofs = certifying.talos_proofs(found)
        assert next(each.machine for each in proofs if not each.is_proven) == "cp-1"
        with pytest.raises(errors.Refused, match="cp-1 also brings DaemonSet kube-system/net-agent by the manifest"):
            await bench.look()
        # And whatever is not seen of a manifest, an upgrade that would write is no release.
        clean = TalosState(configs={"cp-1": (), "cp-2": (), "cp-3": ()}, has_inventory=found.has_inventory)

        async def nothing(*_: object, **__: object) -> TalosState:
            return clean

        monkeypatch.setattr(release, "talos_state", nothing)
        with pytest.raises(errors.Refused, match="would write DaemonSet kube-system/net-agent, although it was rel"):
            await release._require_done(bench.task, [], bench.world, STEP)
    finally:
        monkeypatch.undo()
        await bench.lab.talos.apply_config(bench.lab.at("cp-1"), before)
        await talos_inventory.forget([each.id for each in bench.passing], bench.client, manager="tests")

    async def is_clean() -> bool:
        return not (await bench.talos()).again

    await until(is_clean, "cp-1 to be without it")
    await talos_inventory.forget([each.id for each in bench.passing], bench.client, manager="tests")


@contextlib.contextmanager
def served(contents: str) -> Iterator[str]:
    """The URL of a manifest."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(contents.encode())

        def log_message(self, *_: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1.0.0/net.yaml"
        server.shutdown()


async def test_talos_before_its_inventory_a_url_and_a_machine_that_joins_later(
    fresh_machines: machines.Make, tmp_path: Path
) -> None:
    """Created by Talos 1.12, half inline and half by a URL; afterwards nothing brings either of them back."""
    talos = machine_settings.Talos(manifests="1.12", boot_seconds=0.1)
    bare = tuple(
        machine_settings.Machine(name=f"cp-{n}", address=f"10.5.0.{n + 1}", talos="v1.12.1") for n in (1, 2)
    )  # fmt: skip
    settings = msgspec.structs.replace(machines.FAST, talos=talos, machines=bare)
    lab = await fresh_machines(machines=2, settings=settings)
    inline, _, rest = OBJECTS.partition("---\n")
    with served(rest) as url:
        entry = {"name": MANIFEST, "contents": inline}
        lists = yaml.safe_dump({"cluster": {"extraManifests": [url], "inlineManifests": [entry]}})
        await lab.apply("cp-1", patches=[machines.BARE, lists, OLD])
        await lab.bootstrap()
        async with kube.Client(kube.load(lab.lab.kubeconfig)) as client:
            bench = Bench(lab, client, tmp_path, manifests=(MANIFEST, url))
            await bench.world.connect(kube.load(lab.lab.kubeconfig))
            await until(functools.partial(bench.has_run, "cp-1"), "cp-1 to apply it")
            await bench.adopt()
            before = await bench.talos()

            change = await bench.perform()

            assert before.bare == ("cp-2",)
            assert before.configs["cp-1"] == (MANIFEST, url)
            assert (before.has_inventory, before.keys, before.annotated) == (False, (), ())
            assert {*before.managed} == {each.id for each in bench.passing}
            assert change is not None
            assert change.writes == (
                f"apply the config of cp-1 without {MANIFEST}, {url}", "take Talos's marks from 3 objects"
            )  # fmt: skip
            assert "ConfigMap default/net-config" in bench.told[0], bench.told
            assert bench.told[0].startswith("before the release: talosctl upgrade-k8s would write"), bench.told
            assert bench.told[-1] == "after the release: talosctl upgrade-k8s would touch nothing"
            assert await bench.perform() is None
            for each in await bench.live():
                found = [one for one in each["metadata"]["managedFields"] if not one.get("subresource")]
                assert [(one["manager"], one["operation"]) for one in found] == [("kustomize-controller", "Apply")]
            await _nothing_comes_back(bench, lists=lists, url=url)
            await bench.world.close()


async def _nothing_comes_back(bench: Bench, *, lists: str, url: str) -> None:
    """The repo still declares both, for clusters that begin; this one has outgrown them."""

    def draft(machine: Machine) -> MachineDraft:
        hostname = f"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {machine.name}\nauto: off\n"
        texts = (hostname, machines.BARE, lists, OLD)
        return MachineDraft(
            machine=machine, cluster="lab", endpoint=bench.lab.api, passing=frozenset({url}),
            patches=tuple(Patch(place=PLACE, text=Secret(each)) for each in texts),
            inline={MANIFEST: Secret("kind: ConfigMap\n")},
        )  # fmt: skip

    task = Configure(drafts=tuple(map(draft, bench.planes)))
    bench.world.patience = 30.0
    change = await configure.look(task, bench.world, "machine:control-planes")
    assert change is not None
    assert change.writes == ("apply the config of cp-2: it installs, and boots",)
    await change.perform()
    await bench.lab.answers("cp-2")
    config = await bench.lab.talos.machine_config(bench.lab.here("cp-2"))
    assert machine_configs.manifests(config).names == frozenset()
    assert (await bench.talos()).is_released
