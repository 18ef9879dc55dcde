"""etcd's recovery, as far as it can be judged without machines: what it refuses, what it wipes, where it goes on."""

import dataclasses
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.talosctl.talos_errors import TalosctlCall
from firstlight.commands.backup.backup_signature import SignerTrust
from firstlight.commands.recover import etcd_recovery, etcd_restore
from firstlight.commands.recover.etcd_recovery import EtcdRecovery
from firstlight.execute import cluster_access
from firstlight.execute.world import RunPrograms, World
from firstlight.journal import state_files
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_report import EtcdData, EtcdSight, MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from tests.unit.commands.backup import bolt_file

PLACE = Place("firstlight.yaml", 1)
NAMES = ("cp-1", "cp-2", "cp-3")
MACHINES = tuple(Machine(name=each, role=MachineRole.CONTROL_PLANE, place=PLACE, address=each) for each in NAMES)
CLUSTER = Cluster(name="home", place=PLACE, machines=MACHINES)
UID = "0f6c1b8e-uid"
EMPTY, FULL, UNKNOWN = (EtcdSight(data=each) for each in (EtcdData.NONE, EtcdData.SOME, EtcdData.UNKNOWN))


class Admin:
    """Talos as far as it is asked here: a reset empties a machine, which has another boot then."""

    def __init__(self) -> None:
        self.sights = dict.fromkeys(NAMES, FULL)
        self.boots = dict.fromkeys(NAMES, 0)
        self.standings = dict.fromkeys(NAMES, MachineStanding.OURS)
        self.joins_once = ""
        """One that joins a member that lives on before that is wiped."""
        self.did: list[str] = []
        self.answers: list[Exception] = []
        """What a bootstrap answers before it is done."""

    async def boot_id(self, name: str) -> str:
        return str(self.boots[name])

    async def reset(self, name: str, **options: Any) -> None:
        assert (options["graceful"], options["reboot"], options["system_labels"]) == (False, True, ("EPHEMERAL",))
        self.did.append(f"reset {name}")
        self.boots[name] += 1
        self.sights[name] = FULL if name == self.joins_once else EMPTY
        self.joins_once = "" if name == self.joins_once else self.joins_once

    async def etcd_snapshot(self, name: str, path: Path) -> Any:
        raise talosctl.TalosTimedOut(TalosctlCall(("etcd", "snapshot")), detail="no quorum")

    async def bootstrap(self, name: str, *, recover_from: Path) -> None:
        assert recover_from.read_bytes()
        if self.answers:
            raise self.answers.pop(0)
        self.did.append(f"bootstrap {name}")
        self.sights[name] = FULL

    def report(self, machine: Machine) -> MachineReport:
        standing = self.standings[machine.name]
        sight = self.sights[machine.name] if standing is MachineStanding.OURS else EtcdSight()
        return MachineReport(machine=machine, standing=standing, stage="running", why="refused", etcd=sight)


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> Admin:
    one = Admin()

    async def ensure(world: World) -> Any:
        return SimpleNamespace(admin=one, at=lambda machine: machine.name)

    async def look_at_all(machines: Sequence[Machine], way: Any, **_: Any) -> tuple[MachineReport, ...]:
        return tuple(one.report(each) for each in machines)

    monkeypatch.setattr(cluster_access, "ensure", ensure)
    monkeypatch.setattr(machine_survey, "look_at_all", look_at_all)
    monkeypatch.setattr(etcd_restore, "POLL", 0.0)
    return one


@pytest_asyncio.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async def resolve(reference: str) -> Secret:
        raise AssertionError(reference)

    state = tmp_path / ".firstlight"
    state_files.enter(state / "home" / "identity.json")
    (state / "home" / "identity.json").write_text(f'{{"kubeSystem": "{UID}"}}')
    one = World(cluster=CLUSTER, programs=RunPrograms(), resolve=resolve, state=state)
    yield one
    await one.close()


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    path = tmp_path / "etcd.snapshot"
    entries: list[bolt_file.Entry] = [(2, b"/registry/namespaces/kube-system", f"k8s {UID}".encode())]
    path.write_bytes(bolt_file.snapshot(entries))
    return path


async def go(source: Path | None, world: World, *, until: str, is_named: bool = True) -> list[str]:
    """The stages up to one, looked at and performed; what was dangerous."""
    dangers = []
    trusted = SignerTrust(unsigned=frozenset([source.name] if source is not None and is_named else []))
    for stage in etcd_restore.stages(
        CLUSTER, source=source, root=world.state.parent, now=1.0, timeout=5, trusted=trusted
    ):
        change = await stage.look(world)
        if change is not None:
            dangers += [change.danger] if change.danger else []
            await change.perform()
        if stage.id == until:
            return dangers
    raise AssertionError(until)


async def test_all_are_emptied_and_the_first_alone_is_bootstrapped(admin: Admin, world: World, snapshot: Path) -> None:
    dangers = await go(snapshot, world, until="etcd:restore")

    assert admin.did == ["reset cp-1", "reset cp-2", "reset cp-3", "bootstrap cp-1"]
    assert len(dangers) == 1
    assert "1 keys at revision 2" in dangers[0]
    assert "cp-1, cp-2, cp-3 is wiped" in dangers[0]
    record = etcd_recovery.read(world.state, "home")
    assert record is not None
    assert record.phase == "restored"


async def test_one_that_joined_another_again_is_wiped_again(admin: Admin, world: World, snapshot: Path) -> None:
    admin.joins_once = "cp-1"

    await go(snapshot, world, until="etcd:restore")

    assert admin.did.count("reset cp-1") == 2
    assert admin.did[-1] == "bootstrap cp-1"


async def test_what_was_restored_is_not_wiped_again(admin: Admin, world: World, snapshot: Path) -> None:
    await go(snapshot, world, until="etcd:restore")
    admin.did.clear()

    assert await go(snapshot, world, until="etcd:restore") == []
    assert admin.did == []


async def test_an_answer_that_was_lost_is_no_reason_to_begin_anew(admin: Admin, world: World, snapshot: Path) -> None:
    await go(snapshot, world, until="etcd:wipe")
    record = etcd_recovery.read(world.state, "home")
    assert record is not None
    etcd_recovery.write(dataclasses.replace(record, phase="restoring"), world.state, "home")
    admin.sights["cp-1"] = FULL
    admin.did.clear()

    await go(snapshot, world, until="etcd:restore")

    assert admin.did == []
    found = etcd_recovery.read(world.state, "home")
    assert found is not None
    assert found.phase == "restored"


async def test_a_machine_that_is_not_ready_yet_is_asked_again(admin: Admin, world: World, snapshot: Path) -> None:
    admin.answers = [talosctl.TalosNotReady(TalosctlCall(("bootstrap",)), detail="bootstrap is not available yet")]

    await go(snapshot, world, until="etcd:restore")

    assert admin.did[-1] == "bootstrap cp-1"


async def test_one_that_is_away_is_left_out_and_two_are_too_many(admin: Admin, world: World, snapshot: Path) -> None:
    admin.standings["cp-3"] = MachineStanding.ABSENT
    await go(snapshot, world, until="etcd:restore")
    assert "reset cp-3" not in admin.did

    etcd_recovery.path(world.state, "home").unlink()
    admin.standings["cp-2"] = MachineStanding.ABSENT
    with pytest.raises(errors.Refused, match=r"cp-2, cp-3 do not answer: .* a second etcd"):
        await go(snapshot, world, until="etcd:check")


@pytest.mark.parametrize("standing", [MachineStanding.ABSENT, MachineStanding.MAINTENANCE])
async def test_without_the_first_nothing_is_wiped(
    standing: MachineStanding, admin: Admin, world: World, snapshot: Path
) -> None:  # fmt: skip
    admin.standings["cp-1"] = standing

    with pytest.raises(errors.Refused, match="restored on cp-1, the first control plane"):
        await go(snapshot, world, until="etcd:restore")
    assert admin.did == []


async def test_a_snapshot_of_another_cluster_wipes_nothing(admin: Admin, world: World, tmp_path: Path) -> None:
    path = tmp_path / "etcd.snapshot"
    path.write_bytes(bolt_file.snapshot([(2, b"/registry/namespaces/kube-system", b"another uid")]))

    with pytest.raises(errors.Refused, match="of another cluster"):
        await go(path, world, until="etcd:restore")
    assert admin.did == []


async def test_a_damaged_snapshot_wipes_nothing(admin: Admin, world: World, snapshot: Path) -> None:
    snapshot.write_bytes(snapshot.read_bytes()[:-40])

    with pytest.raises(errors.Refused, match="no snapshot to restore"):
        await go(snapshot, world, until="etcd:restore")
    assert admin.did == []


async def test_another_source_is_refused_once_something_was_restored(
    admin: Admin, world: World, snapshot: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.snapshot"
    other.write_bytes(snapshot.read_bytes())
    await go(snapshot, world, until="etcd:wipe")
    assert len(await go(other, world, until="etcd:check")) == 1, "until then it may be chosen, and is asked for"
    await go(other, world, until="etcd:restore")

    with pytest.raises(errors.Refused, match="under way, and etcd was restored from it"):
        await go(snapshot, world, until="etcd:check")


def test_a_record_that_cannot_be_read_is_no_reason_to_wipe(world: World) -> None:
    etcd_recovery.path(world.state, "home").write_text("{")

    with pytest.raises(errors.Refused, match="cannot be read"):
        etcd_recovery.read(world.state, "home")


def test_one_that_is_over_is_none(world: World) -> None:
    etcd_recovery.write(EtcdRecovery(source="a", begun=1.0, planes=NAMES, phase="done"), world.state, "home")

    assert etcd_recovery.read(world.state, "home") is None


async def test_a_file_that_nobody_signed_is_restored_by_its_name_alone(
    admin: Admin, world: World, snapshot: Path
) -> None:  # fmt: skip
    with pytest.raises(errors.Refused, match="is not restored: it is not signed") as caught:
        await go(snapshot, world, until="etcd:restore", is_named=False)

    assert caught.value.hint.endswith("--trust-unsigned etcd.snapshot")
    assert admin.did == [], "nothing is wiped for it"
