"""A cluster taken down while its API answers: never beside a run, wherever that one is."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.kube import Client
from firstlight.execute.lease import NAME, NAMESPACE, Lease
from firstlight.lab.lab import Lab
from firstlight.model.cluster import Machine
from firstlight.model.machine_report import MachineReport, Standing
from firstlight.observe import machines
from firstlight.observe.machines import Way
from firstlight.operate import down
from tests.unit.operate import test_down as stubs


async def test_a_run_on_another_computer_holds_it_up(
    lab: Lab, kube: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look_at(machine: Machine, way: Way) -> MachineReport:
        return MachineReport(machine=machine, standing=Standing.MAINTENANCE)

    monkeypatch.setattr(machines, "look_at", look_at)
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "kubeconfig").write_bytes(lab.kubeconfig.read_bytes())
    told: list[str] = []
    seen, way = stubs.found()
    other = Lease(kube, holder="ann@elsewhere:1:run-a", tell=lambda _: None)
    await other.claim()

    with pytest.raises(errors.Refused, match="another run works on this cluster: ann@elsewhere"):
        await down.take_down(seen, stubs.means(tmp_path), tell=told.append)
    await other.release()
    before = list(way.reset)
    await down.take_down(seen, stubs.means(tmp_path), tell=told.append)

    assert before == []
    assert way.reset == ["w-1", "w-2", "cp-1"]
    assert not any("not known" in each for each in told)
    leases = (await kube.list("coordination.k8s.io/v1", "Lease", namespace=NAMESPACE)).items
    assert NAME not in {each["metadata"]["name"] for each in leases}
