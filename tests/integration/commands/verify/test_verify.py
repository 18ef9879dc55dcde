"""``verify`` on a real API server: what it sees, what its probes leave, and the proof that nothing was written."""

import asyncio
import json
import secrets
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.cli import main
from firstlight.clients import kube as clients_kube
from firstlight.clients.cilium import Cilium, Connectivity
from firstlight.commands.verify import connectivity, fingerprint, idempotency, talos_inventory, verify
from firstlight.gates.gate_parts import GateContext
from firstlight.journal import state_files
from firstlight.lab.running_lab import Lab
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Phase
from firstlight.model.place import Place
from firstlight.model.plan import Action, Gate, Plan, Step, Subject
from firstlight.model.rendition import Object
from firstlight.model.verdict import Failed, Passed, Skipped, VerificationCheck, Waiting
from firstlight.model.work import Apply, Work
from firstlight.observe import component_health
from firstlight.observe.gate_watch import Watching
from tests import machines
from tests.labs import until

HERE = Place("firstlight.yaml", 1)


@pytest.fixture
async def watching(kube: clients_kube.Client) -> AsyncIterator[Watching]:
    async with Watching(kube) as one:
        yield one


def scene(kube: clients_kube.Client, watching: Watching, **changes: Any) -> verify.VerifyContext:
    return verify.VerifyContext(
        cluster=Cluster(name="infra", place=HERE), client=kube, watching=watching, since=time.time(), **changes
    )


def deployment(namespace: str, name: str = "operator") -> dict[str, Any]:
    labels = {"app": name}
    rule = {"labelSelector": {"matchLabels": labels}, "topologyKey": "kubernetes.io/hostname"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [rule]}},
                    "containers": [{"name": "a", "image": "registry.example/operator:1"}],
                },
            },
        },
    }


def config_map(namespace: str, **data: str) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


async def test_replicas_that_came_by_themselves_and_one_that_was_scaled_by_hand(
    kube: clients_kube.Client, watching: Watching, namespace: str
) -> None:
    await kube.apply(deployment(namespace), manager="tests")

    found = {each.name: each for each in (await verify.verify(scene(kube, watching, wait=30))).checks}

    assert found["nodes"].verdict == Passed("3 nodes ready")
    assert "example-cni 3/3" in _passed(found["agents on all nodes"])
    assert "operator 2/2" in _passed(found["operator replicas"])
    assert found["API endpoints"].verdict == Passed("the endpoint is ready")

    scale = {"spec": {"replicas": 1}}
    await kube.patch(
        "apps/v1", "Deployment", "operator", scale, manager="someone", namespace=namespace, subresource="scale"
    )
    back = {"spec": {"replicas": 2}}
    await kube.patch(
        "apps/v1", "Deployment", "operator", back, manager="someone", namespace=namespace, subresource="scale"
    )
    told: list[VerificationCheck] = []
    again = await verify.verify(scene(kube, watching), tell=told.append)

    verdict = next(each.verdict for each in again.checks if each.name == "operator replicas")
    assert isinstance(verdict, Failed)
    assert "operator was scaled by someone" in verdict.reason
    assert not again.is_fine
    assert tuple(told) == again.checks
    assert "a lab: nodes and pods are simulated" in again.notes[0]


async def test_the_gates_of_components_are_asked_once_or_waited_for(
    kube: clients_kube.Client, watching: Watching, namespace: str
) -> None:
    value = deployment(namespace)
    wanted = Object(value)
    step = Step(
        id="core/operator",
        phase=Phase.CORE,
        action=Action.APPLY_OBJECTS,
        name="operator",
        component="operator",
        gates=(Gate(Subject.WORKLOAD, "operator", wanted.id), Gate(Subject.MACHINES)),
    )
    cluster = Cluster(name="infra", place=HERE)
    work = Work(
        cluster=cluster,
        plan=Plan(cluster="infra", steps=(step,)),
        tasks={step.id: Apply(objects=(wanted,), manager="tests")},
    )
    ground = GateContext(cluster=cluster, revision="", objects={"operator": (wanted,)})

    (absent,) = await component_health.checks(work, ground, watching)
    waiting = asyncio.create_task(component_health.checks(work, ground, watching, wait=30))
    await kube.apply(value, manager="tests")
    (there,) = await waiting

    assert absent.name == "core/operator"
    assert isinstance(absent.verdict, Waiting)
    assert absent.detail
    assert isinstance(there.verdict, Passed)
    assert there.detail == ()
    assert verify.managers(work) == {"tests", *verify.MANAGERS}


async def test_probes_are_always_removed(kube: clients_kube.Client, watching: Watching) -> None:
    left = f"firstlight-probe-{secrets.token_hex(3)}"
    metadata = {"name": left, "labels": {connectivity.LABEL: "true"}}
    await kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, manager="tests")

    found = await connectivity.probe_checks(kube, watching)

    assert [each.name for each in found] == ["probe: DNS", "probe: pod to pod"]
    assert found[0].verdict == Passed("a pod has looked up kubernetes.default.svc.cluster.local")
    assert isinstance(found[1].verdict, Passed)
    assert "from worker-" in found[1].verdict.reason

    async def left_is_gone() -> bool:
        names = {each["metadata"]["name"] for each in (await kube.list("v1", "Namespace")).items}
        return left not in names or left in await _going(kube)

    assert await left_is_gone()

    broken = asyncio.create_task(connectivity.probe_checks(kube, watching, image="registry.example/broken:1"))
    await until(lambda: _probes(kube), "the pods of the probe")
    broken.cancel()
    await asyncio.gather(broken, return_exceptions=True)

    found_after = (await kube.list("v1", "Namespace", labels=connectivity.LABEL)).items
    assert {each["metadata"]["name"] for each in found_after} == await _going(kube)


async def test_a_probe_that_cannot_pull_its_image_says_so(kube: clients_kube.Client, watching: Watching) -> None:
    dns, reached = await connectivity.probe_checks(kube, watching, image="registry.example/broken:1", timeout=2)

    assert isinstance(dns.verdict, Waiting)
    assert "pod dns: " in dns.verdict.reason
    assert "Pull" in dns.verdict.reason
    assert isinstance(reached.verdict, Waiting)
    assert reached.verdict.reason.startswith("the server: pod server: ")


class Asked(Cilium):
    """In the place of Cilium's own program: it notes what there is meanwhile, and leaves what the real one leaves."""

    def __init__(self, kube: clients_kube.Client, *, problem: str = "") -> None:
        super().__init__(Path("cilium"))
        self.kube = kube
        self.problem = problem
        self.asked: dict[str, Any] = {}
        self.levels: dict[str, str] = {}

    async def connectivity_test(self, **asked: Any) -> Connectivity:
        self.asked = asked
        for each in (await self.kube.list("v1", "Namespace", labels=connectivity.LABEL)).items:
            level = each["metadata"]["labels"].get("pod-security.kubernetes.io/enforce", "")
            self.levels[each["metadata"]["name"]] = level
        more = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "cilium-test-ccnp1"}}
        await self.kube.apply(more, manager="tests")
        if self.problem:
            raise errors.ClientError(self.problem)
        return Connectivity(tests=2, actions=52, skipped=107)


async def test_ciliums_own_test_runs_where_it_can_and_leaves_nothing(kube: clients_kube.Client, namespace: str) -> None:
    program = Asked(kube)
    elsewhere = await connectivity.check_cilium(kube, program)
    agents = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "agents", "namespace": namespace},
        "spec": {
            "selector": {"matchLabels": {"a": "b"}},
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"containers": [{"name": "a", "image": "registry.example/cilium/cilium:v1.18.3"}]},
            },
        },
    }
    await kube.apply(agents, manager="tests")

    found = [await connectivity.check_cilium(kube, program), await connectivity.check_cilium(kube, None)]
    found.append(await connectivity.check_cilium(kube, program, is_lab=True))
    with pytest.raises(errors.ClientError, match="timeout"):
        await connectivity.check_cilium(kube, Asked(kube, problem="timeout"))

    assert elsewhere.verdict == Skipped("not run: Cilium is not the network here")
    assert [each.verdict for each in found] == [
        Passed("2 tests, 52 actions; 107 tests skipped"),
        Skipped("not run: there is no program cilium on the PATH"),
        Skipped("not run: in a lab no container runs"),
    ]
    name = program.asked["namespace"]
    assert program.asked == {"namespace": name, "tests": "no-policies", "agents": (namespace, "agents")}
    assert {name: "privileged", f"{name}-1": "privileged"}.items() <= program.levels.items()
    after = (await kube.list("v1", "Namespace")).items
    left = {each["metadata"]["name"] for each in after if "deletionTimestamp" not in each["metadata"]}
    assert not {each for each in left if each.startswith(("firstlight-probe-", "cilium-test-"))}


@pytest.mark.parametrize("by_log", [True, False], ids=["audit-log", "resource-versions"])
async def test_a_second_run_that_only_reads_is_proven_to(
    lab: Lab, kube: clients_kube.Client, namespace: str, by_log: bool
) -> None:
    await kube.apply(config_map(namespace, n="1"), manager="tests")

    async def rerun() -> idempotency.Rerun:
        await kube.list("v1", "ConfigMap", namespace=namespace)
        await kube.apply(config_map(namespace, n="2"), manager="tests", dry_run=True)
        return idempotency.Rerun(writes=0, is_complete=True)

    log = lab.home.audit_log if by_log else None
    found = await idempotency.check_idempotency(kube, rerun, ours={"tests"}, log=log)

    assert isinstance(found.verdict, Passed), found.detail
    told = "the audit log" if by_log else "resource versions of "
    assert found.verdict.reason.startswith(f"0 writes to the API server in a second run, by {told}")


@pytest.mark.parametrize("by_log", [True, False], ids=["audit-log", "resource-versions"])
async def test_one_write_is_found_whatever_the_run_says(
    lab: Lab, kube: clients_kube.Client, namespace: str, by_log: bool
) -> None:
    await kube.apply(config_map(namespace, n="1"), manager="tests")

    async def rerun() -> idempotency.Rerun:
        await kube.apply(config_map(namespace, n="2"), manager="tests")
        return idempotency.Rerun(writes=0, is_complete=True)

    log = lab.home.audit_log if by_log else None
    found = await idempotency.check_idempotency(kube, rerun, ours={"tests"}, log=log)

    assert isinstance(found.verdict, Failed)
    assert found.verdict.reason.startswith("the second run wrote 1 time, by ")
    assert f"{namespace}/a" in found.detail[0]


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        (idempotency.Rerun(writes=2, is_complete=True), "the second run says that it wrote 2"),
        (idempotency.Rerun(writes=0, is_complete=False, reason="no CNI"), "the second run did not end well: no CNI"),
    ],
    ids=["says-so", "incomplete"],
)
async def test_what_a_run_says_of_itself_counts_too(
    lab: Lab, kube: clients_kube.Client, result: idempotency.Rerun, reason: str
) -> None:
    async def rerun() -> idempotency.Rerun:
        return result

    found = await idempotency.check_idempotency(kube, rerun, ours=(), log=lab.home.audit_log)

    assert isinstance(found.verdict, Failed)
    assert found.verdict.reason.startswith(reason)


async def test_the_command_as_text_and_as_json(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], kube: clients_kube.Client
) -> None:
    (tmp_path / "firstlight.yaml").write_text(
        "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\n"
        "metadata: {name: home}\nclusters: {infra: {role: infra}}\n"
    )
    kept = tmp_path / ".firstlight/infra/kubeconfig"
    state_files.enter(kept)
    kept.write_bytes(lab.kubeconfig.read_bytes())
    words = ["verify", "infra", "--no-render", "--repo", str(tmp_path), "--since", "1s"]

    code = await asyncio.to_thread(main.run, [*words, "-o", "json"])
    found = json.loads(capsys.readouterr().out)
    plain = await asyncio.to_thread(main.run, words)
    text = capsys.readouterr().out

    # Two looks at a cluster that others use too: each answers for what it saw itself.
    assert code == (0 if found["fine"] else 1)
    assert plain == (0 if "all fine" in text else 1)
    assert [each["verdict"] for each in found["checks"] if each["name"] == "nodes"] == ["passed"]
    assert text.startswith("infra   ")
    assert "3 nodes ready" in text
    assert await asyncio.to_thread(main.run, [*words, "--since", "yesterday"]) == 64
    kept.with_name("identity.json").write_text('{"kubeSystem": "another"}')
    assert await asyncio.to_thread(main.run, words) == 3


class TestMachines:
    """With machines that the real talosctl has made a cluster of."""

    async def test_configs_and_boots_stay_what_they_are_when_nothing_is_written(
        self, cluster: machines.Cluster
    ) -> None:
        targets = {name: cluster.here(name) for name in cluster.loopbacks}
        before = await fingerprint.config_versions(cluster.talos, targets)
        labelled = "machine: {nodeLabels: {example.org/rack: a}}\n"
        config = await cluster.config("cp-1", machines.BARE, machines.INLINE, machines.GRACE, labelled)
        await cluster.talos.apply_config(cluster.here("cp-1"), config, dry_run=True)
        after = await fingerprint.config_versions(cluster.talos, targets)

        assert before == after
        assert set(before) == {"cp-1", "cp-2", "cp-3", "worker-1"}
        assert len({each.split(" ")[1] for each in before.values()}) == 4

    async def test_the_inventory_and_every_api(self, cluster: machines.Cluster) -> None:
        planes = [
            Machine(name=name, role=MachineRole.CONTROL_PLANE, place=HERE, address=cluster.declared[name])
            for name in ("cp-1", "cp-2", "cp-3")
        ]
        config = clients_kube.load(cluster.lab.kubeconfig)
        host = config.server.removeprefix("https://")
        reach = {cluster.declared["cp-1"]: host, cluster.declared["cp-2"]: host}
        async with clients_kube.Client(config) as client, Watching(client) as watching:
            (verdict,) = await component_health.judged(
                [talos_inventory.inventory_question("v1.13.0", has_inline=True)], watching, wait=0.0
            )
            found = await verify.check_endpoints(client, planes[:2], reach=reach)
            boots = await fingerprint.boots(client)

        assert isinstance(verdict, Passed)
        assert found.verdict == Passed("the endpoint is ready; cp-1, cp-2 by their own address")
        assert set(boots) == {"cp-1", "cp-2", "cp-3", "worker-1"}


def _passed(check: VerificationCheck) -> str:
    """Why it has passed; others use the same lab, so there may be more to say."""
    assert isinstance(check.verdict, Passed), check
    return check.verdict.reason


async def _going(kube: clients_kube.Client) -> set[str]:
    """The namespaces of probes that are being deleted."""
    found = (await kube.list("v1", "Namespace", labels=connectivity.LABEL)).items
    return {each["metadata"]["name"] for each in found if "deletionTimestamp" in each["metadata"]}


async def _probes(kube: clients_kube.Client) -> bool:
    found = (await kube.list("v1", "Pod", labels=connectivity.LABEL)).items
    return any("broken" in each["spec"]["containers"][0]["image"] for each in found)
