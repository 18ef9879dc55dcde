"""The life of a lab: up, again, killed, resumed, saved, restored, gone."""

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import lab_directory, lab_settings, loopback_network, procfs
from firstlight.lab.running_lab import Lab
from tests.labs import NETWORK, condition, manifests, until

FreshLab = Callable[..., Awaitable[Lab]]


def marker(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


async def names(lab: Lab) -> set[str]:
    async with kube.Client(kube.load(lab.kubeconfig)) as client:
        return {each["metadata"]["name"] for each in (await client.list("v1", "ConfigMap", namespace="default")).items}


async def write(lab: Lab, name: str) -> None:
    async with kube.Client(kube.load(lab.kubeconfig)) as client:
        await client.apply(marker(name), manager="tests")


def nothing_left(lab: Lab) -> Callable[[], Awaitable[bool]]:
    async def nothing() -> bool:
        return procfs.processes_of(lab.home.path) == ()

    return nothing


async def test_nodes_are_not_ready_until_a_cni_pod_is_ready_on_them(fresh_lab: FreshLab) -> None:
    lab = await fresh_lab(workers=2)
    async with kube.Client(kube.load(lab.kubeconfig)) as client:

        async def nodes() -> dict[str, dict[str, Any]]:
            return {node["metadata"]["name"]: node for node in (await client.list("v1", "Node")).items}

        async def registered() -> bool:
            return all(condition(node, "Ready") == "False" for node in (await nodes()).values())

        await until(registered, "nodes to register")
        ready = next(each for each in (await nodes())["worker-1"]["status"]["conditions"] if each["type"] == "Ready")
        assert "NetworkPluginNotReady" in ready["message"]

        # Without a network an ordinary pod finds no node, and one that tolerates everything gets no sandbox.
        stubborn = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "stubborn", "namespace": "default"},
            "spec": {
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "main", "image": "registry.example/app:1"}],
            },
        }
        await client.apply(stubborn, manager="tests")

        async def accepted() -> bool:
            pod = await client.get("v1", "Pod", "stubborn", namespace="default")
            return condition(pod, "PodReadyToStartContainers") == "False"

        await until(accepted, "the pod to be bound and wait for its sandbox")

        (network,) = manifests(NETWORK)
        network["spec"]["template"]["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "worker-1"}
        await client.apply(network, manager="tests")

        async def only_one() -> bool:
            states = {name: condition(node, "Ready") for name, node in (await nodes()).items()}
            return states == {"cp-1": "False", "worker-1": "True", "worker-2": "False"}

        await until(only_one, "worker-1 alone to be ready")

        del network["spec"]["template"]["spec"]["nodeSelector"]
        await client.apply(network, manager="tests")

        async def all_ready() -> bool:
            return all(condition(node, "Ready") == "True" for node in (await nodes()).values())

        async def started() -> bool:
            return condition(await client.get("v1", "Pod", "stubborn", namespace="default"), "Ready") == "True"

        await until(all_ready, "all nodes to be ready")
        await until(started, "the waiting pod to start")


async def test_up_again_changes_nothing_and_resumes_or_leaves_nothing_after_everything_was_killed(
    fresh_lab: FreshLab, programs: dict[str, Path]
) -> None:
    lab = await fresh_lab()
    before = {part.name: part.pid for part in (await lab.status()).parts}
    await write(lab, "kept")

    again = await lab.up(programs)
    assert {part.name: part.pid for part in again.parts} == before

    for pid in procfs.processes_of(lab.home.path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await until(nothing_left(lab), "all processes to die")

    resumed = await lab.up(programs)
    assert resumed.is_ready
    assert "kept" in await names(lab)

    for pid in procfs.processes_of(lab.home.path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    await lab.down()
    assert procfs.processes_of(lab.home.path) == ()
    assert not lab.home.path.exists()


@pytest.mark.long
async def test_down_ends_even_what_is_stopped(fresh_lab: FreshLab) -> None:
    lab = await fresh_lab()
    for pid in procfs.processes_of(lab.home.path):
        os.kill(pid, signal.SIGSTOP)

    await lab.down()

    assert procfs.processes_of(lab.home.path) == ()


@pytest.mark.long
async def test_deleting_the_directory_ends_the_lab(fresh_lab: FreshLab) -> None:
    lab = await fresh_lab()

    shutil.rmtree(lab.home.path)

    await until(nothing_left(lab), "the lab to notice")


@pytest.mark.long
async def test_two_labs_live_side_by_side_and_apart(fresh_lab: FreshLab) -> None:
    first, second = await asyncio.gather(fresh_lab("one"), fresh_lab("two"))
    await write(first, "only-here")

    assert (await first.status()).loopback != (await second.status()).loopback
    assert "only-here" not in await names(second)


@pytest.mark.long
async def test_a_lab_with_shifted_ports_shows_the_usual_ones(programs: dict[str, Path], tmp_path: Path) -> None:
    home = lab_directory.LabDirectory(tmp_path / "shifted")
    home.make()
    home.network.write_bytes(msgspec.json.encode(loopback_network.LoopbackNetwork(200, 20000)))
    lab = Lab(home)
    try:
        await lab.up(programs, owner=os.getpid())
        async with kube.Client(kube.load(lab.kubeconfig)) as client:

            async def port() -> int:
                live = await client.get("v1", "Node", "cp-1")
                return int(live["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"])

            assert client.config.server.endswith(":26443")
            assert await until(port, "the node to register") == 10250
    finally:
        await lab.down()


async def test_a_part_that_cannot_start_is_named_with_its_last_words(programs: dict[str, Path], tmp_path: Path) -> None:
    broken = tmp_path / "etcd"
    broken.write_text("#!/bin/sh\necho no disk today; exit 1\n")
    broken.chmod(0o755)
    lab = Lab(lab_directory.LabDirectory(tmp_path / "broken"))
    try:
        with pytest.raises(errors.LabError, match=r"etcd .*no disk today"):
            await lab.up({**programs, "etcd": broken}, owner=os.getpid())
    finally:
        await lab.down()


@pytest.mark.long
async def test_two_ups_at_once_start_one_lab(programs: dict[str, Path], tmp_path: Path) -> None:
    home = lab_directory.LabDirectory(tmp_path / "twice")
    try:
        first, second = await asyncio.gather(*(Lab(home).up(programs, owner=os.getpid()) for _ in range(2)))

        assert {part.name: part.pid for part in first.parts} == {part.name: part.pid for part in second.parts}
        assert all(part.restarts == 0 for part in second.parts)
    finally:
        await Lab(home).down()


async def test_a_cilium_agent_reports_as_the_real_one_does(fresh_lab: FreshLab) -> None:
    taint = lab_settings.NodeTaint(key="node.cilium.io/agent-not-ready", effect="NoExecute")
    node = lab_settings.SimulatedNode(name="only", address="10.5.0.9", taints=(taint,))
    lab = await fresh_lab(settings=lab_settings.LabSettings(pull_seconds=0.05, nodes=(node,)))
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "ciliumnodes.cilium.io"},
        "spec": {
            "group": "cilium.io",
            "scope": "Cluster",
            "names": {"kind": "CiliumNode", "listKind": "CiliumNodeList", "plural": "ciliumnodes", "singular": "cn"},
            "versions": [{"name": "v2", "served": True, "storage": True, "schema": schema}],
        },
    }
    (agent,) = manifests(NETWORK)
    agent["spec"]["selector"]["matchLabels"] = agent["spec"]["template"]["metadata"]["labels"] = {"k8s-app": "cilium"}
    async with kube.Client(kube.load(lab.kubeconfig)) as client:
        await client.apply(agent, manager="tests")

        async def reported() -> dict[str, Any]:
            live = await client.get("v1", "Node", "only")
            found = {each["type"]: each for each in live["status"].get("conditions", ())}.get("NetworkUnavailable", {})
            return live if found.get("reason") == "CiliumIsUp" and not live["spec"].get("taints") else {}

        await until(reported, "the agent's condition, and its taint to go")
        await client.apply(definition, manager="tests")

        async def cilium_node() -> dict[str, Any]:
            try:
                return await client.get("cilium.io/v2", "CiliumNode", "only")
            except (kube.NotFound, kube.UnknownKind):
                return {}

        made = await until(cilium_node, "the CiliumNode, once its kind is defined")
        assert made["spec"]["addresses"] == [{"ip": "10.5.0.9", "type": "InternalIP"}]
    assert all(part.restarts == 0 for part in (await lab.status()).parts)


@pytest.mark.long
async def test_settings_change_while_it_runs_except_the_networks(
    fresh_lab: FreshLab, programs: dict[str, Path]
) -> None:
    lab = await fresh_lab(workers=1)

    await lab.up(programs, settings=lab_settings.with_nodes(lab.settings(), control_planes=1, workers=3))
    async with kube.Client(kube.load(lab.kubeconfig)) as client:
        found = {node["metadata"]["name"] for node in (await client.list("v1", "Node")).items}
    assert found == {"cp-1", "worker-1", "worker-2", "worker-3"}

    changed = lab_settings.SimulatedNode(name="worker-1", address="10.5.0.10", labels={"zone": "a"})
    await lab.up(programs, settings=msgspec.structs.replace(lab.settings(), nodes=(changed,)))
    async with kube.Client(kube.load(lab.kubeconfig)) as client:

        async def address() -> str:
            (live,) = (await client.list("v1", "Node")).items
            assert live["metadata"]["labels"]["zone"] == "a"
            return str((live.get("status", {}).get("addresses") or [{"address": ""}])[0]["address"])

        assert await until(address, "the node to register anew") == "10.5.0.10"

    await lab.down(keep=True)
    with pytest.raises(errors.Refused, match="networks"):
        await lab.up(programs, settings=msgspec.structs.replace(lab.settings(), pod_cidr="10.9.0.0/16"))
