"""Clusters of Omni, with a stand-in for omnictl: what is looked at, what is written, and which cluster it is."""

import dataclasses
import json
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute import cluster_access, cluster_identity, gate_wait
from firstlight.execute.actions import dispatch, kubeconfig, omni_template
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.omni_status import OmniVerb, ResourceChange, ResourceFieldChange
from firstlight.model.place import Place
from firstlight.model.plan import Subject
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import FetchKubeconfig, SyncTemplate
from tests.unit.clients.recorder import Recorder

SAMPLES = Path(__file__).parents[1] / "clients" / "omnictl" / "samples"
STEP = "machine:template"
PLANE, REMOVED = "27c16241-96bf-4f17-9579-ea3a6c4a3ca8", "4bd92fba-998d-4ef3-ab43-638b806dd3fe"
ID = "0b7ffd3b-25ff-4f2c-9a0f-1c6b1d2e3f40"
DIFF, SYNC, STATUS = "cluster template diff", "cluster template sync", "cluster template status"
GET, NONE = "get", "Error: rpc error: code = NotFound desc = no such resource\n"
RUNNING = f"""Cluster "apps" RUNNING Not Ready (0/1) (healthy/total)
└── Control Plane "apps-control-planes" Running Not Ready (0/1)
    ├── Status Checks OK
    └── Machine "{PLANE}" RUNNING Not Ready
"""
OIDC = """
apiVersion: v1
kind: Config
clusters: [{name: omni-apps, cluster: {server: "https://omni.example.org:8100"}}]
contexts: [{name: omni-apps, context: {cluster: omni-apps, user: me}}]
current-context: omni-apps
users:
- name: me
  user:
    exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: kubectl, args: [oidc-login, get-token]}
"""


@pytest.fixture
def program(tmp_path: Path) -> Recorder:
    found = Recorder(tmp_path / "program", "omnictl")
    found.says(stderr=NONE, code=1, when=GET)
    found.says(RUNNING, stderr="Error: cluster is not healthy\n", code=1, when=STATUS)
    return found


@pytest.fixture
def task(tmp_path: Path) -> SyncTemplate:
    return SyncTemplate(template=tmp_path / "apps.yaml", directory=tmp_path, cluster="apps")


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def world(tmp_path: Path, program: Recorder, told: list[str]) -> World:
    async def resolve(reference: str) -> Secret:
        raise AssertionError("Omni keeps the keys")

    machines = tuple(
        Machine(name=name, id=id, role=MachineRole.CONTROL_PLANE, place=Place("apps.yaml"), address="10.0.0.9")
        for name, id in (("cp-1", PLANE),)
    )
    return World(
        cluster=Cluster(name="infra", place=Place("apps.yaml"), machines=machines),
        programs=RunPrograms(omnictl=program.path), resolve=resolve, state=tmp_path / ".firstlight",
        tell=lambda step, text: told.append(text),
    )  # fmt: skip


def known(program: Recorder) -> None:
    program.says(json.dumps({"spec": {"uuid": ID}}), when=GET)


def called(program: Recorder) -> list[str]:
    return [" ".join(word for word in argv if not word.startswith("--")) for argv in program.argvs]


async def test_a_template_that_changes_nothing_is_not_synced(
    task: SyncTemplate, world: World, program: Recorder, told: list[str]
) -> None:
    assert await dispatch.look(task, world, STEP) is None
    assert called(program) == ["cluster template validate", "get ClusterUUIDs.omni.sidero.dev apps", DIFF]
    assert told == ["Omni: not rehearsed; it configures machines and bootstraps etcd by itself"]


async def test_a_new_cluster_is_made_without_a_question(task: SyncTemplate, world: World, program: Recorder) -> None:
    program.says((SAMPLES / "new-cluster.diff").read_text(), when=DIFF)

    change = await omni_template.look(task, world, STEP)

    assert change is not None
    assert change.writes == (
        "create the cluster apps in Omni",
        "create the config patch 200-cluster-apps-patches/registry.yaml in Omni",
        "create the machine set apps-control-planes in Omni",
        "create the machine cp-1 in Omni",
    )
    assert change.danger == ""
    assert SYNC not in called(program)
    await change.perform()
    assert called(program)[-1] == SYNC


async def test_what_takes_machines_away_or_down_is_confirmed(
    task: SyncTemplate, world: World, program: Recorder
) -> None:
    program.says((SAMPLES / "upgrade-and-removal.diff").read_text(), when=DIFF)

    change = await omni_template.look(task, world, STEP)

    assert change is not None
    assert change.danger.split("; ") == [
        "Kubernetes 1.34.1 becomes 1.35.0: Omni upgrades machine by machine",
        "Omni may remove machines from the set apps-workers (3 becomes 1)",
        f"Omni removes the machine {REMOVED}, and wipes what was installed",
        "Omni may reboot machines, one after the other, for the config patch 200-cluster-apps-motd",
    ]


@pytest.mark.parametrize(
    ("turn", "is_dangerous"),
    [
        (ResourceFieldChange(field="machinecount", was="1", becomes="3"), False),
        (ResourceFieldChange(field="machinecount", was="10", becomes="9"), True),
        (ResourceFieldChange(field="machinecount", was="3"), True),
        (ResourceFieldChange(field="machinecount", becomes="3"), False),
        (ResourceFieldChange(field="allocationtype", was="1", becomes="0"), True),
    ],
    ids=["grows", "shrinks", "ends", "begins", "another way"],
)
def test_a_set_that_may_lose_machines_is_dangerous(turn: ResourceFieldChange, is_dangerous: bool) -> None:
    change = ResourceChange(verb=OmniVerb.UPDATE, kind="MachineSets", id="apps-workers", turns=(turn,))

    assert bool(list(omni_template.dangers([change], {}))) is is_dangerous


def test_another_machine_is_not_dangerous() -> None:
    change = ResourceChange(verb=OmniVerb.CREATE, kind="MachineSetNodes", id="9")

    assert list(omni_template.dangers([change], {})) == []


async def test_a_template_that_omnictl_refuses_is_not_sent(task: SyncTemplate, world: World, program: Recorder) -> None:
    program.says(stderr="Error: error loading template\n", code=1, when="cluster template validate")

    with pytest.raises(errors.ClientError, match="error loading template"):
        await omni_template.look(task, world, STEP)

    assert called(program) == ["cluster template validate"]


@pytest.mark.parametrize("now", ["", "another"], ids=["gone", "another"])
async def test_another_cluster_than_before_is_refused_before_the_first_write(
    task: SyncTemplate, world: World, program: Recorder, now: str
) -> None:
    cluster_identity.keep_omni(world, ID)
    if now:
        program.says(json.dumps({"spec": {"uuid": now}}), when=GET)

    with pytest.raises(errors.Refused, match="not the cluster that it was") as caught:
        await omni_template.look(task, world, STEP)

    assert "delete" in caught.value.hint
    assert DIFF not in called(program)


async def test_without_omnictl_it_says_how_to_come_by_it(task: SyncTemplate, world: World) -> None:
    world.programs = RunPrograms()

    with pytest.raises(errors.ToolError) as caught:
        await omni_template.look(task, world, STEP)

    assert "omnictl" in caught.value.hint


async def test_the_kubeconfig_is_omnis_and_may_sign_a_person_in(world: World, program: Recorder) -> None:
    known(program)
    program.says(OIDC, when="kubeconfig")
    program.says("context: apps\n", when="talosconfig")

    fetched = await cluster_access.fetch_omni_kubeconfig("apps", world)

    config = kubeconfig.parsed(fetched, allow_exec=True)
    assert config.exec_plugin is not None
    with pytest.raises(errors.Refused):
        kubeconfig.parsed(fetched)
    assert world.talosconfig == Secret("context: apps\n")
    assert json.loads((world.state / "infra" / "identity.json").read_text()) == {"omni": ID}


async def test_ids_of_omni_and_of_kube_system_are_kept_beside_each_other(world: World) -> None:
    cluster_identity.keep_omni(world, ID)
    cluster_identity.check_uid(world, "kube-system's")

    cluster_identity.check_omni(world, ID)
    cluster_identity.check_uid(world, "kube-system's")
    for check in (cluster_identity.check_omni, cluster_identity.check_uid):
        with pytest.raises(errors.Refused):
            check(world, "another")


async def test_a_cluster_that_omni_does_not_have_gives_no_kubeconfig(world: World, program: Recorder) -> None:
    with pytest.raises(errors.Refused, match="Omni has no cluster apps"):
        await kubeconfig.look(FetchKubeconfig(control_planes=(), omni="apps"), world, "machine:kubeconfig")

    assert "kubeconfig" not in called(program)


async def test_no_keys_are_made_for_machines_of_omni(world: World) -> None:
    world.programs = dataclasses.replace(world.programs, talosctl=Path("/nowhere"))

    with pytest.raises(errors.Refused, match="Omni's"):
        await cluster_access.ensure(world)


async def test_gates_ask_omni(
    task: SyncTemplate, world: World, program: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_wait, "OMNI_POLL", 0.01)
    program.says(stderr="Error: rpc error: code = Unavailable desc = connection refused\n", code=1, when=STATUS)
    seen: list[Verdict] = []

    def on_verdict(verdict: Verdict) -> None:
        seen.append(verdict)
        program.says(RUNNING, stderr="Error: cluster is not healthy\n", code=1, when=STATUS)

    found = await gate_wait.wait_for_machines(Subject.MACHINES, task, world, on_verdict=on_verdict)

    assert isinstance(seen[0], Waiting)
    assert "connection refused" in seen[0].reason
    assert seen[1:] == [found] == [Passed("1 of 1 up")]
    assert isinstance(await gate_wait.wait_for_machines(Subject.ETCD, task, world, on_verdict=seen.append), Passed)


async def test_a_gate_ends_with_what_it_waits_for(
    task: SyncTemplate, world: World, program: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate_wait, "OMNI_POLL", 0.01)
    program.says(
        RUNNING.replace("RUNNING Not", "INSTALLING Not", 2), code=1, stderr="cluster is not healthy", when=STATUS
    )

    found = await gate_wait.wait_for_machines(Subject.MACHINES, task, world, on_verdict=lambda each: None, timeout=0.1)

    assert found == Waiting("cp-1 is installing")
