"""Repos that are broken in any way: diagnostics, and never an exception."""

import random
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstlight.model.place import Place
from firstlight.repo import flux, kustomize
from firstlight.repo.flux import flux_tree
from firstlight.repo.work_tree import WorkTree
from tests.unit.repo.trees import make

SCENARIOS = Path(__file__).parents[3] / "scenarios"
JUNK: list[Any] = [
    None,
    5,
    -1.5,
    True,
    "",
    "x",
    "../..",
    "${x",
    "\x00",
    [],
    {},
    [None],
    [[]],
    {"a": None},
    ["x", 5],
    {"": []},
]


def mutated(value: Any, draw: random.Random, rate: float) -> Any:
    """A value with some of its parts replaced by junk."""
    if draw.random() < rate:
        return draw.choice(JUNK)
    if isinstance(value, dict):
        found = {name: mutated(each, draw, rate) for name, each in value.items()}
        if found and draw.random() < rate:
            found[draw.choice(["patches", "path", "spec", "metadata", "$patch"])] = draw.choice(JUNK)
        return found
    if isinstance(value, list):
        return [mutated(each, draw, rate) for each in value]
    return value


def files_of(scenario: Path) -> dict[str, str]:
    root = scenario / "repo"
    return {
        str(each.relative_to(root)): each.read_text()
        for each in root.rglob("*")
        if each.is_file() and each.suffix in (".yaml", ".yml") and "templates" not in each.parts
    }


ALL = sorted(each.parent for each in SCENARIOS.glob("*/*/repo") if each.parent.parent.name in ("flux", "kustomize"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(st.sampled_from(ALL), st.integers(0, 2**32), st.sampled_from([0.01, 0.05, 0.2]))
def test_anything_may_be_wrong(
    tmp_path_factory: pytest.TempPathFactory, scenario: Path, seed: int, rate: float
) -> None:
    draw = random.Random(seed)
    changed = {}
    for path, text in files_of(scenario).items():
        documents = [mutated(each, draw, rate) for each in yaml.safe_load_all(text)]
        changed[path] = yaml.safe_dump_all(documents, allow_unicode=True)
    tree = make(tmp_path_factory.mktemp("repo"), changed)

    found = flux.read(tree)
    build = kustomize.build(tree, "app", generate=True)

    for each in (*found.diagnostics, *build.diagnostics):
        assert "\n" not in each.message
        assert each.place.path


def test_kustomizations_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flux_tree, "KUSTOMIZATIONS", 50)
    one = "kind: Kustomization\napiVersion: kustomize.toolkit.fluxcd.io/v1\nmetadata: {{name: k{n}, namespace: f}}\n"
    spec = "spec: {{path: ./d{n}, sourceRef: {{kind: GitRepository, name: g}}}}\n"
    files = {f"d{n}/k.yaml": (one + spec).format(n=n + 1) for n in range(100)}
    tree = make(tmp_path, {**files, "gotk-sync.yaml": (one + spec).format(n=0)})

    found = flux.read(tree)

    assert len(found.origins) == 50
    assert [each.code for each in found.diagnostics] == ["flux-cluster-too-large"]


def test_a_tree_that_grows_by_itself(tmp_path: Path) -> None:
    """Each pass finds another variable for the path of the next Kustomization."""
    text = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: k%d, namespace: f}
spec:
  path: ./d%d
  sourceRef: {kind: GitRepository, name: g}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: c%d}]}
"""
    files = {"gotk-sync.yaml": text % (0, 0, 99)}
    for n in range(12):
        # A ConfigMap that is known only after the next one is, which is known only after …
        files[f"d0/k{n}.yaml"] = text % (n + 1, n + 1, n + 1)
        value = f"${{V{n + 1}}}"
        files[f"d{n + 1}/c.yaml"] = (
            f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}, namespace: f}}\ndata: {{V{n}: '{value}x'}}\n"
        )
    tree = make(tmp_path, files)
    begin = time.process_time()

    found = flux.read(tree)

    assert time.process_time() - begin < 5
    assert any(each.code == "flux-variables-unsettled" for each in found.diagnostics)


def test_nothing_outside_is_read(tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret/a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: never}\n")
    text = "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: k, namespace: f}\n"
    tree = make(
        tmp_path / "repo",
        {
            "gotk-sync.yaml": text + "spec: {path: ./c, sourceRef: {kind: GitRepository, name: g}}\n",
            "c/k.yaml": text.replace("k,", "l,")
            + "spec: {path: ../secret, sourceRef: {kind: GitRepository, name: g}}\n",
            "c/m.yaml": text.replace("k,", "m,")
            + "spec: {path: ./link, components: [../../secret], sourceRef: {kind: GitRepository, name: g}}\n",
        },
    )
    (tmp_path / "repo/link").symlink_to(tmp_path / "secret")

    found = flux.read(WorkTree(tree.root))

    assert "never" not in repr(found)
    assert [each.objects for each in found.origins] == [(), (), ()]


def test_roots_that_others_know(tmp_path: Path) -> None:
    config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"
    tree = make(tmp_path, {"prod/a.yaml": config, "lab/a.yaml": config, "plain/x.txt": ""})
    place = Place("Taskfile.yaml", 7)

    found = flux.read(
        tree,
        roots=[
            flux.FluxRoot(path="./prod/", cluster="production", place=place),
            flux.FluxRoot(path="lab"),
            flux.FluxRoot(path="prod"),
            flux.FluxRoot(path="../x"),
            flux.FluxRoot(path="none", place=place),
        ],
    )

    assert [(each.name, each.path, each.place) for each in found.clusters] == [
        ("production", "prod", place),
        ("lab", "lab", Place("lab")),
        ("none", "none", place),
    ]
    assert [(each.code, each.place.path) for each in found.diagnostics] == [("flux-path-missing", "Taskfile.yaml")]
