"""A repo whose names carry escape sequences and turned writing: no command passes them on, in whatever form."""

import json
from pathlib import Path

import pytest

from firstlight.cli import main
from tests.unit.drawing.test_safe import is_plain

ESCAPES = r"\e[31m\u202e\u009b2J"
PLATFORM = f"""\
apiVersion: firstlight.dev/v1alpha1
kind: Platform
metadata: {{name: "home{ESCAPES}"}}
gitops: {{engine: flux, url: "https://git.example.org/me/home{ESCAPES}", branch: "main{ESCAPES}"}}
clusters: {{infra: {{role: infra, path: cluster}}}}
components:
  "web{ESCAPES}": {{phase: core, needs: ["dns{ESCAPES}"], why: "because{ESCAPES}"}}
"""
FLUX = f"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {{name: "apps{ESCAPES}", namespace: "flux-system{ESCAPES}"}}
spec:
  path: "./apps{ESCAPES}"
  sourceRef: {{kind: GitRepository, name: "home{ESCAPES}"}}
  dependsOn: [{{name: "other{ESCAPES}"}}]
  wrong{ESCAPES}: true
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: "web{ESCAPES}", namespace: "web{ESCAPES}"}}
spec:
  interval: "1h{ESCAPES}"
  chart:
    spec: {{chart: "web{ESCAPES}", version: "1{ESCAPES}", sourceRef: {{kind: HelmRepository, name: "x{ESCAPES}"}}}}
  values: {{"a{ESCAPES}": "b{ESCAPES}"}}
---
apiVersion: v1
kind: "Strange{ESCAPES}"
metadata: {{name: "x{ESCAPES}", labels: {{"a{ESCAPES}": "b{ESCAPES}"}}}}
"""
COMMANDS = (
    ["inventory"],
    ["inventory", "-o", "json"],
    ["plan", "--no-render"],
    ["plan", "--no-render", "-o", "json"],
    ["audit", "-o", "text"],
    ["audit", "-o", "json"],
    ["audit", "-o", "sarif"],
    ["audit", "-o", "markdown"],
    ["decide", "--no-render", "--files", "cluster/flux.yaml"],
    ["decide", "--no-render", "--files", "cluster/flux.yaml", "-o", "json"],
    ["decide", "--no-render", "--files", "cluster/flux.yaml", "-o", "markdown"],
    ["graph", "--format", "text"],
    ["graph", "--format", "mermaid"],
    ["graph", "--format", "dot"],
    ["graph", "--format", "svg"],
    ["init", "--dry-run"],
    ["init", "--dry-run", "-o", "json"],
)


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "inferred"])
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_nothing_unseen_is_printed(
    words: list[str], declared: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "cluster").mkdir()
    (tmp_path / "cluster" / "flux.yaml").write_text(FLUX)
    (tmp_path / "cluster" / "kustomization.yaml").write_text(f'resources: [flux.yaml, "no{ESCAPES}.yaml"]\n')
    if declared:
        (tmp_path / "firstlight.yaml").write_text(PLATFORM)

    code = main.run([*words, "--repo", str(tmp_path)])

    said = capsys.readouterr()
    assert code != 64, said.err
    assert said.out + said.err
    assert is_plain(said.out)
    assert is_plain(said.err)
    if said.out and ("json" in words or "sarif" in words):
        json.loads(said.out)
