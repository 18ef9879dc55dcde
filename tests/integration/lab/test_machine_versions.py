"""What virtual machines do as the version of Talos that they run, asked by the talosctl of either line."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import yaml

from firstlight.clients import kube, talosctl
from firstlight.model.secret import Secret
from firstlight.tools import install
from tests import labs, machines
from tests.labs import condition, until

BARE = """
apiVersion: v1alpha1
kind: KubeFlannelCNIConfig
$patch: delete
---
{apiVersion: v1alpha1, kind: KubeProxyConfig, enabled: false}
"""
INLINE = """
apiVersion: v1alpha1
kind: KubeInlineManifestConfig
name: greeting
manifest: |
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: greeting, namespace: default}
  data: {word: hello}
"""
SCHEDULES = """
apiVersion: v1alpha1
kind: KubeNodeConfig
labels: {rack: one}
taints: {node-role.kubernetes.io/control-plane: {$patch: delete}}
"""
OLDER = {"talos": "v1.13.0", "talosctl_name": "talosctl-1-13"}


async def found(read: Callable[[], Awaitable[Any]]) -> Any:
    """What is read; nothing while it is not there."""
    try:
        return await read()
    except (kube.NotFound, talosctl.TalosError):
        return None


async def get(one: machines.Cluster, kind: str) -> dict[str, Any]:
    """The resources of a kind on the first control plane, by id."""
    return {each.id: each.spec for each in await one.talos.get(one.here("cp-1"), kind)}


async def test_a_cluster_of_documents(fresh_machines: machines.Make) -> None:
    """Every setting of Kubernetes is a document of Talos 1.14, and the machine does what they say."""
    one = await fresh_machines(machines=1, contract=machines.NEW)
    await one.apply("cp-1", patches=[BARE, INLINE, SCHEDULES])
    assert (await get(one, "unattendedinstallstatuses"))["unattended-install"]["phase"] == "installed"

    await one.bootstrap()

    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        greeting = await until(
            lambda: found(lambda: client.get("v1", "ConfigMap", "greeting", namespace="default")), "the inline manifest"
        )
        assert greeting["data"] == {"word": "hello"}
        node = await until(lambda: found(lambda: client.get("v1", "Node", "cp-1")), "the node to register")
        assert node["metadata"]["labels"]["rack"] == "one"
        assert not [each for each in node["spec"].get("taints", ()) if "control-plane" in each["key"]]
        assert await found(lambda: client.get("apps/v1", "DaemonSet", "kube-proxy", namespace="kube-system")) is None
        assert await client.get("apps/v1", "Deployment", "coredns", namespace="kube-system"), "on, as nobody says no"

        for obj in labs.manifests(labs.NETWORK):
            await client.apply(obj, manager="tests")
        await until(lambda: ready(client, "cp-1"), "the node to be ready")
    assert (await get(one, "bootstrapmanifestsconfigs"))["manifests"]["cniName"] == "none"
    assert {"kube-apiserver", "final-kube-apiserver"} <= set(await get(one, "apiserverconfigs"))
    health = await one.talos.health(one.at("cp-1"), wait=60)
    assert health.is_healthy, health.lines

    await old_fields_are_refused_beside_documents(one)
    await nothing_reboots_to_be_applied(one)
    await an_upgrade_changes_the_documents(one)


async def ready(client: kube.Client, name: str) -> bool:
    return condition(await client.get("v1", "Node", name), "Ready") == "True"


async def old_fields_are_refused_beside_documents(one: machines.Cluster) -> None:
    patch = Secret(b"cluster: {network: {cni: {name: none}}}\n")
    mixed = await one.talos.patch_config(await one.talos.machine_config(one.at("cp-1")), [patch])

    with pytest.raises(talosctl.TalosRejected, match="KubeNetworkConfig"):
        await one.talos.apply_config(one.at("cp-1"), mixed)


async def nothing_reboots_to_be_applied(one: machines.Cluster) -> None:
    boots = (await one.lab.status()).machines[0].boots
    patch = Secret(b"machine: {features: {diskQuotaSupport: false}}\n")
    wanted = await one.talos.patch_config(await one.talos.machine_config(one.at("cp-1")), [patch])

    foreseen = await one.talos.apply_config(one.at("cp-1"), wanted, dry_run=True)
    applied = await one.talos.apply_config(one.at("cp-1"), wanted)

    assert (foreseen.effect, applied.effect) == ("at-once", "at-once")
    assert foreseen.diff is not None
    assert (await one.lab.status()).machines[0].boots == boots


async def an_upgrade_changes_the_documents(one: machines.Cluster) -> None:
    """``upgrade-k8s`` of talosctl 1.14 waits for pods that are made from the final configs."""
    await one.talos.upgrade_k8s(one.at("cp-1"), to="1.36.1", pull_first=False, timeout=180)

    documents = list(yaml.safe_load_all((await one.talos.machine_config(one.at("cp-1"))).reveal()))
    images = {each["kind"]: each["image"] for each in documents if each.get("kind") in COMPONENTS}
    assert set(images) == COMPONENTS
    assert all(image.endswith(":v1.36.1") for image in images.values()), images
    assert not [each for each in documents if "apiServer" in each.get("cluster", {})]


COMPONENTS = {"KubeAPIServerConfig", "KubeControllerManagerConfig", "KubeSchedulerConfig", "KubeletConfig"}


async def test_machines_before_1_14(fresh_machines: machines.Make) -> None:
    """They do not know the documents, have fewer versions of Kubernetes, and reboot where a change needs it."""
    one = await fresh_machines(machines=1, **OLDER)
    newer = talosctl.Talosctl((await install.ensure(["talosctl"]))["talosctl"])

    async def generated(kubernetes: str, contract: str) -> Secret:
        return await newer.gen_config(
            "controlplane", cluster="lab", endpoint=one.api, secrets=one.secrets,
            kubernetes_version=kubernetes, talos_version=contract,
        )  # fmt: skip

    documents = await generated("1.36.0", machines.NEW)
    with pytest.raises(talosctl.TalosRejected, match="not registered"):
        await one.stranger.apply_config(one.here("cp-1"), documents)
    too_new = await generated("1.37.0", machines.OLD)
    with pytest.raises(talosctl.TalosRejected, match="too new to be used with Talos"):
        await one.stranger.apply_config(one.here("cp-1"), too_new)

    await one.apply("cp-1", patches=[machines.BARE])
    config = await one.talos.machine_config(one.at("cp-1"))
    wanted = await one.talos.patch_config(config, [Secret(b"machine: {features: {diskQuotaSupport: false}}\n")])

    assert (await one.talos.apply_config(one.at("cp-1"), wanted, dry_run=True)).effect == "reboot"
    with pytest.raises(talosctl.TalosRejected, match="can't be applied in immediate mode"):
        await one.talos.apply_config(one.at("cp-1"), wanted, mode="no-reboot")
    assert set(await get(one, "apiserverconfigs")) == {"kube-apiserver"}


async def test_a_cluster_keeps_config_and_objects_over_the_upgrade_to_1_14(fresh_machines: machines.Make) -> None:
    """Each side by its own talosctl; the config is not rewritten, and what Talos made stays Talos's."""
    one = await fresh_machines(machines=1, **OLDER)
    await one.apply("cp-1", patches=[machines.BARE, machines.INLINE])
    await one.bootstrap()
    config = await one.talos.machine_config(one.at("cp-1"))

    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        greeting = await until(
            lambda: found(lambda: client.get("v1", "ConfigMap", "greeting", namespace="default")), "the inline manifest"
        )
        await client.apply(
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine", "namespace": "default"}},
            manager="tests",
        )
        program = (await install.ensure(["talosctl"]))["talosctl"]
        newer = talosctl.Talosctl(program, talosconfig=one.talosconfig)
        await newer.upgrade(one.at("cp-1"), "example.org/installer:v1.14.1", drain=False, wait=False)

        async def upgraded() -> bool:
            try:
                return (await newer.version(one.at("cp-1"))).tag == "v1.14.1"
            except talosctl.TalosError:
                return False

        await until(upgraded, "the machine to run 1.14", timeout=60)
        await one.serves()

        assert (await newer.machine_config(one.at("cp-1"))).reveal() == config.reveal()
        for name in ("greeting", "mine"):
            kept = await client.get("v1", "ConfigMap", name, namespace="default")
            assert name != "greeting" or kept["metadata"]["uid"] == greeting["metadata"]["uid"]
        inventory = await client.get("v1", "ConfigMap", "talos-bootstrap-manifests-inventory", namespace="kube-system")
        assert "default_greeting__ConfigMap" in inventory["data"]

    async def final() -> bool:
        configs = await found(lambda: newer.get(one.here("cp-1"), "apiserverconfigs"))
        return "final-kube-apiserver" in {each.id for each in configs or ()}

    await until(final, "the final configs of 1.14")
