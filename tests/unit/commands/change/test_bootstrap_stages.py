"""Backups that cannot be made, approvals that Git does not have, and what is told of a cluster that is not well."""

import dataclasses
from pathlib import Path
from typing import Any, cast

import pytest

from firstlight import errors
from firstlight.commands.change import path_choice, publish
from firstlight.commands.change.bootstrap import bootstrap_stages
from firstlight.commands.change.change_record import ChangePath, ChangeRecord, ChangeStanding
from firstlight.commands.change.cni import cni_preflight
from firstlight.commands.change.cni.cni_upgrade import CniUpgrade
from firstlight.commands.change.ongoing_change import OngoingChange
from firstlight.execute.world import RunPrograms, World
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.component import Component, Owner, Phase, Side
from firstlight.model.decision import Approval, Approved
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Skipped, Verdict

PLACE = Place("firstlight.yaml", 1)
MACHINE = Machine(name="cp-1", address="10.9.0.11", role=MachineRole.CONTROL_PLANE, place=PLACE)
CLUSTER = Cluster(name="home", place=PLACE, machines=(MACHINE,))
RECORD = ChangeRecord(
    id="20261116-202000-rack", title="Rack", why="a test", who="Ada <ada@example.org>", path=ChangePath.HYBRID,
    standing=ChangeStanding.UNDER_WAY, side="hybrid", risk="high", begun=1794860400.0,
)  # fmt: skip


class Keeper:
    """Keeps a record in memory."""

    def __init__(self, record: ChangeRecord) -> None:
        self.record = record

    def set(self, **fields: Any) -> None:
        self.record = dataclasses.replace(self.record, **fields)


class Known:
    """A change, as far as these stages ask for it."""

    def __init__(self, root: Path, **fields: Any) -> None:
        self.root = root
        self.keeper = Keeper(dataclasses.replace(RECORD, **fields))
        self.is_reverting = False
        self.means = self

    @property
    def record(self) -> ChangeRecord:
        return self.keeper.record

    @property
    def state(self) -> Path:
        return self.root / ".firstlight"


async def no_secret(reference: str) -> Secret:
    raise AssertionError(reference)


def world(root: Path) -> World:
    return World(cluster=CLUSTER, programs=RunPrograms(), resolve=no_secret, state=root / ".firstlight")


def carrying(root: Path, **fields: Any) -> OngoingChange:
    return cast(OngoingChange, Known(root, **fields))


async def waited(stage: Any, root: Path) -> Verdict:
    told: list[Verdict] = []
    verdict, _ = await stage.wait(world(root), told.append)
    assert told == [verdict]
    return cast(Verdict, verdict)


async def test_a_backup_that_nobody_could_read_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    stage = bootstrap_stages.stage(carrying(tmp_path), CLUSTER, with_configs=True)

    with pytest.raises(errors.Refused, match="encrypted") as caught:
        await stage.look(world(tmp_path))

    assert "--no-backup REASON" in caught.value.hint
    assert "--no-snapshot" not in caught.value.hint


async def test_the_preflight_of_the_network_asks_for_a_backup_where_bootstrap_brings_it(tmp_path: Path) -> None:
    def preflight(owner: Owner) -> Any:
        component = Component(
            name="cilium", cluster="home", phase=Phase.CORE, side=Side.BOOTSTRAP, owner=owner, why="", origins=()
        )
        upgrade = CniUpgrade(component=component, product="cilium", before="1.18.4", after="1.19.2")
        return cni_preflight.preflight_stage(carrying(tmp_path), CLUSTER, upgrade, cast(Any, None))

    assert await preflight(Owner.GITOPS).look(world(tmp_path)) is None
    with pytest.raises(errors.Refused, match="encrypted"):
        await preflight(Owner.BOOTSTRAP).look(world(tmp_path))


async def test_going_without_one_is_recorded_with_its_reason(tmp_path: Path) -> None:
    stage = bootstrap_stages.stage(carrying(tmp_path, without_backup="a test cluster"), CLUSTER, with_configs=True)

    assert await stage.look(world(tmp_path)) is None
    assert await waited(stage, tmp_path) == Skipped("no backup: a test cluster")


async def test_what_was_kept_is_not_kept_again(tmp_path: Path) -> None:
    (tmp_path / ".sops.yaml").write_text("creation_rules: [{age: age1}]\n")
    known = carrying(tmp_path, without_backup="")
    for each in bootstrap_stages.paths(known, CLUSTER):
        each.parent.mkdir(parents=True)
        each.write_bytes(b"encrypted")
    stage = bootstrap_stages.stage(known, CLUSTER, with_configs=True)

    verdict = await waited(stage, tmp_path)

    assert isinstance(verdict, Passed)
    assert verdict.reason.startswith("kept in .firstlight/home/etcd/")


def test_omni_s_machines_and_those_of_others_have_none(tmp_path: Path) -> None:
    bare = dataclasses.replace(CLUSTER, machines=())
    back = carrying(tmp_path)
    cast(Any, back).is_reverting = True

    assert "no machines" in bootstrap_stages.why_not(carrying(tmp_path), bare)
    assert "taken back" in bootstrap_stages.why_not(back, CLUSTER)


async def test_omni_backs_its_clusters_up_itself(tmp_path: Path) -> None:
    omni = dataclasses.replace(CLUSTER, machines=(dataclasses.replace(MACHINE, id="a-uuid"),))

    with pytest.raises(errors.Refused, match="Omni's to back up"):
        await bootstrap_stages.require(carrying(tmp_path), omni, world(tmp_path))


@pytest.mark.parametrize(("is_given", "emergency"), [(True, ""), (False, "outage")])
async def test_nobody_is_asked_where_it_is_approved_or_an_emergency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_given: bool, emergency: str
) -> None:
    monkeypatch.setattr(publish, "approved", _answer(is_given))

    assert (
        await path_choice.approval_stage(carrying(tmp_path, emergency=emergency), CLUSTER).look(world(tmp_path)) is None
    )


async def test_without_an_approval_in_git_a_person_is_asked_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "approved", _answer(False))
    known = carrying(tmp_path)

    change = await path_choice.approval_stage(known, CLUSTER).look(world(tmp_path))

    assert change is not None
    assert "it needs the approval of lead before home is changed, and Git has none: nobody" in change.danger
    await change.perform()
    assert known.record.approval == "lead: Git does not say so; Ada <ada@example.org> has said that it is given"


def _answer(is_given: bool) -> Any:
    async def approved(carrying: OngoingChange, number: int) -> Approved:
        return Approved(needed=Approval.LEAD, is_given=is_given, says="nobody")

    return approved
