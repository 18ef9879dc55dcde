"""A cluster of Omni on a real API server. There is no Omni here: a stand-in for omnictl gives the lab's kubeconfig."""

import json
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.clients.kube import Client
from firstlight.execute.actions import kubeconfig
from firstlight.execute.world import RunPrograms, World
from firstlight.lab import running_lab
from firstlight.model.cluster import Cluster, Machine, MachineRole
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.model.work import FetchKubeconfig
from tests.unit.clients.recorder import Recorder

STEP = "machine:kubeconfig"
PLANE = Machine(name="cp-1", id="0fed", role=MachineRole.CONTROL_PLANE, place=Place("a.yaml"), address="10.0.0.9")


def world(tmp_path: Path, program: Recorder) -> World:
    async def resolve(reference: str) -> Secret:
        raise AssertionError("Omni keeps the keys")

    return World(
        cluster=Cluster(name="infra", place=Place("a.yaml"), machines=(PLANE,)),
        programs=RunPrograms(omnictl=program.path), resolve=resolve, state=tmp_path / ".firstlight",
    )  # fmt: skip


async def test_the_way_to_the_api_is_omnis_and_the_cluster_is_known_again(
    tmp_path: Path, lab: running_lab.Lab, kube: Client
) -> None:
    program = Recorder(tmp_path / "program", "omnictl")
    program.says(json.dumps({"spec": {"uuid": "first"}}), when="get")
    program.says(lab.kubeconfig.read_text(), when="kubeconfig")
    program.says("context: infra\n", when="talosconfig")
    task = FetchKubeconfig(control_planes=(PLANE,), omni="apps")
    uid = (await kube.get("v1", "Namespace", "kube-system"))["metadata"]["uid"]

    for _ in range(2):
        one = world(tmp_path, program)
        try:
            assert await kubeconfig.look(task, one, STEP) is None
            assert one.is_connected
            assert not one.is_exec
        finally:
            await one.close()

    known = json.loads((tmp_path / ".firstlight" / "infra" / "identity.json").read_text())
    assert known == {"omni": "first", "kubeSystem": uid}
    program.says(json.dumps({"spec": {"uuid": "second"}}), when="get")
    other = world(tmp_path, program)
    with pytest.raises(errors.Refused, match="has the id second in Omni, and had first"):
        await kubeconfig.look(task, other, STEP)
    assert not other.is_connected
