"""``audit --live`` against a real API server: what its nodes say, and that nothing is written there."""

import asyncio
import contextlib
import json
import time
import uuid
from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.clients import kube as clients_kube
from firstlight.document import yaml_reader
from firstlight.lab import running_lab
from firstlight.observe import audit_log
from tests.labs import until

LIGHT = Path(__file__).parents[3] / "scenarios" / "audit" / "repos" / "light.yaml"


async def test_ranges_of_nodes_are_held_against_the_repo_and_nothing_is_written(
    lab: running_lab.Lab, kube: clients_kube.Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lab's nodes have their pods in 10.244.0.0/16, and the machine config says something else."""
    for path, text in yaml_reader.read(LIGHT.read_bytes(), LIGHT.name).documents[0].value.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    options = ["audit", f"--repo={tmp_path}", "--live", f"--kubeconfig={lab.kubeconfig}", "--output=json"]
    log = lab.home.audit_log
    begun = time.time()

    code = await asyncio.to_thread(main.run, options)

    (found,) = (each for each in json.loads(capsys.readouterr().out)["findings"] if each["code"] == "pod-range-differs")
    nodes = {each["metadata"]["name"]: each["spec"]["podCIDRs"] for each in (await kube.list("v1", "Node")).items}
    assert code == 2
    assert found["message"] == f"nodes have pods outside of 10.42.0.0/16: {', '.join(sorted(nodes))}"
    assert found["places"][0]["path"] == "talos/all.yaml"
    told = [each["text"] for each in found["evidence"]]
    assert [each for each in told if "podCIDRs" in each] == [
        f"{name}: podCIDRs {', '.join(ranges)}" for name, ranges in sorted(nodes.items())
    ]
    # The log is written behind; once a later request is in it, so is all before.
    mark = uuid.uuid4().hex
    with contextlib.suppress(clients_kube.NotFound):
        await kube.get("v1", "Namespace", mark)

    async def is_told() -> bool:
        return audit_log.has(log, mark, since=begun)

    await until(is_told, "the audit log")
    assert audit_log.has(log, "/api/v1/nodes", since=begun)
    assert audit_log.writes(log, since=begun, until=time.time()) == ()
