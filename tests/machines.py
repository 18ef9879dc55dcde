"""Labs of virtual Talos machines for tests, and the real talosctl to drive them."""

import contextlib
import dataclasses
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube, talosctl
from firstlight.lab import lab_directory, lab_settings, procfs, running_lab
from firstlight.lab.machines import machine_settings
from firstlight.model import machine_config
from firstlight.model.secret import Secret
from firstlight.tools import install
from tests import labs
from tests.labs import until

INLINE = """
cluster:
  inlineManifests:
    - name: greeting
      contents: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: greeting, namespace: default}
        data: {word: hello}
"""
BARE = """
cluster:
  network: {cni: {name: none}}
  proxy: {disabled: true}
"""
GRACE = """
cluster:
  controllerManager: {extraArgs: {node-monitor-grace-period: 8s}}
"""


KUBERNETES = "1.36.0"
"""The version in the configs: not the lab's own, so that the skew is said."""
IMAGE = "example.org/installer:v1.13.0"
"""In the configs, too: what is on a medium is installed, whatever they say."""
OLD = "v1.13"
"""The contract of configs whose settings of Kubernetes are fields; newer machines take them as they are."""
NEW = "v1.14"
"""The contract of configs whose settings of Kubernetes are documents."""


@dataclasses.dataclass
class Cluster:
    """Machines, the secrets of the cluster that they are to become, and the ways to talk to them."""

    lab: running_lab.Lab
    program: Path
    secrets: Secret
    talosconfig: Secret
    loopbacks: Mapping[str, str]
    declared: Mapping[str, str]
    api: str
    contract: str = OLD

    @property
    def talos(self) -> talosctl.Talosctl:
        """An administrator."""
        return talosctl.Talosctl(self.program, talosconfig=self.talosconfig)

    @property
    def stranger(self) -> talosctl.Talosctl:
        """Somebody without a certificate, for machines in maintenance mode."""
        return talosctl.Talosctl(self.program, insecure=True)

    def at(self, *names: str, via: Sequence[str] = ()) -> talosctl.MachineTarget:
        """Machines by their declared addresses, through the first control plane or through those given."""
        through = [self.loopbacks[name] for name in (via or [next(iter(self.loopbacks))])]
        return talosctl.MachineTarget.of(*(self.declared[name] for name in names), endpoints=through)

    def here(self, name: str) -> talosctl.MachineTarget:
        """A machine where it really listens."""
        return talosctl.MachineTarget.of(self.loopbacks[name], endpoints=[self.loopbacks[name]])

    async def config(self, name: str, *patches: str) -> Secret:
        """The config of a machine, with its name as the host's."""
        kind: machine_config.Kind = "worker" if name.startswith("worker") else "controlplane"
        hostname = f"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {name}\nauto: off\n"
        texts = [hostname, *patches] if kind == "controlplane" else [hostname]
        return await talosctl.Talosctl(self.program).gen_config(
            kind, cluster="lab", endpoint=self.api, secrets=self.secrets,
            kubernetes_version=KUBERNETES, talos_version=self.contract, install_image=IMAGE,
            patches=[Secret(text.encode()) for text in texts],
        )  # fmt: skip

    async def apply(self, *names: str, patches: Sequence[str] = ()) -> None:
        """Configure bare machines, and wait until they are up with their certificates."""
        for name in names:
            await self.stranger.apply_config(self.here(name), await self.config(name, *patches))
        for name in names:
            await self.answers(name)

    async def answers(self, name: str) -> None:
        """Wait until a machine is past its boot and talks to its administrator."""

        async def runs() -> bool:
            try:
                status = await self.talos.machine_status(self.here(name))
            except talosctl.TalosError:
                return False
            return status.stage == "running"

        await until(runs, f"{name} to run")

    async def bootstrap(self, name: str = "cp-1") -> None:
        """Start etcd on a machine and wait for the API."""
        await self.talos.bootstrap(self.here(name))
        await self.serves()

    async def serves(self) -> None:
        """Wait until the API server answers."""

        async def ready() -> bool:
            try:
                status = await self.lab.status()
                async with kube.Client(kube.load(self.lab.kubeconfig)) as client:
                    return status.is_ready and (await client.ready()).is_ready
            except (OSError, errors.FirstlightError):
                return False

        await until(ready, "the API server", timeout=90)

    async def members(self) -> int:
        """How many voting members etcd has."""
        try:
            found = await self.talos.etcd_members(self.at("cp-1"))
        except talosctl.TalosError:
            return 0
        return sum(not member.is_learner for member in found)


Make = Callable[..., Awaitable[Cluster]]
FAST = msgspec.structs.replace(labs.FAST, talos=machine_settings.TalosBehaviour(boot_seconds=0.1))


async def make(
    programs: Mapping[str, Path],
    home: Path,
    *,
    machines: int,
    workers: int,
    settings: lab_settings.LabSettings,
    talos: str = "",
    talosctl_name: str = "talosctl",
    contract: str = OLD,
) -> Cluster:
    """A lab of bare machines, with a version of Talos on their media, and the talosctl that drives them."""
    one = running_lab.Lab(lab_directory.LabDirectory(home))
    wanted = lab_settings.with_machines(settings, control_planes=machines, workers=workers)
    if talos:
        media = tuple(msgspec.structs.replace(each, talos=talos) for each in wanted.machines)
        wanted = msgspec.structs.replace(wanted, machines=media)
    await one.up(programs, settings=wanted, owner=os.getpid())
    status = await one.status()
    client = talosctl.Talosctl(programs[talosctl_name])
    secrets = await client.gen_secrets()
    api = f"https://{status.loopback}:6443"
    talosconfig = await client.gen_config("talosconfig", cluster="lab", endpoint=api, secrets=secrets)
    loopbacks = {each.name: each.endpoint.partition(":")[0] for each in status.machines}
    declared = {each.name: each.address for each in status.machines}
    return Cluster(one, programs[talosctl_name], secrets, talosconfig, loopbacks, declared, api, contract)


async def another(one: Cluster) -> Cluster:
    """Another cluster on the same machines, with secrets of its own."""
    client = talosctl.Talosctl(one.program)
    secrets = await client.gen_secrets()
    talosconfig = await client.gen_config("talosconfig", cluster="other", endpoint=one.api, secrets=secrets)
    return dataclasses.replace(one, secrets=secrets, talosconfig=talosconfig)


@pytest_asyncio.fixture(scope="session")
async def machine_programs(programs: dict[str, Path]) -> dict[str, Path]:
    """What a lab of machines needs besides."""
    return programs | await install.ensure(["lab-machine", "talosctl", "talosctl-1-13"])


@pytest_asyncio.fixture(scope="session")
async def cluster(
    machine_programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Cluster]:
    """Three control planes and a worker that the real talosctl has made a cluster of, with a CNI: all is healthy."""
    async with healthy(machine_programs, tmp_path_factory.mktemp("labs") / "machines") as one:
        yield one


@contextlib.asynccontextmanager
async def healthy(programs: Mapping[str, Path], home: Path, **version: str) -> AsyncIterator[Cluster]:
    """Such a cluster, on machines of a version."""
    one = await make(programs, home, machines=3, workers=1, settings=FAST, **version)
    await one.apply("cp-1", "cp-2", "cp-3", "worker-1", patches=[BARE, INLINE, GRACE])
    await one.bootstrap()
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        for obj in labs.manifests(labs.NETWORK):
            await client.apply(obj, manager="tests")
    await until(lambda: _is(one.members(), 3), "three members of etcd")
    yield one
    await one.lab.down()
    assert procfs.processes_of(one.lab.home.path) == (), "the lab left processes behind"


@pytest_asyncio.fixture
async def fresh_machines(machine_programs: dict[str, Path], tmp_path: Path) -> AsyncIterator[Make]:
    """Makes labs of bare machines that nobody else uses: ``await fresh_machines(machines=1, workers=1)``."""
    made: list[Cluster] = []

    async def one(
        *,
        machines: int = 1,
        workers: int = 0,
        settings: lab_settings.LabSettings = FAST,
        name: str = "fresh",
        **version: str,
    ) -> Cluster:
        cluster = await make(
            machine_programs, tmp_path / name, machines=machines, workers=workers, settings=settings, **version
        )
        made.append(cluster)
        return cluster

    yield one
    for cluster in made:
        await cluster.lab.down()
        assert procfs.processes_of(cluster.lab.home.path) == (), "the lab left processes behind"


async def _is(answer: Awaitable[int], wanted: int) -> bool:
    return await answer == wanted
