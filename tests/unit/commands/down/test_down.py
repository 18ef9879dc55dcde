"""A cluster taken down: whatever a machine says, one clear error, and never beside a run."""

import dataclasses
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.commands.down import down
from firstlight.execute import lease
from firstlight.execute.means import Means
from firstlight.execute.overrides import override_records
from firstlight.execute.world import RunPrograms
from firstlight.model import override
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

HERE = Place("firstlight.yaml")
OPEN = override.Override(
    id="20261116t200000z-ab12", cluster="infra", emergency=override.Emergency.OUTAGE, reason="down", who="ann",
    begun=0.0, until=100.0, standing=override.OverrideStanding.OPEN, scope=(),
)  # fmt: skip
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: infra
contexts: [{name: infra, context: {cluster: infra, user: infra}}]
clusters: [{name: infra, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: infra, user: {token: hunter2}}]
"""


def machine(name: str, role: MachineRole = MachineRole.CONTROL_PLANE) -> Machine:
    return Machine(name=name, role=role, place=HERE, address=f"{name}.example.org")


MACHINES = (machine("w-1", MachineRole.WORKER), machine("w-2", MachineRole.WORKER), machine("cp-1"))


@dataclasses.dataclass(frozen=True, kw_only=True)
class Stub(MachineAccess):
    """A way on which some machines do not answer; nothing is reached by it."""

    silent: tuple[str, ...] = ()
    reset: list[str] = dataclasses.field(default_factory=list)

    @property
    def admin(self) -> "Admin":  # type: ignore[override]
        return Admin(self)


@dataclasses.dataclass(frozen=True)
class Admin:
    """Tells machines to wipe themselves."""

    way: Stub

    async def reset(self, target: object, **_: object) -> None:
        (name,) = [each.name for each in MACHINES if self.way.at(each) == target]
        if name in self.way.silent:
            raise errors.Unreachable(f"{name}: connection refused", target=name)
        self.way.reset.append(name)


@pytest.fixture(autouse=True)
def _wiped_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_at(machine: Machine, way: MachineAccess) -> MachineReport:
        return MachineReport(machine=machine, standing=MachineStanding.MAINTENANCE)

    monkeypatch.setattr(machine_survey, "look_at", look_at)


def means(state: Path) -> Means:
    async def nothing(*_: object) -> Secret:
        raise AssertionError

    return Means(
        programs=RunPrograms(), state=state, open_renderer=nothing, resolve=nothing, talos_secrets=nothing  # type: ignore[arg-type]
    )  # fmt: skip


def found(*silent: str) -> tuple[down.DownTarget, Stub]:
    way = Stub(program=Path("talosctl"), talosconfig=Secret(""), silent=silent)
    cluster = Cluster(name="infra", place=HERE, machines=MACHINES)
    return down.DownTarget(cluster=cluster, ours=MACHINES, left=(), way=way), way


async def test_all_are_wiped_and_it_is_said_when_they_are(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "identity.json").write_text("{}")
    seen, way = found()

    await down.take_down(seen, means(tmp_path), tell=told.append)

    assert way.reset == ["w-1", "w-2", "cp-1"]
    assert [each for each in told if "is wiped" in each] == [
        f"{each}: is wiped, in maintenance mode" for each in ("w-1", "w-2", "cp-1")
    ]
    assert told[0].startswith("there is no way to the API: whether a run elsewhere works")
    assert told[1] == "w-1: is told to wipe itself"
    assert not (tmp_path / "infra" / "identity.json").exists()


async def test_a_machine_that_fails_is_named_and_the_others_come_to_their_end(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "identity.json").write_text("{}")
    seen, way = found("w-1")

    with pytest.raises(errors.ClientError, match=r"^w-1 was not wiped: w-1: connection refused$") as caught:
        await down.take_down(seen, means(tmp_path), tell=told.append)

    assert "firstlight down infra" in caught.value.hint
    assert way.reset == ["w-2"]
    assert "w-2: is wiped, in maintenance mode" in told
    assert not any("w-1: is wiped" in each for each in told)
    assert (tmp_path / "infra" / "identity.json").exists()


async def test_one_that_never_comes_back_is_an_error_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def look_at(machine: Machine, way: MachineAccess) -> MachineReport:
        return MachineReport(machine=machine, standing=MachineStanding.ABSENT)

    monkeypatch.setattr(machine_survey, "look_at", look_at)
    monkeypatch.setattr(down, "TIMEOUT", 0.01)

    with pytest.raises(errors.ClientError, match=r"w-1 was not wiped: it is not in .*; w-2 was not wiped"):
        await down.take_down(found()[0], means(tmp_path), tell=lambda _: None)


async def test_a_cluster_whose_api_is_gone_is_taken_down_and_that_is_said(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "kubeconfig").write_text(KUBECONFIG)
    seen, way = found()

    await down.take_down(seen, means(tmp_path), tell=told.append)

    assert way.reset == ["w-1", "w-2", "cp-1"]
    assert told[0] == "the API does not answer: whether a run elsewhere works on this cluster is not known"


async def test_overrides_that_are_known_here_go_with_it_and_not_before(tmp_path: Path) -> None:
    override_records.copy(OPEN, tmp_path, "infra")
    override_records.copy(
        dataclasses.replace(OPEN, id="earlier", standing=override.OverrideStanding.ENDED), tmp_path, "infra"
    )

    with pytest.raises(errors.ClientError, match="cp-1 was not wiped"):
        await down.take_down(found("cp-1")[0], means(tmp_path), tell=lambda _: None)
    before = {each.id: each.standing for each in override_records.local(tmp_path, "infra")}
    await down.take_down(found()[0], means(tmp_path), tell=lambda _: None)

    assert before == {"earlier": override.OverrideStanding.ENDED, OPEN.id: override.OverrideStanding.OPEN}
    after = {each.id: each.standing for each in override_records.local(tmp_path, "infra")}
    assert after == {"earlier": override.OverrideStanding.ENDED, OPEN.id: override.OverrideStanding.GONE}


async def test_nothing_is_wiped_while_a_run_works_on_the_cluster(tmp_path: Path) -> None:
    seen, way = found()

    with (
        lease.local_lock(tmp_path / "infra" / "lock", who="ann@desk:1"),
        pytest.raises(errors.Refused, match="another run works on this cluster: ann@desk:1"),
    ):
        await down.take_down(seen, means(tmp_path), tell=lambda _: None)

    assert way.reset == []


async def test_nobody_is_asked_while_a_run_works_on_it(tmp_path: Path) -> None:
    seen, _ = found()
    lock = tmp_path / "infra" / "lock"

    with (
        lease.local_lock(lock, who="ann@desk:1"),
        pytest.raises(errors.Refused, match="another run works on this cluster: ann@desk:1"),
    ):
        await down.find(seen.cluster, means(tmp_path))

    with pytest.raises(errors.ToolError, match="talosctl is needed"):  # nobody works on it any more
        await down.find(seen.cluster, means(tmp_path))
