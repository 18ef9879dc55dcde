"""Machines from maintenance mode to the Kubernetes API, and everything that is refused on the way."""

import base64
import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube, talosctl
from firstlight.commands.up import machine_checks
from firstlight.execute import gate_wait, talos_secrets
from firstlight.execute.actions import bootstrap_etcd, configure, kubeconfig
from firstlight.execute.world import RunPrograms, World
from firstlight.lab import procfs
from firstlight.model.cluster import AddressBook, Cluster, Machine, MachineRole, Network
from firstlight.model.component import Phase
from firstlight.model.machine_config import DraftPatch, MachineDraft
from firstlight.model.machine_report import MachineStanding
from firstlight.model.place import Place
from firstlight.model.plan import Action, Plan, Step, Subject
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import BootstrapEtcd, Configure, FetchKubeconfig, Work
from firstlight.observe import machine_survey
from firstlight.secrets.secret_resolver import SecretResolver
from firstlight.tools import install
from tests import machines as tests_machines
from tests.integration.secrets.encrypted_repo import EncryptedRepo
from tests.labs import until

PLACE = Place("firstlight.yaml", 1)
STEP = "machine:control-planes"
ENDPOINT = "https://10.5.0.100:6443"
GREETING = tests_machines.INLINE.split("contents: |\n")[1]


@dataclasses.dataclass
class Bench:
    """A lab of machines, and a run that talks to it."""

    lab: tests_machines.Cluster
    state: Path
    told: list[str] = dataclasses.field(default_factory=list)
    patches: tuple[str, ...] = (tests_machines.BARE,)
    inline: Mapping[str, Secret] = dataclasses.field(default_factory=lambda: {"greeting": Secret(_dedent(GREETING))})

    @property
    def machines(self) -> list[Machine]:
        roles = {True: MachineRole.WORKER, False: MachineRole.CONTROL_PLANE}
        return [
            Machine(name=name, role=roles[name.startswith("worker")], place=PLACE, address=address)
            for name, address in self.lab.declared.items()
        ]

    @property
    def planes(self) -> tuple[Machine, ...]:
        return tuple(each for each in self.machines if each.role is MachineRole.CONTROL_PLANE)

    @property
    def bootstrap(self) -> BootstrapEtcd:
        return BootstrapEtcd(first=self.planes[0], control_planes=self.planes)

    def world(self, **changes: object) -> World:
        """A run of its own: nothing is remembered from the one before."""

        async def secrets() -> Secret:
            return self.lab.secrets

        async def resolve(reference: str) -> Secret:
            raise AssertionError(reference)

        reach = AddressBook(
            machines={self.lab.declared[name]: self.lab.loopbacks[name] for name in self.lab.declared},
            kubernetes=self.lab.api,
        )
        cluster = Cluster(name="lab", place=PLACE, machines=tuple(self.machines), network=Network(endpoint=ENDPOINT))
        world = World(
            cluster=cluster, programs=RunPrograms(talosctl=self.lab.program), resolve=resolve, state=self.state,
            reach=reach, tell=lambda step, text: self.told.append(text), talos_secrets=secrets, patience=30.0,
        )  # fmt: skip
        return dataclasses.replace(world, **changes)  # type: ignore[arg-type]

    def task(self, *names: str, patches: Sequence[str] = (), **facts: object) -> Configure:
        chosen = [each for each in self.machines if not names or each.name in names]
        return Configure(drafts=tuple(self.draft(each, patches, **facts) for each in chosen))

    def draft(self, machine: Machine, patches: Sequence[str] = (), **facts: object) -> MachineDraft:
        hostname = f"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {machine.name}\nauto: off\n"
        is_plane = machine.role is MachineRole.CONTROL_PLANE
        texts = [hostname, *(self.patches if is_plane else ()), *patches]
        made = MachineDraft(
            machine=machine, cluster="lab", endpoint=ENDPOINT, talos="v1.13.0",
            patches=tuple(DraftPatch(place=PLACE, text=Secret(each)) for each in texts),
            inline=self.inline if is_plane else {},
        )  # fmt: skip
        return dataclasses.replace(made, **facts)  # type: ignore[arg-type]

    async def stages(self) -> dict[str, str]:
        found = {}
        for name in self.lab.loopbacks:
            target = talosctl.MachineTarget.of(self.lab.loopbacks[name])
            found[name] = (await self.lab.stranger.machine_status(target)).stage
        return found


def _dedent(text: str) -> str:
    return "".join(line[8:] + "\n" for line in text.splitlines() if line.strip())


@pytest_asyncio.fixture(scope="module")
async def bench(machine_programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Bench]:
    """Four bare machines of Talos 1.13, which reboots where a config needs it, and its talosctl."""
    home = tmp_path_factory.mktemp("labs") / "bench"
    lab = await tests_machines.make(
        machine_programs, home, machines=3, workers=1, settings=tests_machines.FAST,
        talos="v1.13.0", talosctl_name="talosctl-1-13",
    )  # fmt: skip
    yield Bench(lab, tmp_path_factory.mktemp("state"))
    await lab.lab.down()
    assert procfs.processes_of(lab.lab.home.path) == ()


@pytest_asyncio.fixture(scope="module")
async def refusals(bench: Bench) -> dict[str, errors.FirstlightError]:
    """What is refused while the machines are bare; none of it may have written anything."""
    found: dict[str, errors.FirstlightError] = {}

    async def refused(name: str, task: Configure, world: World) -> None:
        try:
            await configure.look(task, world, STEP)
        except errors.Refused as error:
            found[name] = error
        await world.close()

    link = "machine: {network: {interfaces: [{interface: eth7, dhcp: true}]}}"
    first, second, third = bench.planes
    wrong = Configure(
        drafts=(
            bench.draft(first, install_disk="/dev/nvme9n1"),
            bench.draft(second, [link]),
            bench.draft(third),
        )
    )
    await refused("hardware", wrong, bench.world(fingerprints={"cp-3": "AAAA"}))
    found["before"] = await _checked(bench, wrong)
    found["lived"] = await _checked(bench, bench.task("cp-1", "cp-2", "cp-3"), lived="of-old")
    label = "machine: {nodeLabels: {'not a label': x}}"
    await refused("config", bench.task("cp-1", patches=[label]), bench.world())
    silent = {**bench.world().reach.machines, bench.lab.declared["cp-3"]: f"127.0.0.1:{_unused()}"}
    lost = bench.world(reach=AddressBook(machines=silent), patience=0.0)
    await refused("unreachable", bench.task("cp-1", "cp-2", "cp-3"), lost)
    found["another machine"] = await _swapped(bench)
    found["stages"] = errors.Refused(", ".join(sorted(set((await bench.stages()).values()))))
    return found


@pytest_asyncio.fixture(scope="module")
async def sops() -> Path:
    return (await install.ensure(["sops"]))["sops"]


@dataclasses.dataclass
class Made:
    """What happened from maintenance mode to the API."""

    bench: Bench
    world: World
    writes: list[str]
    verdicts: list[Verdict]
    judged: list[str]
    danger: str = ""
    """Of the bootstrap."""


@pytest_asyncio.fixture(scope="module")
async def made(bench: Bench, refusals: dict[str, errors.FirstlightError]) -> AsyncIterator[Made]:
    """The control planes made a cluster; the worker is still bare."""
    world = bench.world()
    done = Made(bench, world, [], [], [])

    def judged(verdict: Verdict) -> None:
        done.judged.append(str(verdict))

    task = bench.task("cp-1", "cp-2", "cp-3")
    change = await configure.look(task, world, STEP)
    assert change is not None
    assert not change.danger
    done.writes += change.writes
    await change.perform()
    done.verdicts.append(await gate_wait.wait_for_machines(Subject.MACHINES, task, world, on_verdict=judged))
    (bench.state / "lab").mkdir()
    (bench.state / "lab" / "identity.json").write_text('{"kubeSystem": "of-old"}')
    change = await bootstrap_etcd.look(bench.bootstrap, world, "machine:etcd")
    assert change is not None
    done.writes += change.writes
    done.danger = change.danger
    await change.perform()
    done.verdicts.append(await gate_wait.wait_for_machines(Subject.ETCD, bench.bootstrap, world, on_verdict=judged))
    assert await kubeconfig.look(FetchKubeconfig(control_planes=bench.planes), world, "machine:kubeconfig") is None
    yield done
    await world.close()


async def _checked(bench: Bench, task: Configure, *, lived: str = "") -> errors.FirstlightError:
    """What ``up --check`` says of machines: what is wrong with one is no problem of another."""
    world = bench.world()
    step = Step(id=STEP, phase=Phase.MACHINE, action=Action.CONFIGURE, name="control planes")
    work = Work(cluster=world.cluster, plan=Plan(cluster="lab", steps=(step,)), tasks={STEP: task})
    problems = await machine_checks.machine_problems(
        work, world.programs.talosctl, world.reach, is_first=True, lived=lived
    )
    return errors.Refused("; ".join(f"{each.severity} {each.code} {each.message}" for each in problems))


async def _swapped(bench: Bench) -> errors.FirstlightError:
    """What happens if another machine answers at an address, after the look and before the write."""
    first, second = (bench.lab.declared[name] for name in ("cp-1", "cp-2"))
    reached = dict(bench.world().reach.machines)
    world = bench.world(reach=AddressBook(machines=reached))
    change = await configure.look(bench.task("cp-1"), world, STEP)
    assert change is not None
    reached[first] = reached[second]
    with pytest.raises(errors.FirstlightError) as caught:
        await change.perform()
    return caught.value


def _unused() -> int:
    with contextlib.closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class TestBare:
    def test_nothing_is_written_where_something_is_refused(self, refusals: dict[str, errors.FirstlightError]) -> None:
        assert str(refusals["stages"]) == "maintenance"

    def test_what_the_hardware_lacks_is_said_for_all_machines_at_once(
        self, refusals: dict[str, errors.FirstlightError]
    ) -> None:
        message = str(refusals["hardware"])

        assert "cp-1: there is no disk /dev/nvme9n1; there are: /dev/" in message
        assert "cp-2: there is no interface eth7; there are: eth0" in message
        assert "cp-3: its certificate is " in message
        assert "and AAAA was pinned: somebody else answers there" in message

    def test_the_same_is_said_before_anything_begins(self, refusals: dict[str, errors.FirstlightError]) -> None:
        first, second = str(refusals["before"]).split("; error ")

        assert first.startswith("error hardware-missing cp-1: there is no disk /dev/nvme9n1; there are: /dev/")
        assert second.startswith("hardware-missing cp-2: there is no interface eth7; there are: eth0")

    def test_machines_of_a_cluster_that_lived_and_are_all_bare_are_not_begun_with(
        self, refusals: dict[str, errors.FirstlightError]
    ) -> None:
        said = str(refusals["lived"])

        assert said.startswith("error cluster-gone lab was brought up before (kube-system had the UID of-old)")
        assert "cluster-gone" not in str(refusals["before"])

    def test_a_machine_that_shows_another_certificate_than_it_did_gets_no_config(
        self, refusals: dict[str, errors.FirstlightError]
    ) -> None:
        """Nothing was pinned by the user; it is what was seen that counts."""
        assert "fingerprint" in str(refusals["another machine"])

    def test_a_config_that_talosctl_refuses_is_applied_nowhere(
        self, refusals: dict[str, errors.FirstlightError]
    ) -> None:
        assert "cp-1" in str(refusals["config"])

    def test_a_silent_control_plane_holds_all_of_them_up(self, refusals: dict[str, errors.FirstlightError]) -> None:
        refused = refusals["unreachable"]

        assert refused.exit_code == 3
        assert str(refused).startswith("cp-3 does not answer")


class TestMade:
    async def test_the_api_is_reached_and_has_the_inline_manifest(self, made: Made) -> None:
        async def applied() -> bool:
            with contextlib.suppress(kube.NotFound):
                return bool(await made.world.kube.get("v1", "ConfigMap", "greeting", namespace="default"))
            return False

        assert made.verdicts == [Passed("3 of 3 up"), Passed("3 of 3 members healthy")]
        assert made.writes == [
            *(f"apply the config of cp-{number}: it installs, and boots" for number in (1, 2, 3)),
            "bootstrap etcd on cp-1",
        ]
        assert any("cp-1: in maintenance mode, certificate " in each for each in made.bench.told)
        await until(applied, "Talos to apply its manifest")

    async def test_a_second_run_finds_nothing_to_do(self, made: Made) -> None:
        world = made.bench.world()

        assert await configure.look(made.bench.task("cp-1", "cp-2", "cp-3"), world, STEP) is None
        assert await bootstrap_etcd.look(made.bench.bootstrap, world, "machine:etcd") is None
        fetch = FetchKubeconfig(control_planes=made.bench.planes)
        assert await kubeconfig.look(fetch, world, "machine:kubeconfig") is None
        await world.close()

    async def test_machines_of_another_cluster_are_refused(self, made: Made) -> None:
        other = dataclasses.replace(made.bench, lab=await tests_machines.another(made.bench.lab))
        world = other.world()

        with pytest.raises(errors.Refused, match="not of this cluster's authority") as caught:
            await configure.look(other.task("cp-1"), world, STEP)

        assert caught.value.exit_code == 3

    async def test_etcd_is_not_touched_while_a_control_plane_is_silent(self, made: Made) -> None:
        """Even where the others have data, which is no reason to bootstrap anything."""
        silent = {**made.world.reach.machines, made.bench.lab.declared["cp-1"]: f"127.0.0.1:{_unused()}"}
        world = made.bench.world(reach=AddressBook(machines=silent), patience=0.0)

        assert await bootstrap_etcd.look(made.bench.bootstrap, world, "machine:etcd") is None

    async def test_a_cluster_that_was_made_anew_is_refused(self, made: Made, tmp_path: Path) -> None:
        (tmp_path / "lab").mkdir()
        (tmp_path / "lab" / "identity.json").write_text('{"kubeSystem": "another"}')
        world = made.bench.world(state=tmp_path)

        with pytest.raises(errors.Refused, match="is not the cluster that it was"):
            await kubeconfig.look(FetchKubeconfig(control_planes=made.bench.planes), world, "machine:kubeconfig")
        await world.close()

    async def test_a_bootstrap_of_a_cluster_that_has_lived_is_a_danger_and_its_identity_is_kept_aside(
        self, made: Made
    ) -> None:
        aside = made.bench.state / "lab" / "identity.1.json"

        assert "lab has lived before (kube-system had the UID of-old)" in made.danger
        assert aside.read_text() == '{"kubeSystem": "of-old"}'
        assert "of-old" not in (aside.parent / "identity.json").read_text()

    async def test_new_secrets_are_not_made_for_machines_that_have_a_config(
        self, made: Made, sops: Path, tmp_path: Path
    ) -> None:
        repo = EncryptedRepo(tmp_path, sops)
        world = made.bench.world()
        cluster = dataclasses.replace(world.cluster, talos_secrets="sops:new.sops.yaml")
        platform = Platform(name="x", root=tmp_path, engine=None, clusters=(cluster,), components=())
        making = talos_secrets.TalosSecretsMaker(
            talosctl=made.bench.lab.program, sops=sops, git=None, state=tmp_path / ".firstlight", reach=world.reach
        )
        resolver = SecretResolver(tmp_path, sops=sops, environ=repo.environ)

        with pytest.raises(errors.Refused, match="new ones are not made: cp-1 has a config; cp-2 has a config"):
            await talos_secrets.talos_secrets_of(cluster, platform, resolve=resolver.resolve, making=making)
        worker = next(each for each in made.bench.machines if each.name == "worker-1")
        seen = await machine_survey.look_without_keys(worker, made.bench.lab.program, reach=world.reach)

        assert not (tmp_path / "new.sops.yaml").exists()
        assert seen.standing is MachineStanding.MAINTENANCE

    async def test_nobody_reboots_while_another_member_of_etcd_is_silent(self, made: Made) -> None:
        """The silent one is in no task of this step; etcd knows it as a member."""
        silent = {**made.world.reach.machines, made.bench.lab.declared["cp-1"]: f"127.0.0.1:{_unused()}"}
        world = made.bench.world(reach=AddressBook(machines=silent), patience=0.0)
        file = "machine: {files: [{path: /var/etc/greeting, content: hello, permissions: 420, op: create}]}"

        with pytest.raises(errors.Refused, match="cp-3 is not rebooted: etcd would lose its quorum: 1 of 3 members"):
            await configure.look(made.bench.task("cp-3", patches=[file]), world, STEP)

    async def test_changed_configs_are_applied_one_by_one_and_manifests_stay_as_they_are(self, made: Made) -> None:
        """A manifest that the machines lack is not added, and one that changed is not changed. A reboot is a danger."""
        bench = dataclasses.replace(
            made.bench, inline={"greeting": Secret("kind: Other\n"), "later": Secret("kind: Later\n")}
        )
        world = bench.world()
        label = "machine: {nodeLabels: {example.org/rack: a1}}"
        file = "machine: {files: [{path: /var/etc/greeting, content: hello, permissions: 420, op: create}]}"
        _, second, third = bench.planes
        task = Configure(drafts=(bench.draft(second, [label]), bench.draft(third, [label, file])))

        change = await configure.look(task, world, STEP)
        assert change is not None
        await change.perform()

        assert change.writes == ("apply the config of cp-2", "apply the config of cp-3 (reboot)")
        assert change.danger.startswith("cp-3 reboots")
        assert change.danger.endswith("; etcd keeps its quorum: 2 of 3 members stay")
        config = (await bench.lab.talos.machine_config(bench.lab.here("cp-3"))).reveal().decode()
        assert "example.org/rack: a1" in config
        assert "/var/etc/greeting" in config
        assert "kind: Later" not in config
        assert "word: hello" in config

    async def test_a_worker_joins_late(self, made: Made) -> None:
        """It is silent first, which is told and refused to nobody."""
        where = made.bench.lab.declared["worker-1"]
        silent = {**made.world.reach.machines, where: f"127.0.0.1:{_unused()}"}
        absent = made.bench.world(reach=AddressBook(machines=silent), patience=0.0)
        task = made.bench.task("worker-1")

        assert await configure.look(task, absent, "machine:workers") is None
        verdict = await gate_wait.wait_for_machines(Subject.MACHINES, task, absent, on_verdict=lambda _: None)
        world = made.bench.world()
        change = await configure.look(task, world, "machine:workers")
        assert change is not None
        await change.perform()
        later = await gate_wait.wait_for_machines(Subject.MACHINES, task, world, on_verdict=lambda _: None)

        assert isinstance(verdict, Waiting)
        assert verdict.reason.startswith("worker-1 does not answer")
        assert later == Passed("1 of 1 up")


async def test_etcd_is_never_bootstrapped_twice(fresh_machines: tests_machines.Make, tmp_path: Path) -> None:
    """Data on the second machine is enough; and two that do not know each other are a split brain."""
    lab = await fresh_machines(machines=2)
    bench = Bench(lab, tmp_path)
    world = bench.world()
    # Machines with another id are not found by discovery; keys and certificates are the same.
    hidden = f"cluster: {{id: {base64.b64encode(bytes(32)).decode()}}}"
    first, second = bench.planes
    task = Configure(drafts=(bench.draft(first), bench.draft(second, [hidden])))
    change = await configure.look(task, world, STEP)
    assert change is not None
    await change.perform()
    await gate_wait.wait_for_machines(Subject.MACHINES, task, world, on_verdict=lambda _: None)

    before = await bootstrap_etcd.look(bench.bootstrap, world, "machine:etcd")
    await lab.talos.bootstrap(lab.here("cp-2"))
    await until(lambda: _has_data(bench, "cp-2"), "data on cp-2")
    after = await bootstrap_etcd.look(bench.bootstrap, world, "machine:etcd")
    await lab.talos.bootstrap(lab.here("cp-1"))
    await until(lambda: _has_data(bench, "cp-1"), "data on cp-1")
    with pytest.raises(errors.Refused, match="cp-1 and cp-2 are members of two different etcd clusters") as caught:
        await bootstrap_etcd.look(bench.bootstrap, world, "machine:etcd")

    assert before is not None
    assert before.writes == ("bootstrap etcd on cp-1",)
    assert after is None
    assert "etcd has data on cp-2; the others join by themselves" in bench.told
    assert caught.value.exit_code == 3


async def _has_data(bench: Bench, name: str) -> bool:
    try:
        return bool(await bench.lab.talos.etcd_status(bench.lab.here(name)))
    except talosctl.TalosError:
        return False
