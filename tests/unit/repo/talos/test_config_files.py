"""Files with variables, as talhelper has them."""

import time
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies

from firstlight.repo.go_template import unknown_values
from firstlight.repo.talos import config_files
from firstlight.repo.work_tree import WorkTree


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: ${A}\n", "a: one\n"),
        ("a: $A\n", "a: one\n"),
        ("a: ${B}\n", "a: ${B}\n"),
        ("a: ${B:-two}\n", "a: two\n"),
        ("a: ${B-two}\n", "a: two\n"),
        ("a: ${A:-two}\n", "a: one\n"),
        ("a: $$A $${A}\n", "a: $A ${A}\n"),
        ("# ${A}\n", "# ${A}\n"),
        ("a: 5$ ${} ${1}\n", "a: 5$ ${} ${1}\n"),
    ],
)
def test_variables_are_put_in_as_envsubst_does(text: str, expected: str) -> None:
    found, unknowns = config_files.substitute(text, {"A": "one"})

    assert unknown_values.restore(found, unknowns) == expected


@hypothesis.given(strategies.text("aA${}:-#\n ", max_size=60), strategies.text(max_size=10))
def test_variables_change_no_line(text: str, value: str) -> None:
    found, _ = config_files.substitute(text, {"A": value})

    assert found.count("\n") == text.count("\n")


def test_many_variables_take_little_time() -> None:
    began = time.process_time()

    config_files.substitute("a: ${B}\n" * 100_000, {})

    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ("path", "stem"),
    [("a/b.yaml", "b"), ("a/b.yaml.j2", "b"), ("b.yml.tpl", "b"), ("192.0.2.1.yaml.j2", "192.0.2.1"), ("b", "b")],
)
def test_the_stem_of_a_file_has_no_endings(path: str, stem: str) -> None:
    assert config_files.stem(path) == stem


def test_a_template_that_is_no_yaml_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "a.yaml.j2").write_text("machine:\n  a: {{ x }}: {{ y }}: [\n")

    found = config_files.read_talos_file(WorkTree(tmp_path), "a.yaml.j2")

    assert not found.documents
    assert [(each.severity.value, each.code) for each in found.diagnostics] == [
        ("unknown", "talos-variable-unknown"),
        ("unknown", "talos-template-not-yaml"),
    ]
