"""``boundary`` and ``plan`` on a repo, with real helm and kustomize."""

import asyncio
import json
from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.tools import install

FILES = {
    "charts/net/Chart.yaml": "{apiVersion: v2, name: net, version: 1.0.0}",
    "charts/net/values.yaml": "replicas: 1",
    "charts/net/templates/deployment.yaml": """
apiVersion: apps/v1
kind: Deployment
metadata: {name: net, namespace: {{ .Release.Namespace }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: net}}
  template:
    metadata: {labels: {app: net}}
    spec:
      containers:
        - {name: net, image: "registry.example.org/net:{{ .Values.tag }}", envFrom: [{secretRef: {name: late}}]}
""",
    "clusters/home/flux-system/gotk-sync.yaml": """
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: "https://git.example.org/me/ops", ref: {branch: main}, interval: 1m}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, path: ./clusters/home, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
""",
    "clusters/home/apps.yaml": """
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: apps, namespace: flux-system}
spec: {interval: 1m, path: ./apps, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
""",
    "apps/net.yaml": """
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: net, namespace: kube-system}
spec:
  interval: 1h
  chart: {spec: {chart: ./charts/net, sourceRef: {kind: GitRepository, name: flux-system, namespace: flux-system}}}
  values: {tag: v2, replicas: 2}
""",
    "apps/late.yaml": "{apiVersion: v1, kind: Secret, metadata: {name: late, namespace: kube-system}}",
    "bootstrap/helmfile.yaml": """
releases:
  - {name: net, namespace: kube-system, chart: ../charts/net, values: [{tag: v1}]}
""",
}


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repo, and a cache of its own beside the programs of this computer."""
    found = asyncio.run(install.ensure(["helm", "kustomize"]))
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FIRSTLIGHT_HELM", str(found["helm"]))
    monkeypatch.setenv("FIRSTLIGHT_KUSTOMIZE", str(found["kustomize"]))
    root = tmp_path / "repo"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_what_differs_between_helmfile_and_the_helm_release(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["boundary", "--repo", str(repo), "--offline", "-o", "json"]) == 2
    (net,) = json.loads(capsys.readouterr().out)["components"]

    (deployment,) = net["objects"]
    assert [each["words"] for each in deployment["differences"]] == ["replicas 1 › 2", "image net v1 › v2"]
    assert [each["replacesPods"] for each in deployment["differences"]] == [False, True]


def test_rendering_finds_a_secret_that_only_gitops_brings(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for option, code in (("--render", 3), ("--no-render", 0)):
        assert main.run(["plan", "--repo", str(repo), "--offline", option, "-o", "json"]) == code
        (plan,) = json.loads(capsys.readouterr().out)["plans"]
        found[option] = {each["code"] for each in plan["problems"] if each["severity"] == "error"}

    assert found == {
        "--render": {"secret-from-gitops"},
        "--no-render": set(),
    }
