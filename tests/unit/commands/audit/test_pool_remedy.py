"""Pins kept, and moved into pools."""

from pathlib import Path

import pytest

from tests.unit.commands.audit import remedy_scenes


def test_a_pool_of_the_cluster_gets_a_block_and_the_pin_stays(tmp_path: Path) -> None:
    pools = (
        "apiVersion: cilium.io/v2\nkind: CiliumLoadBalancerIPPool\nmetadata: {name: apps}\n"
        "spec:\n  blocks:\n    - {start: 10.30.2.210, stop: 10.30.2.230} # as agreed\n"
    )
    remedy = remedy_scenes.remedy(
        "pin-outside-pool", remedy_scenes.made(tmp_path, {"kubernetes/clusters/apps/pools.yaml": pools})
    )
    texts = remedy_scenes.apply(tmp_path, remedy)
    assert list(texts) == ["kubernetes/clusters/apps/pools.yaml"]
    assert texts["kubernetes/clusters/apps/pools.yaml"].startswith(pools)
    assert remedy_scenes.finds(tmp_path, "pin-outside-pool", "pools-overlap", "ranges-overlap") == []
    assert not remedy.open_questions


def test_where_pools_are_shared_the_pin_gets_one_of_its_own(tmp_path: Path) -> None:
    flux = (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
        "metadata: {name: pools, namespace: flux-system}\nspec:\n  interval: 1h\n  path: ./kubernetes/pools\n"
        "  prune: true\n  sourceRef: {kind: GitRepository, name: flux-system}\n"
    )
    pool = "apiVersion: cilium.io/v2\nkind: CiliumLoadBalancerIPPool\nmetadata: {name: all}\nspec: {blocks: [{cidr: 10.30.1.192/26}]}\n"  # noqa: E501
    listed = "resources:\n  - flux-system\n  - shared.yaml # for all\n  - authority.yaml\n"
    files = {
        "kubernetes/clusters/infra/pools.yaml": None,
        "kubernetes/clusters/apps/pools.yaml": None,
        "kubernetes/clusters/infra/shared.yaml": flux,
        "kubernetes/clusters/apps/shared.yaml": flux,
        "kubernetes/clusters/apps/kustomization.yaml": listed.replace("flux-system\n", "flux-system/gotk-sync.yaml\n"),
        "kubernetes/pools/pool.yaml": pool,
    }
    remedy = remedy_scenes.remedy("pin-outside-pool", remedy_scenes.made(tmp_path, files))
    texts = remedy_scenes.apply(tmp_path, remedy)
    own = "kubernetes/clusters/apps/pin-clustermesh-apiserver.yaml"
    assert set(texts) == {own, "kubernetes/clusters/apps/kustomization.yaml"}
    assert "io.kubernetes.service.name: clustermesh-apiserver" in texts[own]
    assert texts["kubernetes/clusters/apps/kustomization.yaml"].endswith("  - pin-clustermesh-apiserver.yaml\n")
    assert remedy_scenes.finds(tmp_path, "pin-outside-pool") == []


def test_an_address_of_a_strange_network_is_asked_about(tmp_path: Path) -> None:
    base = remedy_scenes.mesh()["bootstrap/clusters/apps/cilium.yaml"]
    files = {"bootstrap/clusters/apps/cilium.yaml": base.replace("10.30.2.201", "10.99.2.201")}
    remedy = remedy_scenes.remedy("pin-outside-pool", remedy_scenes.made(tmp_path, files))
    assert remedy_scenes.asked(remedy) == [
        "Is 10.99.2.201 led to apps? No machine and no pool of it is in 10.99.2.0/24"
    ]


@pytest.mark.parametrize(("answer", "is_edited"), [("yes", True), ("no", False)])
def test_an_address_that_is_not_led_there_gets_no_pool(tmp_path: Path, answer: str, is_edited: bool) -> None:
    base = remedy_scenes.mesh()["bootstrap/clusters/apps/cilium.yaml"]
    files = {"bootstrap/clusters/apps/cilium.yaml": base.replace("10.30.2.201", "10.99.2.201")}
    scene = remedy_scenes.made(tmp_path, files)
    remedy = remedy_scenes.remedy("pin-outside-pool", scene, routed__10__99__2__201=answer)
    assert not remedy.open_questions
    assert bool(remedy.edits) is is_edited
    assert any(each.text.startswith("Choose another address") for each in remedy.steps) is not is_edited


def test_a_pool_that_is_for_others_is_left_as_it_is(tmp_path: Path) -> None:
    pools = (
        "apiVersion: cilium.io/v2\nkind: CiliumLoadBalancerIPPool\nmetadata: {name: public}\n"
        "spec:\n  blocks: [{cidr: 10.30.2.224/28}]\n  serviceSelector: {matchLabels: {pool: public}}\n"
    )
    scene = remedy_scenes.made(tmp_path, {"kubernetes/clusters/apps/pools.yaml": pools})
    texts = remedy_scenes.apply(tmp_path, remedy_scenes.remedy("pin-outside-pool", scene))
    assert list(texts) == ["kubernetes/clusters/apps/pin-clustermesh-apiserver.yaml"]
    assert remedy_scenes.finds(tmp_path, "pin-outside-pool") == []


def test_no_pool_is_put_where_another_cluster_takes_it_as_well(tmp_path: Path) -> None:
    stage = "kubernetes/clusters/stage"
    sync = remedy_scenes.mesh()["kubernetes/clusters/apps/flux-system/gotk-sync.yaml"].replace("apps", "stage")
    pools = (
        "apiVersion: cilium.io/v2\nkind: CiliumLoadBalancerIPPool\nmetadata: {name: public}\n"
        "spec:\n  blocks: [{cidr: 10.30.2.224/28}]\n  serviceSelector: {matchLabels: {pool: public}}\n"
    )
    files = {
        "kubernetes/clusters/apps/pools.yaml": pools,
        "kubernetes/clusters/apps/kustomization.yaml": "resources: [pools.yaml]\n",
        f"{stage}/flux-system/gotk-sync.yaml": sync,
        f"{stage}/kustomization.yaml": "resources: [flux-system/gotk-sync.yaml, ../apps]\n",
    }
    remedy = remedy_scenes.remedy("pin-outside-pool", remedy_scenes.made(tmp_path, files))
    assert remedy.edits == ()
    assert "Which directory is of apps alone? stage applies kubernetes/clusters/apps, too" in remedy_scenes.asked(
        remedy
    )
