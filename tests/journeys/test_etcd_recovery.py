"""etcd lost on a majority of the control planes, and everything of a backup brought back."""

import base64
import contextlib
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from firstlight.clients import kube, talosctl
from firstlight.clients.kube import Client
from firstlight.commands.backup import backup_signature
from firstlight.commands.recover import etcd_restore
from firstlight.commands.recover.drill_context import DrillContext
from firstlight.commands.up.up import PreparedRun
from firstlight.execute import live_cluster
from firstlight.execute import walk as execute_walk
from firstlight.execute.walk import Walk
from firstlight.gates.gate_parts import GateContext
from firstlight.model.event import Event, StepStarted
from firstlight.model.plan import Plan
from firstlight.model.work import Work
from firstlight.repo import platform_reader
from firstlight.secrets import age_keys
from firstlight.tools import install
from tests import labs, machines
from tests import nodes as tests_nodes
from tests.integration.secrets.encrypted_repo import MINE
from tests.labs import NETWORK, condition, manifests
from tests.node_commands import Living
from tests.nodes import Walked
from tests.recover import drills, killed

KILLED = (
    killed.At(step="etcd:keep", moment="after"),
    killed.At(step="etcd:wipe", moment="before"),
    killed.At(step="etcd:wipe", moment="amid"),
    killed.At(step="etcd:restore", moment="before"),
    killed.At(step="etcd:restore", moment="after"),
)
"""Where a recovery of what a member still has would lose it if it began anew."""
MEMBERS = ("cp-1", "cp-2", "cp-3")
WATCHER = """
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: watcher, namespace: NAME}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: NAME-watcher}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME-watcher}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: NAME-watcher}
subjects: [{kind: ServiceAccount, name: watcher, namespace: NAME}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: controller, namespace: NAME, labels: {app.kubernetes.io/part-of: PART}}
spec:
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      serviceAccountName: watcher
      containers: [{name: controller, image: "registry.example/controller:1"}]
"""
"""A controller that watches the API: the engine, by its label, or an operator."""


@pytest_asyncio.fixture
async def living(fresh_machines: machines.Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Living:
    """Three control planes and a worker, all well, with a repo that encrypts for its author."""
    monkeypatch.setenv("SOPS_AGE_KEY", age_keys.identity(MINE).reveal().decode())
    one = await fresh_machines(machines=3, workers=1)
    found = Living(one, tmp_path / "repo", (await install.ensure(["sops"]))["sops"])
    found.declare(*MEMBERS, "worker-1")
    rule = f"creation_rules:\n  - path_regex: ^talos/lab/.*\n    age: {age_keys.recipient(MINE)}\n"
    (found.root / ".sops.yaml").write_text(rule)
    await one.apply(*MEMBERS, "worker-1", patches=[machines.BARE, machines.GRACE])
    await one.bootstrap()
    return found


@contextlib.asynccontextmanager
async def api(living: Living) -> AsyncIterator[Client]:
    async with Client(kube.load(living.machines.lab.kubeconfig)) as client:
        yield client


def ground(living: Living, place: tests_nodes.Ground | None = None) -> DrillContext:
    """Where it is drilled."""
    platform = platform_reader.read(living.root)
    cluster = platform.clusters[0]
    prepared = PreparedRun(
        platform=platform, cluster=cluster, ground=GateContext(cluster, revision="", objects={}), problems=(),
        work=Work(cluster=cluster, plan=Plan(cluster=cluster.name, steps=()), tasks={}),
    )  # fmt: skip
    means = living.means() if place is None else tests_nodes.means(place)
    return DrillContext(lab=living.machines.lab, prepared=prepared, means=means)


class Killed(BaseException):
    """Ends a walk as a signal does: nothing of it is handled."""


async def restored(living: Living, source: Path | None, *, until: str = "") -> Walked:
    """The walk, as ``firstlight recover`` goes it; killed when a stage begins, if one is named."""
    means = living.means()
    cluster = platform_reader.read(living.root).clusters[0]
    trusted = await backup_signature.trust()
    stages = etcd_restore.stages(cluster, source=source, root=living.root, now=means.now(), timeout=60, trusted=trusted)
    walk = Walk(cluster=cluster, command="recover", again="", stages=stages)
    events: list[Event] = []
    asked: list[str] = []

    def confirm(danger: str) -> bool:
        asked.append(danger)
        return True

    def tell(event: Event) -> None:
        events.append(event)
        if isinstance(event, StepStarted) and event.step == until:
            raise Killed

    async with live_cluster.unconnected(cluster, means) as world:
        begun = execute_walk.started(walk, means)
        result = await execute_walk.run(walk, world, means, begun=begun, tell=tell, confirm=confirm)
    return Walked(result, events, asked)


async def are_well(client: Client, one: machines.Cluster) -> bool:
    nodes = (await client.list("v1", "Node")).items
    ready = [condition(each, "Ready") == "True" for each in nodes]
    return len(ready) == 4 and all(ready) and await one.members() == 3


async def shop(client: Client) -> Mapping[str, Mapping[str, Any]]:
    """Every object of the shop, as the API has it, by kind and name."""
    found = {}
    for kind in ("ConfigMap", "Secret"):
        for each in (await client.list("v1", kind, namespace="shop")).items:
            found[f"{kind} {each['metadata']['name']}"] = each
    return found


async def pods(client: Client) -> dict[str, set[str]]:
    """The pods of what watches, by namespace."""
    names = {"flux-system": "", "operators": "", "kube-system": "app.kubernetes.io/name=example-cni"}
    return {
        name: {
            each["metadata"]["uid"] for each in (await client.list("v1", "Pod", namespace=name, labels=labels)).items
        }
        for name, labels in names.items()
    }


async def fill(client: Client) -> None:
    """A network, the engine, an operator, and things that somebody would miss."""
    for obj in manifests(NETWORK):
        await client.apply(obj, manager="tests")
    for name, part in (("flux-system", "flux"), ("operators", "shop")):
        for obj in yaml.safe_load_all(WATCHER.replace("NAME", name).replace("PART", part)):
            await client.apply(obj, manager="tests")
    await client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}, manager="tests")
    for number in range(20):
        await client.apply(config_map(f"order-{number}", f"of day {number}"), manager="tests")
    await client.apply(secret("till", "1234"), manager="tests")


def config_map(name: str, word: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"word": word}}


def secret(name: str, word: str) -> dict[str, Any]:
    data = {"word": base64.b64encode(word.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "shop"}, "data": data}


async def lose(one: machines.Cluster, *names: str) -> None:
    """Their etcd is gone, as when disks were exchanged."""
    for name in names:
        await one.talos.reset(
            one.here(name), graceful=False, reboot=True, wipe="system-disk", system_labels=["EPHEMERAL"], wait=False
        )

    async def is_lost() -> bool:
        try:
            found = await one.talos.etcd_status(one.here("cp-1"), timeout=5)
        except talosctl.TalosError:
            return True
        return not found[0].leader

    await labs.until(is_lost, "etcd to be without a leader")


async def test_etcd_is_restored_from_a_backup_and_everybody_who_watched_begins_anew(living: Living) -> None:
    one = living.machines
    async with api(living) as client:
        await fill(client)
        await labs.until(lambda: are_well(client, one), "the cluster to be well")
        before = await pods(client)
        kept, uid = await shop(client), (await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"]

        made = await living.typed("backup", "create", "lab", "--output", "json")

        assert made.code == 0, made.out + made.err
        source = Path(made.data["backup"]["path"])
        await client.delete("v1", "Secret", "till", namespace="shop")
        await client.apply(config_map("order-3", "of another day"), manager="tests")
        await client.apply(config_map("later", "was not there"), manager="tests")
        await client.delete("v1", "Namespace", "operators")
        await labs.until(lambda: is_gone(client, "operators"), "the operators to be gone")
    await lose(one, "cp-2", "cp-3")

    with pytest.raises(Killed):
        await restored(living, source, until="etcd:members")
    found = await restored(living, source)

    assert found.result.is_complete, (found.failures, found.told)
    assert found.asked == [], "it was asked before anything was wiped, and is not wiped again"
    assert not [each for each in found.writes if "wipe" in each]
    async with api(living) as client:
        assert (await client.get("v1", "Namespace", "kube-system"))["metadata"]["uid"] == uid
        assert await shop(client) == kept, "objects, with their uids and resource versions"
        await labs.until(lambda: are_well(client, one), "the cluster to be well again")
        for name, old in (await pods(client)).items():
            assert old, name
            assert not old & before[name], f"who watched in {name} has begun anew"
    wrote = "\n".join(found.writes)
    assert "restart the kubelet of worker-1" in wrote
    order = [wrote.index(each) for each in ("example-cni", "operators/controller", "flux-system/controller")]
    assert order == sorted(order)


@pytest.mark.long
async def test_what_a_member_that_is_left_has_is_restored_without_a_loss(living: Living) -> None:
    one = living.machines
    async with api(living) as client:
        await fill(client)
        await labs.until(lambda: are_well(client, one), "the cluster to be well")
        kept = await shop(client)

    found = await drills.drill("quorum", ground(living))

    assert (found.option, found.lost) == ("etcd-quorum", ())
    async with api(living) as client:
        assert await shop(client) == kept, "objects, with their uids and resource versions"
        await labs.until(lambda: are_well(client, one), "the cluster to be well again")
    left = [each.name for each in (living.root / ".firstlight" / "lab").rglob("*.sops")]
    assert left, "what was left of etcd was kept, encrypted"


@pytest.mark.long
@pytest.mark.parametrize("at", KILLED, ids=[f"{each.step}-{each.moment}" for each in KILLED])
async def test_a_recovery_that_was_killed_goes_on(living: Living, at: killed.At, tmp_path: Path) -> None:
    one = living.machines
    place = msgspec.structs.replace(tests_nodes.ground(one, tmp_path / "ground"), sops=str(living.sops))
    async with api(living) as client:
        await fill(client)
        await labs.until(lambda: are_well(client, one), "the cluster to be well")
        kept = await shop(client)

    found = await drills.killed(
        "quorum", ground(living, place), at=at,
        order=lambda words: killed.Order(root=str(living.root), words=words, machines=place),
    )  # fmt: skip

    assert found.lost == ()
    async with api(living) as client:
        assert await shop(client) == kept, "objects, with their uids and resource versions"
        await labs.until(lambda: are_well(client, one), "the cluster to be well again")


async def is_gone(client: Client, namespace: str) -> bool:
    return namespace not in {each["metadata"]["name"] for each in (await client.list("v1", "Namespace")).items}
