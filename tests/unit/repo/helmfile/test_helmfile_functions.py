"""The expressions of yq that are answered without running it."""

import pytest

from firstlight.repo.go_template import GoTemplateError, NotKnownBeforeRun
from firstlight.repo.helmfile import rendered_files

FILE = """kind: HelmRelease
metadata: {name: web, labels: {"a.b/c": d}}
spec:
  values: {a: [1, {b: yes}]}
  version: 1.10
---
kind: OCIRepository
spec: {ref: {tag: v2}}
"""


def ask(*arguments: str) -> str:
    return rendered_files.evaluate_yq(arguments, lambda path: FILE)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("select(documentIndex == 0) | .spec.values", "a:\n- 1\n- b: 'yes'\n"),
        ("select(di == 1).spec.ref.tag", "v2\n"),
        ('select(.kind == "OCIRepository") | .spec.ref.tag', "v2\n"),
        ("select(.kind == 'HelmRelease') | .spec.values.a[1].b", "yes\n"),
        ('select(.kind == "HelmRelease") | .metadata.labels["a.b/c"]', "d\n"),
        ('select(.kind == "HelmRelease") | select(.metadata.name == "web") | .kind', "HelmRelease\n"),
        ('select(di == 0) | .spec.missing // "x"', "x\n"),
        ("select(di == 0) | .spec.missing // {}", "{}\n"),
        ("select(di == 0) | .spec.missing", "null\n"),
        ("select(di == 7) | .spec", ""),
        (".kind", "HelmRelease\n---\nOCIRepository\n"),
    ],
)
def test_paths_and_selections_are_answered(expression: str, wanted: str) -> None:
    assert ask(expression, "x.yaml") == wanted


def test_flags_that_change_nothing_are_passed_over() -> None:
    assert ask("ea", "-r", "-e", "-o", "yaml", "select(di == 1).kind", "x.yaml") == "OCIRepository\n"


def test_standard_input_is_read_where_there_is_no_file() -> None:
    assert rendered_files.evaluate_yq([".a"], lambda path: "", "a: b") == "b\n"


@pytest.mark.parametrize(
    "arguments",
    [(".a | keys", "x"), (".a[]", "x"), ("-o", "json", ".a", "x"), (".a + .b", "x"), (".a",), (), ("env(X)", "x"),
     (".a", "x", "y"), ("load(\"/etc/passwd\")", "x")],
)  # fmt: skip
def test_everything_else_is_not_known(arguments: tuple[str, ...]) -> None:
    with pytest.raises(NotKnownBeforeRun):
        ask(*arguments)


def test_a_file_without_yaml_is_an_error() -> None:
    with pytest.raises(GoTemplateError):
        rendered_files.evaluate_yq([".a", "x"], lambda path: "")
