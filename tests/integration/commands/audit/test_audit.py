"""An audit that asks a real API server: what it sees, and that it neither writes nor looks at secrets."""

import asyncio
import dataclasses
import json
from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.clients import kube as clients_kube
from firstlight.clients.kube.client_config import Impersonation
from firstlight.commands.audit import live_objects
from firstlight.lab import running_lab
from tests.unit.commands.audit import repos

MACHINES = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters:
  home:
    machines: [{name: cp-1, address: 10.1.0.11, role: controlplane}]
    patches: [talos/all.yaml]
    path: clusters/home
"""
ELSEWHERE = "cluster: {network: {podSubnets: [10.200.0.0/16], serviceSubnets: [10.201.0.0/16]}}\n"


async def test_lists_of_kinds_come_whole_and_secrets_as_names_alone(kube: clients_kube.Client, namespace: str) -> None:
    secret = {
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "hidden", "namespace": namespace},
        "stringData": {"password": "hunter2"},
    }  # fmt: skip
    await kube.apply(secret, manager="tests")

    found, problems = await live_objects.look(kube)

    assert problems == ()
    assert {each["kind"] for each in found.of("/Node")} == {"Node"}
    assert any(each["metadata"]["name"] == "kubernetes" for each in found.of("/Service"))
    mine = [each for each in found.of("/Secret") if each["metadata"]["namespace"] == namespace]
    assert [(each["apiVersion"], each["kind"], each["metadata"]["name"]) for each in mine] == [
        ("v1", "Secret", "hidden")
    ]
    assert "hunter2" not in str(found.objects)
    assert not any("data" in each or "managedFields" in each["metadata"] for each in found.of("/Secret"))


async def test_what_may_not_be_listed_is_said(kube: clients_kube.Client) -> None:
    config = dataclasses.replace(kube.config, impersonation=Impersonation("nobody"))
    async with clients_kube.Client(config) as nobody:
        found, problems = await live_objects.look(nobody)

    assert found.objects == {}
    assert any("nodes" in each and "nobody" in each for each in problems)


async def test_a_cluster_is_held_against_what_the_repo_says_of_it(
    lab: running_lab.Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command as it is typed: the lab's services are elsewhere than Talos was told."""
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    root = repos.make(tmp_path / "repo", firstlight_yaml=MACHINES, talos__all_yaml=ELSEWHERE)
    options = ["audit", "--repo", str(root), "--rule", "service-range-differs", "-o", "json"]

    assert await asyncio.to_thread(main.run, options) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    kept = sorted((tmp_path / "cache/audits").rglob("*.json"))
    assert await asyncio.to_thread(main.run, [*options, "--live", "--kubeconfig", str(lab.kubeconfig)]) == 2

    (found,) = json.loads(capsys.readouterr().out)["findings"]
    assert "the cluster's services are not in" in found["message"]
    assert found["places"][0]["path"] == "talos/all.yaml"
    assert sorted((tmp_path / "cache/audits").rglob("*.json")) == kept, "what a cluster said is not kept"
