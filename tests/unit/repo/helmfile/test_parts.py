"""Helmfiles of several parts: each is rendered with the values of those before it."""

from pathlib import Path

from firstlight.model.source import ChartSource
from firstlight.repo import helmfile
from firstlight.repo.reader_result import ReaderResult
from tests.unit.repo.scripts import repos


def read(tmp_path: Path, text: str, **others: str) -> ReaderResult:
    return helmfile.read(repos.write(tmp_path, {"helmfile.yaml.gotmpl": text, **others}))


def test_a_part_sees_the_values_of_earlier_parts(tmp_path: Path) -> None:
    text = "values: [{a: 1}]\n---\nenvironments: {default: {values: [{b: {{ .Values.a }}2}]}}\n---\n"
    release = "releases: [{name: x{{ .Values.a }}-{{ .Values.b }}, chart: ./x}]\n"

    assert [each.name for each in read(tmp_path, text + release).origins] == ["x1-12"]


def test_an_empty_list_of_a_later_part_replaces_nothing(tmp_path: Path) -> None:
    text = "releases: [{name: a, chart: ./x}]\n---\nreleases: []\nrepositories: []\n"

    found = read(tmp_path, text)

    assert [each.name for each in found.origins] == ["a"]
    assert found.diagnostics == ()


def test_values_of_an_environment_win_over_defaults(tmp_path: Path) -> None:
    text = "environments: {default: {values: [{v: env}]}}\n---\nvalues: [{v: default, w: default}]\n---\n"
    release = "releases: [{name: '{{ .Values.v }}-{{ .Values.w }}', chart: ./x}]\n"

    assert [each.name for each in read(tmp_path, text + release).origins] == ["env-default"]


def test_lines_are_those_of_the_file_whatever_was_rendered_before(tmp_path: Path) -> None:
    text = """values:
  - list: [a, b, c]
---
{{ range .Values.list }}
# {{ . }}
{{ end }}
releases:
{{- range .Values.list }}
  - name: {{ . }}
    chart: ./x
{{- end }}
  - name: last
    chart: ./x
    needs: [a]
"""
    found = read(tmp_path, text)

    assert {each.name: each.place.line for each in found.origins} == {"a": 9, "b": 9, "c": 9, "last": 12}
    assert found.origins[-1].needs[0].place.line == 14


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    text = "\ufeffvalues: [{a: 1}]\r\n---\r\nreleases:\r\n  - name: x{{ .Values.a }}\r\n    chart: ./x\r\n"

    (release,) = read(tmp_path, text).origins

    assert (release.name, release.place.line) == ("x1", 4)


def test_helpers_beside_a_helmfile_can_be_included(tmp_path: Path) -> None:
    found = read(
        tmp_path, 'releases: [{name: {{ include "n" . }}, chart: ./x}]\n', **{"_h.tpl": '{{ define "n" }}made{{ end }}'}
    )

    assert [each.name for each in found.origins] == ["made"]


def test_the_tag_of_a_git_chart_is_its_version(tmp_path: Path) -> None:
    found = read(tmp_path, "releases: [{name: a, chart: 'git::ssh://git@git.example.org/r.git?ref=v1'}]\n")

    assert isinstance(found.origins[0].source, ChartSource)
    assert (found.origins[0].source.repository, found.origins[0].version) == ("ssh://git@git.example.org/r.git", "v1")
