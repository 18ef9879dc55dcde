"""Go templates, as topf has them."""

import time

import hypothesis
import pytest
from hypothesis import strategies

from firstlight.repo.go_template import unknown_values
from firstlight.repo.talos import machine_templates
from firstlight.repo.talos.template_tags import JinjaError

DATA = {"ClusterName": "wood", "Data": {"region": "north", "list": [1, 2]}, "Node": {"Role": "worker"}}


def lines(text: str) -> str:
    found = machine_templates.read_go_template(text, DATA)
    return unknown_values.restore(found.text, found.unknowns)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: {{ .ClusterName }}\n", "a: wood\n"),
        ("a: {{- .Data.region | upper -}}\n", "a: NORTH\n"),
        ("a: {{ .Data.missing }}\n", "a: {{ .Data.missing }}\n"),
        ("a: {{ .Data.missing | default 1 }}\n", "a: {{ .Data.missing | default 1 }}\n"),
        ('a: {{ env "HOME" }}\n', 'a: {{ env "HOME" }}\n'),
        ("a: {{ . }}\n", "a: {{ . }}\n"),
        ("{{ range .Data.list }}\n- {{ . }}{{ .ClusterName }}\n{{ end }}\n", "\n- {{ . }}{{ .ClusterName }}\n\n"),
        ("{{ with .Data }}\n{{ .ClusterName }}\n{{ end }}{{ .ClusterName }}\n", "\n{{ .ClusterName }}\nwood\n"),
        ('{{ if eq .Node.Role "worker" }}\na: 1\n{{ else }}\nb: 2\n{{ end }}\n', "\na: 1\n\n\n\n"),
        ('{{ if eq .Node.Role "x" }}\na\n{{ else if .Unknown }}\nb\n{{ else }}\nc\n{{ end }}\n', "\n\n\nb\n\n\n\n"),
        ("{{/* a comment }} */}}a\n{{ $x := .ClusterName }}b\n", "a\nb\n"),
        ('{{ define "x" }}\nhidden\n{{ end }}a\n', "\n\na\n"),
        ("{{ `}}` }}\n", "}}\n"),
    ],
)
def test_what_is_known_is_put_in_and_every_line_stays(text: str, expected: str) -> None:
    assert lines(text) == expected


@pytest.mark.parametrize(
    "text",
    ["{{ a", '{{ "a }}', "{{ if .X }}" * 100, "a" * (machine_templates.GO_TEMPLATE_SIZE + 1), '{{ "' + '\\"' * 100_000],
)
def test_what_is_no_template_is_an_error_in_time(text: str) -> None:
    began = time.process_time()

    with pytest.raises(JinjaError):
        machine_templates.read_go_template(text, DATA)

    assert time.process_time() - began < 5


def test_a_template_cannot_grow() -> None:
    found = machine_templates.read_go_template('{{ repeat 3000000 "x" }}\n' * 20, DATA)

    assert len(found.text) < 4_000_000


@hypothesis.given(strategies.text('ab{}-."`/* \nifend', max_size=80))
def test_any_text_keeps_its_lines_or_is_refused(text: str) -> None:
    try:
        found = machine_templates.read_go_template(text, DATA)
    except JinjaError:
        return
    assert found.text.count("\n") == text.count("\n")
