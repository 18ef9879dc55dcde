"""What can be wrong with machines, etcd and the API: virtual Talos machines, asked by the real talosctl."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator
from typing import Any

from firstlight.clients import kube
from firstlight.commands.doctor import examine
from firstlight.commands.doctor.examine import DeclaredCluster, DoctorAccess, Examination
from firstlight.gates.crds import LONGEST_INSTALLING
from firstlight.model.cluster import AddressBook, Cluster, Machine, MachineConfig, MachinePart, MachineRole
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.observe.machine_survey import MachineAccess
from tests import machines, stuck_crds
from tests.doctor.failure import Expected, Look, Registry
from tests.labs import condition, until

PLACE = Place("tests")
CLUSTER: Registry[machines.Cluster] = Registry("machines")
BARE: Registry[machines.Cluster] = Registry("bare machines")


@dataclasses.dataclass(frozen=True)
class Part:
    """A document of machine config."""

    value: Any

    def place(self, *steps: str | int) -> Place:
        return PLACE

    def get(self, *steps: str | int) -> Any:
        raise NotImplementedError

    def text(self, *steps: str | int) -> str:
        raise NotImplementedError

    def is_conditional(self, *steps: str | int) -> bool:
        raise NotImplementedError


def declared(one: machines.Cluster, *, install_disk: str = "", config: MachineConfig | None = None) -> Cluster:
    """The cluster as a repo would declare it."""
    found = tuple(
        Machine(
            name=name, address=address, place=PLACE, install_disk=install_disk,
            role=MachineRole.WORKER if name.startswith("worker") else MachineRole.CONTROL_PLANE,
        )
        for name, address in one.declared.items()
    )  # fmt: skip
    parts = (MachinePart(config=config),) if config is not None else ()
    return Cluster(name="lab", place=PLACE, machines=found, parts=parts)


def reach(one: machines.Cluster) -> AddressBook:
    """Where its machines listen."""
    return AddressBook(machines={address: one.loopbacks[name] for name, address in one.declared.items()})


def with_keys(one: machines.Cluster, client: kube.Client | None, *, talosconfig: Secret | None = None) -> Look:
    """Looks at machines and the API."""
    way = MachineAccess(program=one.program, talosconfig=talosconfig or one.talosconfig, reach=reach(one))

    async def look(expected: Expected) -> Examination:
        known = DeclaredCluster(cluster=declared(one))
        return await examine.examine(known, expected.ways or DoctorAccess(client=client, way=way), patience=0.0)

    return look


@CLUSTER.failure("machine-off", "a machine that is off", how="the plug of a worker pulled", sample=True)
async def machine_off(on: machines.Cluster) -> AsyncIterator[Expected]:
    await on.lab.machine("worker-1", "off")
    try:
        yield Expected(code="machine-unreachable", subject="machine worker-1", asked="worker-1")
    finally:
        await on.lab.machine("worker-1", "on")
        await on.answers("worker-1")
        await until(lambda: _is_ready(on, "worker-1"), "the node")


@CLUSTER.failure("foreign", "machines of another cluster", how="the same machines, asked with another cluster's keys")
async def foreign(on: machines.Cluster) -> AsyncIterator[Expected]:
    other = await machines.another(on)
    way = MachineAccess(program=on.program, talosconfig=other.talosconfig, reach=reach(on))
    yield Expected(code="machine-foreign", subject="machine cp-1", ways=DoctorAccess(way=way))


@CLUSTER.failure("interface", "an interface that the machine does not have",
                 how="a config that names enp9s0, applied to a worker", simulated="links are declared")  # fmt: skip
async def interface(on: machines.Cluster) -> AsyncIterator[Expected]:
    async with _configured(on, "machine: {network: {interfaces: [{interface: enp9s0, dhcp: true}]}}"):
        yield Expected(code="interface-missing", subject="machine worker-1", asked="machine worker-1")


@CLUSTER.failure("quorum", "etcd without a majority", how="the plugs of two of three control planes pulled")
async def quorum(on: machines.Cluster) -> AsyncIterator[Expected]:
    for name in ("cp-2", "cp-3"):
        await on.lab.machine(name, "off")
    try:
        yield Expected(code="machine-unreachable", subject="machine cp-2")
    finally:
        for name in ("cp-2", "cp-3"):
            await on.lab.machine(name, "on")
        for name in ("cp-2", "cp-3"):
            await on.answers(name)
        await on.serves()


@CLUSTER.failure(
    "api-down", "an API server that does not answer", how="kube-apiserver stopped, machines and etcd alive"
)
async def api_down(on: machines.Cluster) -> AsyncIterator[Expected]:
    await on.lab.process("kube-apiserver", "stop")
    try:
        yield Expected(code="api-unreachable", subject="Kubernetes API")
    finally:
        await on.lab.process("kube-apiserver", "continue")
        await on.serves()


@CLUSTER.failure("crd-stuck", "a CRD that the API server has forgotten",
                 how="kube-apiserver killed after it has accepted a CRD's names",
                 simulated="an admission policy keeps it from finishing before")  # fmt: skip
async def crd_stuck(on: machines.Cluster) -> AsyncIterator[Expected]:
    crd = stuck_crds.definition("widgets", "stuck.example.org")
    name = crd["metadata"]["name"]
    async with kube.Client(kube.load(on.lab.kubeconfig)) as client:
        async with stuck_crds.kept_from_establishing(client):
            await client.apply(crd, manager="tests")
            await stuck_crds.leave_stuck(on.lab, client, name)
        await on.serves()
        try:
            yield Expected(code="crd-stuck", subject=f"CustomResourceDefinition {name}", later=LONGEST_INSTALLING)
        finally:
            await client.delete(*stuck_crds.CRD, name)


@BARE.failure("no-disk", "a machine without the disk that it is to be installed on",
              how="a bare machine, for which the repo names another disk than it has",
              simulated="disks are declared", sample=True)  # fmt: skip
async def no_disk(on: machines.Cluster) -> AsyncIterator[Expected]:
    yield Expected(
        code="install-disk-missing",
        subject="machine cp-1",
        known=DeclaredCluster(cluster=declared(on, install_disk="/dev/nvme9n1")),
    )


@BARE.failure("bare-interface", "an interface that a bare machine does not have",
              how="a bare machine, for which the repo names another interface than it has",
              simulated="links are declared")  # fmt: skip
async def bare_interface(on: machines.Cluster) -> AsyncIterator[Expected]:
    part = Part({"machine": {"network": {"interfaces": [{"interface": "enp9s0", "dhcp": True}]}}})
    yield Expected(
        code="interface-missing", subject="machine cp-1", known=DeclaredCluster(cluster=declared(on, config=part))
    )  # fmt: skip


def without_keys(one: machines.Cluster) -> Look:
    """Looks at bare machines, for which nobody has keys yet."""

    async def look(expected: Expected) -> Examination:
        assert expected.known is not None
        return await examine.examine(expected.known, DoctorAccess(program=one.program, reach=reach(one)), patience=0.0)

    return look


async def _is_ready(on: machines.Cluster, name: str) -> bool:
    async with kube.Client(kube.load(on.lab.kubeconfig)) as client:
        return condition(await client.get("v1", "Node", name), "Ready") == "True"


@contextlib.asynccontextmanager
async def _configured(on: machines.Cluster, patch: str) -> AsyncIterator[None]:
    """A worker with something else in its config, for a while."""
    before = await on.talos.machine_config(on.here("worker-1"))
    after = await on.talos.patch_config(before, [Secret(patch)])
    await on.talos.apply_config(on.here("worker-1"), after, mode="no-reboot")
    try:
        yield
    finally:
        await on.talos.apply_config(on.here("worker-1"), before, mode="no-reboot")
