"""Repos of strangers: what they try is a diagnostic, reaches nothing outside, and spoils nothing else."""

from pathlib import Path
from typing import Any

import pytest

from tests.integration.render.repos import Kitchen, messages, objects
from tests.integration.render.test_flux_repo import CHART, CONFIG, release, repo

CHART_FILE = "apiVersion: v2\nname: hello\nversion: 1.2.3\n"


def chart(**files: object) -> dict[str, object]:
    return {**CHART, **{f"charts/hello/{name}": content for name, content in files.items()}}


@pytest.mark.parametrize(
    "files",
    [
        chart(**{"Chart.yaml": "apiVersion: v2\nname: ../../../escaped\nversion: 1.2.3\n"}),
        chart(**{"Chart.yaml": 'apiVersion: v2\nname: "a\\0b"\nversion: 1.2.3\n'}),
        chart(**{"Chart.yaml": "apiVersion: v2\nname: --post-renderer=x\nversion: 1.2.3\n"}),
        chart(**{"Chart.yaml": CHART_FILE + "dependencies: [{name: ../../../escaped, repository: 'file://../inner'}]\n",
                 "../inner/Chart.yaml": "name: inner\n"}),
        chart(**{"Chart.yaml": CHART_FILE + "dependencies: [{name: up, repository: 'file://../../../..'}]\n"}),
        chart(**{"Chart.yaml": CHART_FILE + "dependencies: [{name: self, repository: 'file://.'}]\n"}),
        chart(**{"Chart.yaml": CHART_FILE + "dependencies: [{name: x, repository: 'http://evil.example'}]\n"}),
        chart(**{"Chart.yaml": "a: &a [*a]\n"}),
        chart(**{"Chart.yaml": "[]"}),
        chart(**{"templates/loop.yaml": '{{ define "a" }}{{ include "a" . }}{{ end }}{{ include "a" . }}'}),
        chart(**{"templates/files.yaml": '{{ .Files.Get "../../../../../../etc/passwd" }}: {{ fail "reached" }}'}),
    ],
)  # fmt: skip
async def test_charts(kitchen: Kitchen, tmp_path: Path, files: dict[str, object]) -> None:
    root = repo(tmp_path / "deep/er/repo", {**files, "app/release.yaml": release(), "app/a.yaml": CONFIG % ("a", "1")})
    found = await kitchen.everything(root, offline=True)
    by_name = {name: outcome.rendition for (name, _), outcome in found.items()}

    assert messages(by_name["hello"], "error") != []
    assert by_name["hello"].objects == ()
    assert "ConfigMap/a" in objects(by_name["app"])
    assert list(tmp_path.rglob("*escaped*")) == []
    assert all(line.isprintable() for each in by_name.values() for line in messages(each))


@pytest.mark.parametrize(
    "spec",
    [
        {"releaseName": "--kubeconfig=/etc/x"},
        {"targetNamespace": "a b"},
        {"values": {"a": "x" * 100}, "postRenderers": [{"kustomize": {"patches": [{"patch": "- not a patch"}]}}]},
        {"postRenderers": [{"kustomize": {"patches": [{"patch": "{", "target": {"kind": "*("}}]}}]},
    ],
)
async def test_releases(kitchen: Kitchen, tmp_path: Path, spec: dict[str, Any]) -> None:
    root = repo(tmp_path / "repo", {**CHART, "app/release.yaml": release(**spec)})
    rendition = (await kitchen.one(root, "hello")).rendition
    assert messages(rendition, "error") != []


@pytest.mark.parametrize(
    "kustomization",
    [
        {"resources": ["../../outside.yaml"]},
        {"resources": ["/etc/passwd"]},
        {"resources": ["."]},
        {"generators": ["exec.yaml"]},
        {"helmCharts": [{"name": "x", "repo": "https://charts.example.org", "releaseName": "--post-renderer=x"}]},
        {"resources": ["https://169.254.169.254/latest.yaml"]},
        {"resources": ["a.yaml", "a.yaml"]},
        {"configMapGenerator": [{"name": "x", "files": ["../../../../../../etc/hostname"]}]},
    ],
)
async def test_kustomizations(kitchen: Kitchen, tmp_path: Path, kustomization: dict[str, Any]) -> None:
    (tmp_path / "outside.yaml").write_text(CONFIG % ("outside", "1"))
    files: dict[str, object] = {
        "app/kustomization.yaml": kustomization,
        "app/a.yaml": CONFIG % ("a", "1"),
        "app/exec.yaml": (
            "apiVersion: v1\nkind: X\n"
            "metadata: {name: x, annotations: {config.kubernetes.io/function: 'exec: {path: x}'}}\n"
        ),
    }
    rendition = (await kitchen.one(repo(tmp_path / "repo", files), "app")).rendition
    assert rendition.objects == ()
    assert messages(rendition, "error") != []


async def test_a_patch_cannot_name_a_file(kitchen: Kitchen, tmp_path: Path) -> None:
    """Patches of Flux are texts; one that is a path is not read as one."""
    (tmp_path / "secret.yaml").write_text(CONFIG % ("a", "outside"))
    files: dict[str, object] = {"app/kustomization.yaml": {"resources": ["a.yaml"]}, "app/a.yaml": CONFIG % ("a", "1")}
    root = repo(tmp_path / "repo", files, patches=[{"path": "../../secret.yaml", "patch": ""}])
    rendition = (await kitchen.one(root, "app")).rendition
    assert "outside" not in str([each.value for each in rendition.objects])


async def test_variables_that_never_end_are_refused(kitchen: Kitchen, tmp_path: Path) -> None:
    files: dict[str, object] = {"app/a.yaml": CONFIG % ("a", "${a:=" * 200 + "}" * 200)}
    root = repo(tmp_path / "repo", files, postBuild={"substitute": {"b": "1"}})
    rendition = (await kitchen.one(root, "app")).rendition
    assert messages(rendition, "error") != []
