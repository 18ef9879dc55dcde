"""Charts of Applications: what Helm would give to their templates, and where it ends."""

from pathlib import Path

from firstlight.model.source import ChartSource
from firstlight.repo.argocd import local_charts
from firstlight.repo.argocd.local_charts import RenderedApplications
from firstlight.repo.argocd.read_scope import ReadScope
from firstlight.repo.work_tree import WorkTree

HEAD = "apiVersion: argoproj.io/v1alpha1\nkind: Application\n"


def render(root: Path, template: str, helpers: str = "") -> RenderedApplications:
    (root / "templates").mkdir()
    (root / "Chart.yaml").write_text("{name: apps, version: 1.2.3}")
    (root / "templates" / "a.yaml").write_text(HEAD + template)
    (root / "templates" / "_helpers.tpl").write_text(helpers)
    tree = WorkTree(root)
    chart = local_charts.read_chart(tree, ".")
    assert chart is not None
    release = ChartSource(name=".", release="mine", namespace="there")
    return local_charts.chart_applications(chart, {"a": {"b": "c"}}, release, scope=ReadScope(tree))


def test_releases_charts_and_values_are_given(tmp_path: Path) -> None:
    text = (
        "metadata:\n  name: {{ .Release.Name }}-{{ .Release.Namespace }}-{{ .Chart.Version }}-{{ tpl .Values.t . }}\n"
    )

    found = render(tmp_path, text.replace(".Values.t", '"{{ .Values.a.b }}"'))

    assert [each.name for each in found.definitions] == ["mine-there-1.2.3-c"]
    assert [str(each.place) for each in found.definitions] == ["templates/a.yaml:2"]


def test_helpers_are_included(tmp_path: Path) -> None:
    helpers = '{{ define "x" }}{{ include "y" . }}-x{{ end }}\n{{ define "y" }}{{ .Values.a.b }}{{ end }}'

    found = render(tmp_path, 'metadata:\n  name: {{ include "x" . }}\n', helpers)

    assert [each.name for each in found.definitions] == ["c-x"]


def test_helpers_that_include_each_other_for_ever_are_given_up(tmp_path: Path) -> None:
    helpers = '{{ define "x" }}{{ include "x" . }}{{ include "x" . }}{{ end }}'

    found = render(tmp_path, 'metadata:\n  name: {{ include "x" . }}\n', helpers)

    assert found.definitions == () or all(each.is_guessed for each in found.definitions)
    assert [each.severity for each in found.diagnostics] == ["unknown"]


def test_what_only_helm_knows_is_in_doubt(tmp_path: Path) -> None:
    found = render(tmp_path, "metadata:\n  name: x\nspec:\n  project: {{ .Capabilities.KubeVersion }}\n")

    assert [(each.name, each.is_guessed) for each in found.definitions] == [("x", True)]
