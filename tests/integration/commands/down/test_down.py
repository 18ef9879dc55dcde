"""A cluster taken down while its API answers: never beside a run, wherever that one is; what is open goes with it."""

import time
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.kube import Client
from firstlight.commands.down import down
from firstlight.execute.lease import NAME, NAMESPACE, Lease
from firstlight.execute.overrides import override_records
from firstlight.execute.overrides.override_context import OverrideContext
from firstlight.lab.running_lab import Lab
from firstlight.model.cluster import Machine
from firstlight.model.machine_report import MachineReport, MachineStanding
from firstlight.model.override import Emergency, Override, OverrideStanding
from firstlight.observe import machine_survey
from firstlight.observe.machine_survey import MachineAccess
from tests.unit.commands.down import test_down


@pytest.fixture(autouse=True)
def _reached(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The API of the lab, and machines that are wiped at once."""

    async def look_at(machine: Machine, way: MachineAccess) -> MachineReport:
        return MachineReport(machine=machine, standing=MachineStanding.MAINTENANCE)

    monkeypatch.setattr(machine_survey, "look_at", look_at)
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "kubeconfig").write_bytes(lab.kubeconfig.read_bytes())


async def test_a_run_on_another_computer_holds_it_up(kube: Client, tmp_path: Path) -> None:
    told: list[str] = []
    seen, way = test_down.found()
    other = Lease(kube, holder="ann@elsewhere:1:run-a", tell=lambda _: None)
    await other.claim()

    with pytest.raises(errors.Refused, match="another run works on this cluster: ann@elsewhere"):
        await down.take_down(seen, test_down.means(tmp_path), tell=told.append)
    await other.release()
    before = list(way.reset)
    await down.take_down(seen, test_down.means(tmp_path), tell=told.append)

    assert before == []
    assert way.reset == ["w-1", "w-2", "cp-1"]
    assert not any("not known" in each for each in told)
    leases = (await kube.list("coordination.k8s.io/v1", "Lease", namespace=NAMESPACE)).items
    assert NAME not in {each["metadata"]["name"] for each in leases}


@pytest.mark.parametrize("standing", [OverrideStanding.OPEN, OverrideStanding.ENDING])
async def test_an_override_is_not_finished_in_a_cluster_that_goes_but_closed_here(
    kube: Client, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, standing: OverrideStanding
) -> None:
    """Also one that somebody has begun on another computer."""
    elsewhere = OverrideContext(client=kube, cluster="infra", state=tmp_path_factory.mktemp("elsewhere"))
    record = Override(
        id=override_records.made_id(time.time()),
        cluster="infra",
        emergency=Emergency.OUTAGE,
        reason="the shop is down",
        who="ann@elsewhere",
        begun=time.time(),
        until=time.time() + 3600,
        standing=standing,
        scope=("component shop",),
    )
    await override_records.write(record, elsewhere)
    told: list[str] = []
    seen, way = test_down.found()

    try:
        await down.take_down(seen, test_down.means(tmp_path), tell=told.append)
        there = await override_records.read(record.id, kube)
    finally:
        await kube.delete("v1", "ConfigMap", f"firstlight-override-{record.id}", namespace=NAMESPACE)

    assert way.reset == ["w-1", "w-2", "cp-1"]
    assert there == record, "machines that are wiped a moment later need nobody to go on"
    (copy,) = override_records.local(tmp_path, "infra")
    assert copy.standing is OverrideStanding.GONE
    written = override_records.incident_path(tmp_path, "infra", record.id)
    assert "its cluster was taken down before it was over" in written.read_text()
    assert f"override {record.id} is closed with its cluster: {written}" in told
