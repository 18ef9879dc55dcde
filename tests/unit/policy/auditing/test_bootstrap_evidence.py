"""What findings about bootstrap show, and what they never show."""

import datetime
from pathlib import Path

from firstlight.model.finding import Finding
from firstlight.policy.auditing import chart_crds, loading, running
from firstlight.policy.auditing.scene import Scene
from firstlight.repo import platform
from firstlight.repo.work_tree import WorkTree

HELMFILE = """\
environments:
  lab: {}
---
releases:
  - name: external-secrets
    namespace: external-secrets
    chart: oci://registry.example.org/charts/external-secrets
    version: 0.20.3
    values:
      - {adminPassword: first-secret, replicaCount: 1}
"""
RELEASE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: external-secrets, namespace: external-secrets}
spec: {interval: 1h, url: "oci://registry.example.org/charts/external-secrets", ref: {tag: 0.20.3}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: external-secrets, namespace: external-secrets}
spec:
  interval: 1h
  chartRef: {kind: OCIRepository, name: external-secrets}
  values: {adminPassword: second-secret, replicaCount: 2}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: "https://git.example.org/me/lab", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 10m, path: ./kubernetes/clusters/lab, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
"""
SCRIPT = """\
#!/bin/sh
helm upgrade --install longhorn longhorn/longhorn --version 1.9.1 -n longhorn-system
kubectl -n lab patch -p '{"stringData": {"password": "third-secret"}}' secret web
kubectl annotate "$THING" key=third-secret
"""


def _findings(root: Path, files: dict[str, str], rule: str) -> list[Finding]:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    tree = WorkTree(root)
    scene = Scene(platform=platform.read_tree(tree), files=tree, today=datetime.date(2026, 11, 1))
    return running.findings(scene, loading.book(), only=[rule])


def test_values_that_differ_are_shown_but_not_secrets(tmp_path: Path) -> None:
    files = {"bootstrap/helmfile.yaml": HELMFILE, "kubernetes/clusters/lab/all.yaml": RELEASE}

    (found,) = _findings(tmp_path, files, "halves-values-apart")

    shown = [each.text for each in found.evidence]
    assert "bootstrap: replicaCount: 1" in shown
    assert "GitOps: replicaCount: 2" in shown
    assert "bootstrap: adminPassword: …" in shown
    assert "secret" not in f"{found.message} {' '.join(shown)}".replace("external-secrets", "")


def test_steps_by_hand_name_what_they_change_and_no_value(tmp_path: Path) -> None:
    files = {"bootstrap/helmfile.yaml": HELMFILE, "kubernetes/clusters/lab/all.yaml": RELEASE, "bootstrap.sh": SCRIPT}

    found = _findings(tmp_path, files, "bootstrap-by-hand")

    assert [each.message for each in found] == [
        "bootstrap changes secret by hand: kubectl patch",
        "bootstrap changes something by hand: kubectl annotate",
    ]


def test_the_table_says_of_every_chart_with_crds_where_they_are() -> None:
    assert all(bool(each.where) == bool(each.groups) for each in chart_crds.table().values())
