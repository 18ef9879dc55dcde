"""Control planes that get other configs: not without etcd's quorum, and no reboot that nobody has agreed to."""

import dataclasses
from pathlib import Path
from typing import Any, cast

import pytest

from firstlight import errors
from firstlight.clients import talosctl
from firstlight.clients.talosctl import talos_errors
from firstlight.execute.actions import configure
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.machine_config import AppliedConfig, Effect
from firstlight.model.machine_report import EtcdData, EtcdSight, MachineReport, MachineStanding
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess

PLACE = Place("firstlight.yaml")
NAMES = ("cp-1", "cp-2", "cp-3")
STEP = "machine:control-planes"


@dataclasses.dataclass
class Fleet:
    """Three control planes that say what they are told to; what is applied is noted, and settles at once."""

    off: set[str] = dataclasses.field(default_factory=set)
    effect: Effect = "reboot"
    needs_reboot: bool = False
    """Whether a machine refuses what it must reboot for."""
    fails_after: str = ""
    """The machine whose reboot takes cp-2 down."""
    done: list[tuple[str, ...]] = dataclasses.field(default_factory=list)

    @property
    def machines(self) -> list[Machine]:
        return [
            Machine(name=name, role=MachineRole.CONTROL_PLANE, place=PLACE, address=f"10.0.0.{number}")
            for number, name in enumerate(NAMES, 1)
        ]

    def report(self, machine: Machine) -> MachineReport:
        if machine.name in self.off:
            return MachineReport(machine=machine, standing=MachineStanding.ABSENT, why="no route to host")
        sight = EtcdSight(
            data=EtcdData.SOME, state="Running", member=machine.name, members=frozenset(NAMES), leader="cp-3"
        )
        return MachineReport(machine=machine, standing=MachineStanding.OURS, stage="running", etcd=sight)

    async def apply_config(self, target: str, config: Secret, *, mode: str = "auto") -> AppliedConfig:
        if self.needs_reboot and mode == "no-reboot":
            raise talosctl.TalosRejected(
                talos_errors.TalosctlCall(("apply-config",)), detail="it can't be applied at once"
            )
        self.done.append(("apply", target, mode))
        if target == self.fails_after:
            self.off.add("cp-2")
        return AppliedConfig(effect=self.effect, is_dry_run=False, diff=Secret("x"))

    @property
    def admin(self) -> "Fleet":
        return self

    def at(self, machine: Machine) -> str:
        return machine.name

    def seen(self) -> configure._Seen:
        reports = {each.name: self.report(each) for each in self.machines}
        return configure._Seen(cast(MachineAccess, self), reports, {name: Secret("c") for name in NAMES}, True)

    def differences(self) -> dict[str, AppliedConfig]:
        return {
            name: AppliedConfig(effect=self.effect, is_dry_run=True, diff=Secret("x"), reason="kernel arguments")
            for name in ("cp-1", "cp-3")
        }


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet()

    async def look_at_all(
        machines: list[Machine], way: MachineAccess, *, with_etcd: bool = False
    ) -> tuple[MachineReport, ...]:
        return tuple(made.report(each) for each in machines)

    async def settle(machine: Machine, way: MachineAccess, *, config: Secret, members: list[Machine]) -> None:
        made.done.append(("settled", machine.name, *(each.name for each in members)))

    monkeypatch.setattr(machine_survey, "look_at_all", look_at_all)
    monkeypatch.setattr(configure, "settle", settle)
    return made


def world(fleet: Fleet, state: Path) -> World:
    async def resolve(reference: str) -> Secret:
        raise AssertionError(reference)

    cluster = Cluster(name="infra", place=PLACE, machines=tuple(fleet.machines))
    return World(cluster=cluster, programs=RunPrograms(), resolve=resolve, state=state, patience=0.0)


async def change(fleet: Fleet, state: Path) -> Any:
    """What ``look`` makes of what it has found."""
    here, seen, different = world(fleet, state), fleet.seen(), fleet.differences()
    etcd = await configure._etcd_meanwhile(seen, different, here, STEP)
    return configure._change(seen, different, here, STEP, etcd=etcd)


async def test_control_planes_reboot_one_by_one_while_etcd_has_its_quorum(fleet: Fleet, tmp_path: Path) -> None:
    found = await change(fleet, tmp_path)
    await found.perform()

    assert found.danger.startswith("cp-1, cp-3 reboot, one after the other (cp-1: kernel arguments; ")
    assert found.danger.endswith("; etcd keeps its quorum: 2 of 3 members stay")
    assert fleet.done == [
        ("apply", "cp-1", "auto"), ("settled", "cp-1", *NAMES),
        ("apply", "cp-3", "auto"), ("settled", "cp-3", *NAMES),
    ]  # fmt: skip


async def test_nobody_reboots_while_another_member_is_off(fleet: Fleet, tmp_path: Path) -> None:
    fleet.off.add("cp-2")

    with pytest.raises(errors.Refused, match="cp-1 is not rebooted: etcd would lose its quorum: 1 of 3") as caught:
        await change(fleet, tmp_path)

    assert "cp-2 does not answer (no route to host)" in str(caught.value)
    assert fleet.done == []


async def test_it_is_looked_at_again_before_each_reboot(fleet: Fleet, tmp_path: Path) -> None:
    fleet.fails_after = "cp-1"
    found = await change(fleet, tmp_path)

    with pytest.raises(errors.Refused, match="cp-3 is not rebooted"):
        await found.perform()

    assert [each[:2] for each in fleet.done] == [("apply", "cp-1"), ("settled", "cp-1")]


async def test_a_change_without_a_reboot_needs_no_quorum(fleet: Fleet, tmp_path: Path) -> None:
    fleet.off.add("cp-2")
    fleet.effect = "at-once"
    found = await change(fleet, tmp_path)
    await found.perform()

    assert found.danger == ""
    assert fleet.done == [
        ("apply", "cp-1", "no-reboot"), ("settled", "cp-1", "cp-1", "cp-3"),
        ("apply", "cp-3", "no-reboot"), ("settled", "cp-3", "cp-1", "cp-3"),
    ]  # fmt: skip


async def test_a_reboot_that_nobody_has_agreed_to_is_refused(fleet: Fleet, tmp_path: Path) -> None:
    fleet.effect = "at-once"
    fleet.needs_reboot = True
    found = await change(fleet, tmp_path)

    with pytest.raises(errors.Refused, match="cp-1 does not take its config without a reboot"):
        await found.perform()

    assert fleet.done == []


async def test_words_that_are_not_known_are_asked_about_as_a_reboot(fleet: Fleet, tmp_path: Path) -> None:
    fleet.effect = "unknown"

    found = await change(fleet, tmp_path)

    assert found.writes == ("apply the config of cp-1 (reboot)", "apply the config of cp-3 (reboot)")
    assert found.danger.startswith("cp-1, cp-3 reboot")
