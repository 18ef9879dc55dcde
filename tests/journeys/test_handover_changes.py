"""Changes of bootstrap and of both halves after the handover, from Git to machines and Flux, and taken back.

They come after the tests of the handover, on the same cluster, and leave it as it was.
"""

import gzip
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from firstlight.commands.change.change_record import ChangePath, ChangeStanding
from firstlight.secrets import age_keys
from firstlight.tools import install
from tests import carried, handing, runs
from tests.carried import Clone

PATCH = "cluster:\n"
TOKEN = "{token: env:GREETER_TOKEN}"
LABELS = "machine:\n  nodeLabels: {example.org/rack: a}\ncluster:\n"


@pytest_asyncio.fixture(scope="module")
async def clone(to_engine: runs.Stage, tmp_path_factory: pytest.TempPathFactory) -> Clone:
    """A clone of the light platform, handed over to Flux if the tests before have not done so."""
    if not Path(to_engine.certificate).exists():
        told = await to_engine.handover()
        assert told.code == 0, told.err
    sops = (await install.ensure(["sops"]))["sops"]
    return carried.clone(to_engine, tmp_path_factory.mktemp("clones") / "light", sops=sops)


@pytest.mark.long
async def test_what_only_bootstrap_brings_is_brought_and_taken_back(clone: Clone) -> None:
    clone.branch("rack", {"talos/all.yaml": (PATCH, LABELS)})

    outcome, record = await clone.carry("rack")

    assert outcome.is_done, outcome
    assert (record.path, record.standing) == (ChangePath.BOOTSTRAP, ChangeStanding.DONE)
    assert await rack(clone) == "a"
    assert {"light:backup", "light:machine:cp-1"} <= set(clone.writes())

    outcome, record = await clone.revert(record.id)

    assert outcome.is_done, outcome
    assert record.standing is ChangeStanding.REVERTED
    assert await rack(clone) == ""


async def test_machines_come_before_what_git_has_on_top_of_them_and_go_after_it(clone: Clone) -> None:
    more = "metadata: {name: notes-of-the-rack, namespace: default}\ndata: {rack: b}\n"
    clone.branch("rack-b", {
        "talos/all.yaml": (PATCH, LABELS.replace("rack: a", "rack: b")),
        "firstlight.yaml": (TOKEN, TOKEN.replace("}", ", again: env:GREETER_TOKEN}")),
        "apps/rack.yaml": ("", f"apiVersion: v1\nkind: ConfigMap\n{more}"),
        "apps/kustomization.yaml": ("[notes.yaml", "[rack.yaml, notes.yaml"),
    })  # fmt: skip

    outcome, record = await clone.carry("rack-b")

    assert outcome.is_done, outcome
    assert record.path is ChangePath.HYBRID
    assert await rack(clone) == "b"
    assert await keys(clone) == {"token", "again"}
    steps = [each.id for each in record.steps]
    assert steps.index("light:machine:cp-1") < steps.index("git:merge") < steps.index("light:reconcile")
    said = {each.id: each.says for each in record.steps}
    assert "bootstrap's half comes first: what the engine applies after the merge may need" in said["light:order"]
    assert gzip.decompress(decrypted(clone, "etcd"))
    kept = yaml.safe_load(decrypted(clone, "machine-configs"))
    assert ("example.org/rack" in kept["cp-1"]) is False, "the backup is what was there before"
    async with handing.client(clone.stage) as client:
        assert (await client.get("v1", "ConfigMap", "notes-of-the-rack", namespace="default"))["data"] == {"rack": "b"}

    outcome, record = await clone.revert(record.id)

    assert outcome.is_done, outcome
    assert await rack(clone) == ""
    assert await keys(clone) == {"token"}


async def test_the_network_plugin_gets_another_version_by_flux_and_is_tried(clone: Clone) -> None:
    clone.branch("network", {"flannel/flannel.yaml": ("cni-agent:1.0.0", "cni-agent:1.1.0")})

    outcome, record = await clone.carry("network")

    assert outcome.is_done, outcome
    assert record.path is ChangePath.CNI
    said = {each.id: each.says for each in record.steps}
    assert "flannel 1.0.0 › 1.1.0: the next minor version" in said["light:cni-preflight"]
    assert "kube-flannel-ds 1.1.0 1/1" in said["light:cni-rollout"]
    assert "simulated, since this is a lab" in said["light:cni-connectivity"]
    assert "cp-1 was released from it" in said["light:cni-inline:cp-1"]
    assert {each.id for each in record.checks} >= {"cni-health", "cni-steps"}


async def rack(clone: Clone) -> str:
    """The label of the only node."""
    async with handing.client(clone.stage) as client:
        node: dict[str, Any] = await client.get("v1", "Node", "cp-1")
    return str(node["metadata"]["labels"].get("example.org/rack", ""))


async def keys(clone: Clone) -> set[str]:
    """What a Secret of the foundation holds."""
    async with handing.client(clone.stage) as client:
        found: dict[str, Any] = await client.get("v1", "Secret", "greeter-token", namespace="greeter")
    return set(found["data"])


def decrypted(clone: Clone, kind: str) -> bytes:
    """The newest backup of a kind, as its owner reads it."""
    file = max((clone.means.state / "light" / kind).iterdir())
    assert file.stat().st_mode & 0o777 == 0o600
    key = age_keys.identity(carried.KEY).reveal().decode()
    done = subprocess.run(
        [str(clone.means.programs.sops), "decrypt", "--input-type=binary", "--output-type=binary", str(file)],
        capture_output=True, check=True, env={**os.environ, "SOPS_AGE_KEY": key},
    )  # fmt: skip
    return done.stdout
