"""A handover, and a certificate that is held against a cluster, reach only the cluster that was written down."""

import json
from pathlib import Path
from typing import Any

import pytest

from firstlight import errors
from firstlight.commands.up import up
from firstlight.execute.means import Means
from firstlight.execute.world import RunPrograms
from firstlight.gates.gate_parts import GateContext
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.plan import Plan
from firstlight.model.platform import Platform
from firstlight.model.secret import Secret
from firstlight.model.work import FetchKubeconfig, Work
from tests.unit.cli.test_which_cluster import KUBECONFIG, react
from tests.unit.clients.kube.loopback import loopback

CLUSTER = Cluster(name="infra", place=Place("firstlight.yaml"))


@pytest.mark.parametrize("known", ["known", "found"])
async def test_another_cluster_is_refused_with_both_uids(tmp_path: Path, known: str) -> None:
    (tmp_path / "infra").mkdir()
    (tmp_path / "infra" / "identity.json").write_text(json.dumps({"kubeSystem": known}))
    nothing: Any = None
    async with loopback(react) as server:
        means = Means(
            programs=RunPrograms(), state=tmp_path, open_renderer=nothing, resolve=nothing, talos_secrets=nothing,
            kubeconfig=Secret(KUBECONFIG.replace("SERVER", server.url)),
        )  # fmt: skip
        prepared = up.PreparedRun(
            platform=Platform(name="x", root=tmp_path, engine=None, clusters=(CLUSTER,), components=()),
            cluster=CLUSTER, ground=GateContext(cluster=CLUSTER, revision="", objects={}), problems=(),
            work=Work(
                cluster=CLUSTER, plan=Plan(cluster="infra", steps=()),
                tasks={"machine:kubeconfig": FetchKubeconfig(control_planes=())},
            ),
        )  # fmt: skip
        if known == "found":
            async with up.reached(prepared, means) as world:
                assert world.is_connected
            assert sorted(each.name for each in (tmp_path / "infra").iterdir()) == ["identity.json"]  # nothing is kept
            return
        with pytest.raises(errors.Refused, match="kube-system has the UID found, and had known") as caught:
            async with up.reached(prepared, means):
                pass
    assert caught.value.exit_code == 3
    assert "identity.json" in caught.value.hint
