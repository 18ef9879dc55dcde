"""What passes to the engine, and what it is told to leave alone."""

from pathlib import Path

import pytest

from firstlight.model.component import Side
from firstlight.model.rendition import Object, Rendition
from firstlight.plan import cluster_facts, final_owners
from firstlight.repo import platform_reader

FILES = {
    "clusters/home/flux-system/gotk-sync.yaml": """
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: "https://git.example.org/me/home", ref: {branch: main}, interval: 1m}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/home, interval: 1m, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
""",
    "clusters/home/settings.yaml": """
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: default}
""",
}


def _passing(root: Path, metadata: dict[str, dict[str, str]]) -> list[str]:
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    platform = platform_reader.read(root)
    (cluster,) = platform.clusters
    made = Object(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings", "namespace": "default", **metadata}}
    )
    (component,) = (each.name for each in platform.components if each.name == "flux-system")
    rendition = Rendition(component=component, cluster=cluster.name, side=Side.GITOPS, objects=(made,))
    known = cluster_facts.of(platform, cluster, [rendition])
    return [
        f"{each.id.name} to {each.owner} as {each.manager}" for each in final_owners.passing_objects(known, [made.id])
    ]


def test_what_bootstrap_brings_and_git_has_passes(tmp_path: Path) -> None:
    found = _passing(tmp_path, {})

    assert found == ["settings to flux (Kustomization flux-system/flux-system) as kustomize-controller"]


@pytest.mark.parametrize(
    "metadata",
    [
        {"annotations": {"helm.sh/hook": "pre-install"}},
        {"annotations": {"kustomize.toolkit.fluxcd.io/reconcile": "Disabled"}},
        {"labels": {"kustomize.toolkit.fluxcd.io/ssa": "IfNotPresent"}},
    ],
)
def test_what_the_engine_leaves_alone_does_not_pass(tmp_path: Path, metadata: dict[str, dict[str, str]]) -> None:
    assert _passing(tmp_path, metadata) == []


def test_what_the_engine_merges_passes(tmp_path: Path) -> None:
    assert len(_passing(tmp_path, {"annotations": {"kustomize.toolkit.fluxcd.io/ssa": "Merge"}})) == 1
