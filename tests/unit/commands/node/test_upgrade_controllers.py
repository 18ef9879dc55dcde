"""Controllers that upgrade machines themselves, as Git brings them."""

from pathlib import Path

import pytest

from firstlight.commands.node import upgrade_controllers
from firstlight.model.upgrade_plan import UpgradeProduct
from firstlight.repo import platform_reader
from tests.unit.repo import trees

SYNC = """
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, ref: {branch: main}, url: https://git.example.org/team/home}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./clusters/home, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
TALOS = """
apiVersion: tuppr.home-operations.com/v1alpha1
kind: TalosUpgrade
metadata: {name: nodes, namespace: system, annotations: {}}
spec: {talos: {version: v1.14.1}}
"""
PLAN = """
apiVersion: upgrade.cattle.io/v1
kind: Plan
metadata: {name: kubernetes, namespace: system}
spec: {version: v1.37.0, upgrade: {image: registry.example.org/talosctl, args: [upgrade-k8s]}}
"""


@pytest.mark.parametrize(
    ("manifest", "product", "wants"),
    [
        (TALOS, UpgradeProduct.TALOS, "v1.14.1"),
        (TALOS, UpgradeProduct.KUBERNETES, ""),
        (TALOS.replace("{}", "{tuppr.home-operations.com/suspend: by hand}"), UpgradeProduct.TALOS, ""),
        (PLAN, UpgradeProduct.KUBERNETES, "v1.37.0"),
        (PLAN, UpgradeProduct.TALOS, ""),
        (PLAN.replace("talosctl", "drain"), UpgradeProduct.KUBERNETES, ""),
    ],
)
def test_what_a_controller_does_is_not_done_beside_it(
    manifest: str, product: UpgradeProduct, wants: str, tmp_path: Path
) -> None:
    trees.make(tmp_path, {"clusters/home/flux-system/gotk-sync.yaml": SYNC, "clusters/home/upgrade.yaml": manifest})
    platform = platform_reader.read(tmp_path)

    found = list(upgrade_controllers.refusals(platform, "home", product))

    assert [each.code for each in found] == ["upgrade-by-controller"] * bool(wants)
    assert all(wants in each.message for each in found)
