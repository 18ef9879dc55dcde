"""The way to the API: out of memory, to another address, and never without a kubeconfig."""

from pathlib import Path

import pytest

from firstlight import errors
from firstlight.execute.actions import kubeconfig
from firstlight.model.cluster import Machine, MachineRole
from firstlight.model.place import Place
from firstlight.model.secret import Secret
from firstlight.model.work import FetchKubeconfig
from tests.unit.execute.test_cluster_identity import world

TEXT = """
apiVersion: v1
kind: Config
clusters: [{name: infra, cluster: {server: "https://api.example.org:6443"}}]
users: [{name: admin, user: {token: hidden}}]
contexts: [{name: admin@infra, context: {cluster: infra, user: admin}}]
current-context: admin@infra
"""


def test_a_kubeconfig_is_read_without_a_file() -> None:
    config = kubeconfig.parsed(Secret(TEXT))

    assert config.server == "https://api.example.org:6443"
    assert config.source == "the kubeconfig of the cluster"
    assert "hidden" not in repr(config)


def test_another_address_must_still_show_the_declared_name() -> None:
    config = kubeconfig.redirected(kubeconfig.parsed(Secret(TEXT)), "https://127.71.1.1:6443/")

    assert (config.server, config.server_name) == ("https://127.71.1.1:6443", "api.example.org")


def test_without_another_address_nothing_changes() -> None:
    config = kubeconfig.parsed(Secret(TEXT))

    assert kubeconfig.redirected(config, "") is config


@pytest.mark.parametrize(
    "machines",
    [(), (Machine(name="a", id="0fed", role=MachineRole.CONTROL_PLANE, place=Place("cluster.yaml")),)],
    ids=["none", "Omni"],
)
async def test_a_cluster_whose_machines_cannot_be_asked_needs_one(
    tmp_path: Path, machines: tuple[Machine, ...]
) -> None:
    with pytest.raises(errors.Refused, match="infra has no machines that could be asked"):
        await kubeconfig.look(FetchKubeconfig(control_planes=machines), world(tmp_path), "machine:kubeconfig")


async def test_who_keeps_the_ways_in_is_called_only_for_this_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reached: list[str] = []
    uids = iter(["one", "one", "another"])

    async def uid(*_: object) -> str:
        return next(uids)

    async def connect(_: object) -> None:
        pass

    monkeypatch.setattr(kubeconfig, "_uid", uid)
    one = world(tmp_path)
    monkeypatch.setattr(one, "connect", connect)
    one.kubeconfig, one.on_reached = Secret(TEXT), lambda: reached.append("reached")
    for _ in range(2):
        await kubeconfig.look(FetchKubeconfig(control_planes=()), one, "machine:kubeconfig")

    with pytest.raises(errors.Refused, match="is not the cluster that it was"):
        await kubeconfig.look(FetchKubeconfig(control_planes=()), one, "machine:kubeconfig")

    assert reached == ["reached", "reached"]
