"""``firstlight node`` as it is typed: what is wrong is said before anything is asked of a machine."""

import json
from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.commands.node import command, remove
from firstlight.commands.node.drain_rules import DrainOptions

DECLARED = """\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
gitops: {engine: flux}
clusters:
  infra: &one
    network: {endpoint: "https://10.0.0.1:6443"}
    machines:
      - {name: cp-1, address: 10.0.0.1, role: controlplane}
      - {name: worker-1, address: 10.0.0.9}
  apps:
    network: {endpoint: "https://10.0.1.1:6443"}
    machines: [{name: cp-1, address: 10.0.1.1, role: controlplane}]
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "firstlight.yaml").write_text(DECLARED.replace(" &one", ""))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["apply", "infra"], "which machines?"),
        (["apply", "infra", "--all", "--machine", "cp-1"], "which machines?"),
        (["apply", "infra", "--all", "--try", "1s"], "a trial takes from 10s to 1h"),
        (["apply", "infra", "--all", "--try", "soon"], "'soon' is no duration; write 90s, 30m or 1h30m"),
        (["apply", "--all"], "which cluster?"),
        (["maintain", "nobody"], "there is no machine nobody"),
        (["maintain", "cp-1"], "several clusters have a machine cp-1"),
        (["maintain", "worker-1", "--done", "--no-reboot"], "--done ends it"),
        (["list", "nowhere"], "there is no cluster nowhere"),
    ],
)
def test_what_is_wrong_is_said(arguments: list[str], said: str, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["node", *arguments, "--repo", str(repo), "-o", "json"])

    assert code == 64
    assert said in json.loads(capsys.readouterr().out)["error"]["message"]


def test_typed_again_a_departure_means_the_same() -> None:
    usual = remove.NodeRemovalOptions(command="node reset")
    other = remove.NodeRemovalOptions(
        command="node reset",
        wipe="all",
        is_storage_accepted=True,
        drain=DrainOptions(may_lose_scratch=True, is_forced=True),
    )

    assert remove.same_options(usual) == ""
    assert remove.same_options(other) == " --wipe all --delete-emptydir-data --force --accept-storage"


@pytest.mark.parametrize("name", list(command.COMMANDS))
def test_every_command_of_the_table_is_there_and_prints_both_forms(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["node", name, "--help"]) == 0

    assert "--output [text|json]" in capsys.readouterr().out
