"""What findings about bootstrap show, and what they never show."""

import datetime
from pathlib import Path

from firstlight.commands.audit import rulebook
from firstlight.model.finding import Finding
from firstlight.plan import well_known
from firstlight.repo import platform_reader
from firstlight.repo.platform_view import PlatformView
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
    scene = PlatformView(platform=platform_reader.read_tree(tree), files=tree, today=datetime.date(2026, 11, 1))
    return rulebook.findings(scene, rulebook.read_rulebook(), only=[rule])


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
    assert all(bool(each.where) == bool(each.groups) for each in well_known.chart_crds_table().values())


def test_a_service_config_that_no_machine_takes_in_is_shown(tmp_path: Path) -> None:
    files = {
        "talconfig.yaml": (
            "clusterName: lab\ntalosVersion: v1.13.0\nendpoint: https://10.1.0.11:6443\nnodes:\n"
            "  - {hostname: cp-1, ipAddress: 10.1.0.11, controlPlane: true,"
            " schematic: {customization: {systemExtensions: {officialExtensions: [siderolabs/lldpd]}}}}\n"
        ),
        "talos/lldpd.yaml": "apiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: lldpd\n",
        "talos/tailscale.yaml": "apiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: tailscale\n",
    }

    (found,) = _findings(tmp_path, files, "extension-unconfigured")

    assert [each.place.path for each in found.evidence if each.place] == ["talos/lldpd.yaml"]


def test_an_engine_that_another_engine_brings_is_shown(tmp_path: Path) -> None:
    files = {
        "omni/cluster.yaml": (
            "kind: Cluster\nname: lab\nkubernetes: {version: v1.34.1}\ntalos: {version: v1.11.1}\npatches:\n"
            "  - name: cni\n    inline: {cluster: {inlineManifests: [{name: cilium, contents: "
            '"{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: cilium, namespace: kube-system}}"}]}}\n'
            "---\nkind: ControlPlane\nmachines: [0ced0642-b894-7686-7c54-31f0411a9c9f]\n"
        ),
        "omni/other.yaml": (
            "kind: Cluster\nname: other\nkubernetes: {version: v1.34.1}\ntalos: {version: v1.11.1}\n"
            "---\nkind: ControlPlane\nmachines: [add90642-14d4-bb34-de7a-cfda262fef47]\n"
        ),
        "applications/web.yaml": (
            "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: web, namespace: argocd}\nspec:\n"
            '  source: {repoURL: "https://git.example.org/me/lab", path: web, targetRevision: main}\n'
            "  destination: {name: lab, namespace: web}\n"
        ),
        "web/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, namespace: web}\n",
        "flux/all.yaml": RELEASE.replace("external-secrets", "argo-cd").replace("kubernetes/clusters/lab", "flux"),
    }

    (found,) = _findings(tmp_path, files, "engine-not-installed")

    assert found.message.startswith("nothing in bootstrap installs Argo CD")
    assert [each.text for each in found.evidence] == ["bootstrap begins with cilium", "argo-cd is brought by Flux"]
