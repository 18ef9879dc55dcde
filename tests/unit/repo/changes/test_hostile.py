"""Any bytes, before and after: never an exception, and what is machine config stays that."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.model.change import Change, ChangeVerb, Matter
from firstlight.repo.changes import repo_changes
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree

PATHS = (
    "talconfig.yaml", "talos/a.yaml.j2", "talos/b.yaml.tmpl", "apps/a.yaml", "apps/kustomization.yaml", "values.yaml",
    "helmfile.yaml.gotmpl", "Taskfile.yaml", "justfile", "run.sh", "a.json", ".mise.toml", "README.md", "x/y.bin",
    ".github/workflows/a.yaml", "charts/a/Chart.yaml", "charts/a/templates/b.yaml", "firstlight.yaml", "main.tf",
)  # fmt: skip
PIECES = (
    "a: 1\n", "- b\n", "---\n", "{{ if x }}\n", "{% for a in b %}\n", "{{ end }}\n", "# c\n", "a: [\n", "\t", "\0", "é",
    "kind: Secret\n", "apiVersion: v1\n", "metadata: {name: a}\n", "metadata: 1\n", "machine: {network: {a: 1}}\n",
    "cluster: []\n", "sops: {mac: a}\n", "patches: [{path: a.yaml, patch: 'a: b'}]\n", "spec: {values: 1}\n",
    "spec: {sources: [{helm: {values: 'a: ['}}]}\n", "items: [1, {a: 2}]\n", "kind: List\n", "nodes: {a: b}\n",
    "clusterName: a\n", "releases: [1]\n", "tasks: {a: [helm upgrade b --set c=d]}\n", "[1, 2]\n", "&a [*a]\n",
    "- {op: add, path: /machine/a, value: {b: 1}}\n", "- {op: remove, path: ''}\n", "data: {a: {b: []}}\n", "? [a]\n",
    "configMapGenerator: [{files: [1, a=b]}, 2]\n", "helmCharts: [1]\n", "env: [{name: A, value: $(B)}]\n", "<<: 1\n",
)  # fmt: skip
CONTENT = st.lists(st.sampled_from(PIECES), max_size=6).map(lambda each: "".join(each).encode()) | st.binary(
    max_size=60
)
FILES = st.dictionaries(st.sampled_from(PATHS), st.none() | CONTENT, max_size=5)


def found(before: Mapping[str, bytes | None], after: Mapping[str, bytes | None]) -> tuple[Change, ...]:
    with tempfile.TemporaryDirectory() as made:
        empty = WorkTree(Path(made))
        return repo_changes.changes(OverlaidTree(empty, before), OverlaidTree(empty, after), [*before, *after])


@settings(max_examples=150, deadline=None)
@given(FILES, FILES)
def test_never_an_exception(before: dict[str, bytes | None], after: dict[str, bytes | None]) -> None:
    for each in found(before, after):
        assert each.fields or each.verb in (ChangeVerb.MOVED, ChangeVerb.CHANGED) or each.doubt
        assert each.title
        for field in each.fields:
            assert not (field.is_secret and (field.before is not None or field.after is not None))
        if each.place.path.startswith("tal") and each.place.path in PATHS and each.doubt != _LEFT_OUT:
            assert each.matter in (Matter.MACHINE, Matter.OBJECT, Matter.SECRET, Matter.KUSTOMIZE)


@settings(max_examples=60, deadline=None)
@given(FILES)
def test_the_same_is_no_change(files: dict[str, bytes | None]) -> None:
    there = {path: data for path, data in files.items() if data is not None}

    assert found(there, there) == ()


_LEFT_OUT = found({}, {"a": None})[0].doubt
