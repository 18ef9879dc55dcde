"""The life of virtual Talos machines, driven by the real talosctl from the first config to the reset."""

import asyncio
import pathlib
from typing import Any

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import kube, talosctl
from firstlight.lab.machines import machine_settings
from tests import labs, machines
from tests.labs import condition, until


async def node_of(client: kube.Client, name: str) -> dict[str, Any] | None:
    try:
        return await client.get("v1", "Node", name)
    except kube.NotFound:
        return None


async def ready(client: kube.Client, name: str) -> str:
    node = await node_of(client, name)
    return condition(node, "Ready") if node else ""


async def is_ready(client: kube.Client, name: str, wanted: str = "True") -> bool:
    return await ready(client, name) == wanted


async def boot_of(client: kube.Client, name: str) -> str:
    """The id of the boot that a node tells; another one after every reboot."""
    return str((await client.get("v1", "Node", name))["status"]["nodeInfo"]["bootID"])


@pytest.mark.long
async def test_from_maintenance_mode_to_a_cluster_and_back(fresh_machines: machines.Make) -> None:
    """Maintenance, apply, bootstrap, inline manifests as before 1.13, CNI, a late worker, reboot, upgrade, reset.

    Each by itself is shown in every run: by the integration tests of ``execute`` (machines, release of old) and of the
    lab (machines and their resets).
    """
    mode = msgspec.structs.replace(
        machines.FAST, talos=machine_settings.TalosBehaviour(manifests="1.12", boot_seconds=0.1)
    )
    one = await fresh_machines(machines=1, workers=1, settings=mode)
    disks = await one.stranger.disks(one.here("cp-1"))
    assert [disk.spec.dev_path for disk in disks] == ["/dev/sda"]

    with pytest.raises(talosctl.TalosUnauthorised):
        await one.stranger.machine_config(one.here("cp-1"))

    await one.apply("cp-1", patches=[machines.BARE, machines.INLINE])
    status = await one.lab.status()
    assert [each.stage for each in status.machines] == ["configured", "maintenance"]

    await one.bootstrap()
    with pytest.raises(talosctl.TalosAlreadyDone):
        await one.talos.bootstrap(one.here("cp-1"))

    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        await _inline_manifests_are_created_once(one, client)
        node = await until(lambda: node_of(client, "cp-1"), "the node to register")
        assert "NetworkPluginNotReady" in str(node["status"]["conditions"])

        for obj in labs.manifests(labs.NETWORK):
            await client.apply(obj, manager="tests")
        await until(lambda: is_ready(client, "cp-1"), "the node to be ready")

        await one.apply("worker-1")
        await until(lambda: is_ready(client, "worker-1"), "the late worker to be ready")
        await reboot_and_upgrade(one, client)
        await reset_and_remove(one, client)


async def _inline_manifests_are_created_once(one: machines.Cluster, client: kube.Client) -> None:
    async def greeting() -> dict[str, Any] | None:
        try:
            return await client.get("v1", "ConfigMap", "greeting", namespace="default")
        except kube.NotFound:
            return None

    found = await until(greeting, "the inline manifest")
    (entry,) = found["metadata"]["managedFields"]
    assert (entry["manager"], entry["operation"]) == ("talos", "Update")
    with pytest.raises(kube.NotFound):
        await client.get("v1", "ConfigMap", "talos-bootstrap-manifests-inventory", namespace="kube-system")
    (status,) = await one.talos.manifest_statuses(one.here("cp-1"))
    assert "99-greeting" in status.spec.manifests_applied


async def reboot_and_upgrade(one: machines.Cluster, client: kube.Client, *, drain: bool = True) -> None:
    """A worker that is told to; talosctl takes most of a minute to drain it, and to find it again."""
    before = await boot_of(client, "worker-1")

    await one.talos.reboot(one.at("worker-1"), wait=False)

    async def rebooted() -> bool:
        return await boot_of(client, "worker-1") != before and await is_ready(client, "worker-1")

    await until(lambda: is_ready(client, "worker-1", "False"), "the node to say goodbye")
    await until(rebooted, "the node to be back")

    image = "example.org/installer:v1.14.2"
    before = await boot_of(client, "worker-1")
    await one.talos.upgrade(one.at("worker-1"), image, drain=drain, wait=drain, timeout=120)

    async def upgraded() -> bool:
        node = await client.get("v1", "Node", "worker-1")
        assert drain is False or "unschedulable" not in node["spec"]
        is_new = node["status"]["nodeInfo"]["osImage"] == "Talos (v1.14.2)"
        # Tests before may have left the same version: then the boot alone tells that it is over.
        return is_new and await rebooted()

    # Who drains waits until all is over.
    await until(upgraded, "the new version", timeout=0.1 if drain else 60)
    assert (await one.talos.version(one.here("worker-1"))).tag == "v1.14.2"


async def reset_and_remove(one: machines.Cluster, client: kube.Client) -> None:
    """It leaves the cluster, and joins it again."""
    await one.talos.reset(one.here("worker-1"), reboot=True, system_labels=["STATE", "EPHEMERAL"], timeout=60)

    assert (await one.stranger.version(one.here("worker-1"))).tag == "v1.14.2", "what is installed stays"
    await until(lambda: is_ready(client, "worker-1", "False"), "the node to say goodbye")
    assert (await client.get("v1", "Node", "worker-1"))["spec"]["unschedulable"] is True
    await client.delete("v1", "Node", "worker-1")

    await one.apply("worker-1")
    await until(lambda: is_ready(client, "worker-1"), "the machine to join anew")


@pytest.mark.long
async def test_a_lost_quorum_is_restored_from_a_snapshot(fresh_machines: machines.Make, tmp_path: pathlib.Path) -> None:
    one = await fresh_machines(machines=3)
    await one.apply("cp-1", "cp-2", "cp-3", patches=[machines.BARE])
    await one.bootstrap()

    async def three() -> bool:
        return await one.members() == 3

    await until(three, "three members")
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        keepsake = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "keepsake", "namespace": "default"}}
        await client.apply(keepsake, manager="tests")
    snapshot = tmp_path / "etcd.snapshot"
    await one.talos.etcd_snapshot(one.at("cp-1"), snapshot)

    for name in ("cp-2", "cp-3"):
        await one.lab.machine(name, "off")

    async def writes() -> bool:
        try:
            async with asyncio.timeout(3), kube.Client(kube.load(one.lab.kubeconfig)) as client:
                later = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "default"}}
                await client.apply(later, manager="tests")
        except (errors.ClientError, TimeoutError):
            return False
        return True

    async def refuses() -> bool:
        return not await writes()

    await until(refuses, "the API to refuse writes")
    assert (await one.lab.status()).has_lost_quorum

    # etcd's data of the last member goes, and the snapshot begins a new cluster.
    await one.talos.reset(
        one.here("cp-1"), graceful=False, reboot=True, system_labels=["EPHEMERAL"], timeout=60, wait=False
    )

    async def waits() -> bool:
        try:
            states = await one.talos.service_states(one.here("cp-1"))
        except talosctl.TalosError:
            return False
        return any(each.id == "etcd" and each.state == "Preparing" for each in states)

    await until(waits, "etcd to wait for a bootstrap")
    await one.talos.bootstrap(one.here("cp-1"), recover_from=snapshot)
    await until(writes, "the API to take writes again", timeout=90)
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        await client.get("v1", "ConfigMap", "keepsake", namespace="default")


@pytest.mark.long
async def test_two_bootstraps_make_two_clusters(fresh_machines: machines.Make) -> None:
    """Talos refuses the second bootstrap only on the same machine, and so does the lab.

    In every run the integration test that etcd is never bootstrapped twice makes two clusters in this way.
    """
    one = await fresh_machines(machines=2)
    await one.apply("cp-1", "cp-2", patches=[machines.BARE])

    await one.talos.bootstrap(one.here("cp-1"))
    await one.talos.bootstrap(one.here("cp-2"))

    async def alone(name: str) -> bool:
        try:
            members = await one.talos.etcd_members(one.here(name))
        except talosctl.TalosError:
            return False
        return [member.hostname for member in members] == [name]

    await until(lambda: alone("cp-1"), "a cluster of cp-1")
    await until(lambda: alone("cp-2"), "a cluster of cp-2")


@pytest.mark.long
async def test_a_second_cluster_in_the_lab_stays_apart(fresh_machines: machines.Make) -> None:
    """Its machine has another authority and token, so it is no node, and its control plane is never followed."""
    one = await fresh_machines(machines=2)
    await one.apply("cp-1", patches=[machines.BARE])
    await one.bootstrap()
    other = await machines.another(one)
    await other.apply("cp-2", patches=[machines.BARE])
    await other.talos.bootstrap(other.here("cp-2"))

    async def healthy() -> bool:
        states = await other.talos.service_states(other.here("cp-2"))
        return any(each.id == "etcd" and each.is_healthy for each in states)

    await until(healthy, "the etcd of the second cluster")
    await one.lab.process("cp-1", "kill")
    await one.answers("cp-1")
    await one.serves()

    assert (await one.lab.status()).followed == "cp-1"
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        await until(lambda: node_of(client, "cp-1"), "the node to register")
        assert await node_of(client, "cp-2") is None


@pytest.mark.long
async def test_kubernetes_is_upgraded_kubelets_included(fresh_machines: machines.Make) -> None:
    one = await fresh_machines(machines=1)
    await one.apply("cp-1", patches=[machines.BARE])
    await one.bootstrap()
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        for obj in labs.manifests(labs.NETWORK):
            await client.apply(obj, manager="tests")
        await until(lambda: is_ready(client, "cp-1"), "the node to be ready")

        await one.talos.upgrade_k8s(one.at("cp-1"), to="1.36.4", timeout=120)

        node = await client.get("v1", "Node", "cp-1")
        assert node["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.4"
    assert not any("skew" in note for note in (await one.lab.status()).notes)


@pytest.mark.long
async def test_machines_keep_their_state_over_restarts_of_the_lab(
    fresh_machines: machines.Make, machine_programs: dict[str, pathlib.Path]
) -> None:
    one = await fresh_machines(machines=1)
    await one.apply("cp-1", patches=[machines.BARE])
    await one.bootstrap()
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        uid = (await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"]

    await one.lab.down(keep=True)
    await one.lab.up(machine_programs)
    await one.serves()

    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        assert (await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"] == uid
