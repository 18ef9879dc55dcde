"""Talos upgraded machine by machine: one that does not come back ends it, and the same command goes on later."""

import gzip
import unittest.mock
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight.clients import kube, talosctl
from firstlight.clients.sops import SopsClient
from firstlight.clients.talosctl import MachineTarget
from firstlight.commands.node.drain_rules import MAINTENANCE_MARK
from firstlight.secrets import age_keys
from firstlight.tools import install
from tests import machines
from tests.integration.secrets.encrypted_repo import MINE
from tests.labs import NETWORK, condition, manifests, until
from tests.node_commands import Living

NEW = "v1.14.2"
"""One that no other test brings these machines to."""
OLD, PATCHED = "v1.13.0", "v1.13.2"
"""What machines of the line before run, and what they are brought to."""
KUBERNETES = "v1.36.4"
FLUX = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
GREETING = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "greeting", "namespace": "default", "labels": FLUX},
    "data": {"word": "ahoy"},
}
"""What Talos brought, as Flux has it now."""


@pytest_asyncio.fixture(scope="session")
async def sops() -> Path:
    return (await install.ensure(["sops"]))["sops"]


@pytest_asyncio.fixture
async def living(cluster: machines.Cluster, tmp_path: Path, sops: Path) -> Living:
    """The machines that tests share, declared by a repo of the test that encrypts for its author."""
    one = Living(cluster, tmp_path / "repo", sops)
    one.declare("cp-1", "cp-2", "cp-3", "worker-1", kubernetes=KUBERNETES)
    rule = f"creation_rules:\n  - path_regex: ^talos/lab/.*\n    age: {age_keys.recipient(MINE)}\n"
    (one.root / ".sops.yaml").write_text(rule)
    return one


@pytest_asyncio.fixture
async def api(cluster: machines.Cluster) -> AsyncIterator[kube.Client]:
    async with kube.Client(kube.load(cluster.lab.kubeconfig)) as client:
        yield client


async def versions(one: machines.Cluster) -> dict[str, str]:
    """What every machine runs; nothing for one that does not answer."""
    found = {}
    for name in one.loopbacks:
        try:
            found[name] = (await one.talos.version(one.here(name), timeout=5)).tag
        except talosctl.TalosError:
            found[name] = ""
    return found


async def are_ready(client: kube.Client, number: int) -> bool:
    nodes = (await client.list("v1", "Node")).items
    return len(nodes) == number and all(condition(each, "Ready") == "True" for each in nodes)


def lost_in_its_reboot(one: machines.Cluster, name: str) -> Any:
    """A machine whose power goes when it has installed its new version."""
    real = talosctl.Talosctl.upgrade

    async def upgrade(self: talosctl.Talosctl, target: MachineTarget, image: str, **options: Any) -> None:
        await real(self, target, image, **options)
        if target == MachineTarget.of(one.loopbacks[name], endpoints=[one.loopbacks[name]]):
            await one.lab.machine(name, "off")

    return unittest.mock.patch.object(talosctl.Talosctl, "upgrade", upgrade)


async def is_given_back(client: kube.Client, name: str) -> bool:
    node = await client.get("v1", "Node", name)
    return "unschedulable" not in node["spec"] and MAINTENANCE_MARK not in node["metadata"].get("annotations", {})


async def test_one_that_does_not_come_back_ends_it_and_the_same_command_goes_on(
    living: Living, api: kube.Client
) -> None:
    one = living.machines
    await until(lambda: are_ready(api, 4), "all nodes to be ready")
    before = await versions(one)
    asked = ("upgrade", "lab", "--talos", NEW, "--machine", "worker-1", "--machine", "cp-3", "--yes")

    with lost_in_its_reboot(one, "worker-1"):
        ended = await living.node(*asked, "--timeout", "4s")

    assert ended.code == 1, ended.out + ended.err
    said = " ".join(ended.out.split())
    assert "worker-1 does not answer" in said
    assert "talosctl rollback --nodes" in said
    assert await versions(one) == before | {"worker-1": ""}, "the others are not touched"
    assert not await is_given_back(api, "worker-1")

    await one.lab.machine("worker-1", "on")
    await one.answers("worker-1")
    done = await living.node(*asked)

    assert done.code == 0, done.out + done.err
    assert await versions(one) == before | {"worker-1": NEW, "cp-3": NEW}
    for name in ("worker-1", "cp-3"):
        assert await is_given_back(api, name)
    await _is_kept_encrypted(living)


async def _is_kept_encrypted(living: Living) -> None:
    assert living.sops is not None
    (kept,) = (living.root / ".firstlight" / "lab" / "etcd").iterdir()
    environ = {"SOPS_AGE_KEY": age_keys.identity(MINE).reveal().decode()}
    snapshot = gzip.decompress((await SopsClient(living.sops, environ=environ).decrypt(kept)).reveal())
    assert b"/registry/namespaces/kube-system" in snapshot
    assert b"/registry" not in kept.read_bytes()


async def test_what_an_upgrade_of_kubernetes_would_do_is_shown_before(living: Living, api: kube.Client) -> None:
    await until(lambda: are_ready(api, 4), "all nodes to be ready")

    shown = await living.node("upgrade", "lab", "--kubernetes", KUBERNETES, "--dry-run", "--no-snapshot", "-o", "json")

    assert shown.code in (0, 3), shown.out + shown.err
    moves = {each["name"]: (each["before"], each["after"]) for each in shown.data["rounds"][0]["machines"]}
    assert moves["cp-1"] == ("v1.36.0", KUBERNETES)
    (living.root / ".sops.yaml").unlink()
    refused = await living.node("upgrade", "lab", "--talos", NEW, "--dry-run")
    assert refused.code == 3
    assert "--no-snapshot" in refused.out


@pytest.mark.long
async def test_three_control_planes_one_at_a_time(fresh_machines: machines.Make, tmp_path: Path) -> None:
    one = await fresh_machines(machines=3, talos=OLD)
    living = Living(one, tmp_path / "repo")
    living.declare("cp-1", "cp-2", "cp-3", talos=PATCHED)
    await one.apply("cp-1", "cp-2", "cp-3", patches=[machines.BARE])
    await one.bootstrap()
    asked = ("upgrade", "lab", "--talos", PATCHED, "--yes", "--no-snapshot")
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        for obj in manifests(NETWORK):
            await client.apply(obj, manager="tests")
        await until(lambda: are_ready(client, 3), "three ready nodes")
        await until(lambda: _is_three(one), "three members")
        plan = await living.node(*asked, "--dry-run", "--output", "json")
        first = plan.data["rounds"][0]["machines"][0]["name"]

        with lost_in_its_reboot(one, first):
            ended = await living.node(*asked, "--timeout", "6s")

        assert ended.code == 1, ended.out + ended.err
        assert await versions(one) == dict.fromkeys(one.loopbacks, OLD) | {first: ""}
        refused = await living.node(*asked)
        assert (refused.code, f"{first} does not answer" in refused.out) == (3, True), refused.out + refused.err
        await one.lab.machine(first, "on")
        await one.answers(first)
        done = await living.node(*asked)

        assert done.code == 0, done.out + done.err
        assert set((await versions(one)).values()) == {PATCHED}
        for name in one.loopbacks:
            assert await is_given_back(client, name)
    again = await living.node(*asked, "--dry-run", "--output", "json")
    assert (again.code, again.data["done"]) == (0, True)


async def _is_three(one: machines.Cluster) -> bool:
    return await one.members() == 3


@pytest.mark.long
async def test_kubernetes_is_upgraded_but_not_over_what_git_owns(fresh_machines: machines.Make, tmp_path: Path) -> None:
    one = await fresh_machines(machines=1)
    living = Living(one, tmp_path / "repo")
    living.declare("cp-1")
    await one.apply("cp-1", patches=[machines.BARE, machines.INLINE])
    await one.bootstrap()
    asked = ("upgrade", "lab", "--kubernetes", KUBERNETES, "--yes", "--no-snapshot")
    async with kube.Client(kube.load(one.lab.kubeconfig)) as client:
        for obj in manifests(NETWORK):
            await client.apply(obj, manager="tests")
        await until(lambda: are_ready(client, 1), "the node to be ready")
        behind = await living.node(*asked)
        assert (behind.code, "firstlight.yaml:" in behind.out) == (3, True), behind.out + behind.err
        living.declare("cp-1", kubernetes=KUBERNETES)
        await client.apply(GREETING, manager="kustomize-controller", force=True)

        refused = await living.node(*asked)

        assert refused.code == 3, refused.out + refused.err
        assert "write over ConfigMap default/greeting, which Git owns" in refused.out
        assert (await client.get("v1", "Node", "cp-1"))["status"]["nodeInfo"]["kubeletVersion"] == "v1.36.0"

        done = await living.node(*asked, "--accept-manifests")

        assert done.code == 0, done.out + done.err
        assert (await client.get("v1", "Node", "cp-1"))["status"]["nodeInfo"]["kubeletVersion"] == KUBERNETES
        again = await living.node(*asked, "--dry-run", "--output", "json")
        assert (again.code, again.data["done"]) == (0, True), again.out
