"""Helmfiles that are broken, or written to do harm: diagnostics, and bounded time."""

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.repo import helmfile
from firstlight.repo.reader_result import ReaderResult
from tests.unit.repo.scripts import repos

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9)
)


def read(tmp_path: Path, **files: str) -> ReaderResult:
    return helmfile.read(repos.write(tmp_path, {name.replace("__", "/"): text for name, text in files.items()}))


MANY = ", ".join(f"e{n}: {{}}" for n in range(500))
HARM: dict[str, dict[str, str]] = {
    "bomb": {"helmfile.yaml": BOMB + "releases: *i\n"},
    "bomb of values": {
        "helmfile.yaml.gotmpl": "environments: {default: {values: [bomb.yaml]}}\n---\n"
        "releases: [{name: {{ .Values | toJson }}}]\n",
        "bomb.yaml": BOMB,
    },
    "endless loop": {"helmfile.yaml.gotmpl": "releases:\n{{ range until 100000 }}\n  - {name: a{{ . }}}\n{{ end }}\n"},
    "endless include": {
        "helmfile.yaml.gotmpl": '{{ define "x" }}{{ include "x" . }}{{ end }}releases: [{{ include "x" . }}]\n'
    },
    "expressions that grow": {
        "helmfile.yaml": "releases:\n" + "  - {name: a, chart: '{{ .Release.Name }}{{ .Release.Chart }}'}\n" * 50
    },
    "environments": {"helmfile.yaml": f"environments: {{{MANY}}}\n---\nreleases: [{{name: a, chart: ./x}}]\n"},
    "everybody leads to everybody": {
        f"helmfile.d/{n}.yaml": f"helmfiles: [{', '.join(f'{m}.yaml' for m in range(12) if m != n)}]\n"
        for n in range(12)
    },
    "depth": {"helmfile.yaml": "x: " + "[" * 5000},
    "parts": {"helmfile.yaml": "---\n" * 5000},
    "inheritance": {
        "helmfile.yaml": "templates: {t: {inherit: [{template: t}, {template: u}]}, u: {inherit: [{template: t}]}}\n"
        "releases: [{name: a, chart: ./x, inherit: [{template: t}]}]\n"
    },
    "bases": {"helmfile.yaml": "bases: [helmfile.yaml, b.yaml]\n", "b.yaml": "bases: [helmfile.yaml]\n"},
    "releases": {"helmfile.yaml": "releases:\n" + "  - {name: a, chart: ./x, values: [{a: 1}], needs: [b]}\n" * 3000},
}


@pytest.mark.parametrize("name", HARM)
def test_harm_is_bounded(name: str, tmp_path: Path) -> None:
    tree = repos.write(tmp_path, HARM[name])
    start = time.process_time()

    helmfile.read(tree)

    assert time.process_time() - start < 20


def test_nothing_outside_of_the_repo_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text("token: hunter2\nreleases: [{name: leaked, chart: ./x}]\n")
    text = """environments: {default: {values: [../secret.yaml, /etc/hostname], secrets: [../secret.yaml]}}
helmfiles: [../secret.yaml, ../../*/secret.yaml]
bases: [../secret.yaml]
---
releases:
  - name: a
    chart: ../secret
    values:
      - ../secret.yaml
      - '{{ readFile "../secret.yaml" | toJson }}'
      - '{{ readFile "/etc/hostname" }}'
      - '{{ exec "cat" (list "../secret.yaml") }}'
    hooks: [{events: [postsync], command: kubectl, args: [apply, -f, ../secret.yaml]}]
"""
    found = read(tmp_path / "repo", **{"helmfile.yaml": text})

    assert "hunter2" not in repr(found) + repr([each.definition for each in found.origins])
    assert {each.name for each in found.origins} == {"a", "secret"}


def test_values_of_encrypted_files_are_kept_nowhere(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        **{
            "helmfile.yaml.gotmpl": "environments: {default: {values: [v.yaml], secrets: [s.yaml]}}\n---\n"
            "releases: [{name: a, chart: ./x, version: {{ .Values.inner.key }}, values: [{k: {{ .Values.plain }}}]}]\n",
            "s.yaml": "inner: {key: 'ENC[AES256_GCM,data:c2VjcmV0]'}\nsops: {mac: x}\n",
            "v.yaml": "plain: 'ENC[AES256_GCM,data:c2VjcmV0]'\nsops: {mac: x}\n",
        },
    )

    (release,) = found.origins
    assert "c2VjcmV0" not in repr(found)
    assert "encrypted in s.yaml" in release.doubt


KEYS = st.sampled_from(
    ["releases", "environments", "helmfiles", "bases", "repositories", "templates", "hooks", "values", "name", "chart",
     "needs", "inherit", "set", "secrets", "labels", "installed", "condition", "version", "default", "path",
     "helmDefaults", "args", "command", "events", "selectors", "commonLabels", "namespace", "template", "except"]
)  # fmt: skip
TEXTS = st.sampled_from(["a", "./x", "{{ .Values.a }}", "{{ .Release.Name }}", "{{", "*.yaml", ""])
LEAVES: st.SearchStrategy[Any] = st.one_of(st.none(), st.booleans(), st.integers(-3, 3), TEXTS)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=25,
)


@settings(max_examples=80)
@given(st.dictionaries(KEYS, TREES, max_size=5), st.booleans())
def test_any_helmfile_is_read_or_diagnosticed(
    tmp_path_factory: pytest.TempPathFactory, value: dict[str, Any], is_template: bool
) -> None:
    name = "helmfile.yaml.gotmpl" if is_template else "helmfile.yaml"
    root = tmp_path_factory.mktemp("repo")

    found = read(root, **{name: yaml.safe_dump(value)})

    assert all(diagnostic.message and "\n" not in diagnostic.message for diagnostic in found.diagnostics)
