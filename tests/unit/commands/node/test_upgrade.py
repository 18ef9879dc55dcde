"""What is typed to upgrade and to let machines go: what cannot be meant, and what is shown to be typed again."""

from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.commands.node import kubernetes_upgrade, talos_upgrade, upgrade
from firstlight.commands.node.drain_rules import DrainOptions

REPO = """
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {name: home}
clusters:
  infra:
    network: {endpoint: "https://10.0.0.1:6443"}
    machines:
      - {name: cp-1, address: 10.0.0.1, role: controlplane, disk: /dev/sda}
"""


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ((), "no version is given"),
        (("--talos", "v1.13.1", "--kubernetes", "v1.36.1"), "one after the other"),
        (("--kubernetes", "v1.36.1", "--machine", "cp-1"), "on all machines"),
    ],
)
def test_what_cannot_be_meant(typed: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["node", "upgrade", *typed]) == 64
    assert said in capsys.readouterr().err


def test_a_machine_that_nobody_declares(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "firstlight.yaml").write_text(REPO)

    assert main.run(["node", "add", "worker-1", "--repo", str(tmp_path)]) == 64
    assert "firstlight.yaml: clusters.infra.machines: - {name: worker-1, " in capsys.readouterr().err
    assert main.run(["node", "reset", "worker-1", "--repo", str(tmp_path)]) == 64


def test_typed_again_it_means_the_same() -> None:
    talos = talos_upgrade.TalosUpgradeOptions(
        targets=("v1.12.6", "v1.13.1"), only=("cp-1",), drain=DrainOptions(is_forced=True), is_snapshot_kept=False
    )
    kubernetes = kubernetes_upgrade.KubernetesUpgradeOptions(target="v1.36.1", is_pruned=False)

    assert upgrade._again("infra", talos) == (
        "infra --talos v1.12.6 --talos v1.13.1 --machine cp-1 --force --no-snapshot"
    )
    assert upgrade._again("infra", kubernetes) == "infra --kubernetes v1.36.1 --no-prune"
