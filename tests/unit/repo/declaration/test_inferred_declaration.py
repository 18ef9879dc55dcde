"""What init writes: read again, it is the same platform; run again, it is the same file."""

import dataclasses
from pathlib import Path

import pytest

from firstlight.model.cluster import Cluster
from firstlight.model.component import Certainty, Component
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader
from firstlight.repo.declaration import declaration_form, inferred_declaration
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import WorkTree
from tests import others

TOP = Path(__file__).parents[4]
OWN = sorted(
    each
    for each in (TOP / "tests" / "scenarios" / "platform").glob("*/repo")
    if not (each / declaration_form.FILE).exists()
)
REPOS = [*(pytest.param(each, id=each.parent.name) for each in OWN)]
MORE = others.EACH


@pytest.mark.parametrize("repo", REPOS + MORE)
def test_round_trip(repo: Path) -> None:
    tree = WorkTree(repo)
    before = platform_reader.read_tree(tree)
    text = inferred_declaration.text(before, {})

    after = platform_reader.read_tree(OverlaidTree(tree, {declaration_form.FILE: text.encode()}))

    assert after.declared is not None
    assert {each.code for each in after.diagnostics} <= {each.code for each in before.diagnostics}
    assert compared(after) == compared(before)
    assert inferred_declaration.text(dataclasses.replace(after, declared=None), {}).splitlines() == text.splitlines()


@pytest.mark.parametrize("repo", REPOS)
def test_names_stay_when_something_else_comes(repo: Path) -> None:
    tree = WorkTree(repo)
    before = platform_reader.read_tree(tree)
    text = inferred_declaration.text(before, {})
    more = {"aaa/README.md": b"# Notes\n", "zzz/values.yaml": b"replicas: 2\n"}

    after = platform_reader.read_tree(OverlaidTree(tree, more))

    assert inferred_declaration.text(after, {}) == text


@pytest.mark.parametrize("repo", REPOS + MORE)
def test_names_are_unique(repo: Path) -> None:
    platform = platform_reader.read(repo)

    for cluster in platform.clusters:
        names = [each.name for each in platform.components_of(cluster.name)]
        assert len(names) == len(set(names))


def test_one_declared_secret_hides_no_other(tmp_path: Path) -> None:
    """What the stores log in with is still known to be missing when one of them is declared."""
    (repo := tmp_path / "repo").mkdir()
    tree = WorkTree(repo)
    files = {
        "flux/gotk-sync.yaml": SYNC,
        "flux/stores.yaml": "---\n".join(STORE.format(name=each) for each in ("one", "two")).encode(),
    }
    declared = (HEAD + "secrets:\n- {name: one-login, namespace: store, data: {token: env:ONE}}\n").encode()

    secrets = platform_reader.read_tree(OverlaidTree(tree, {**files, declaration_form.FILE: declared})).secrets

    assert [(each.name, dict(each.data)) for each in secrets if each.name.endswith("login")] == [
        ("one-login", {"token": "env:ONE"}),
        ("two-login", {"token": ""}),
    ]


def test_a_name_of_another_component_is_refused(tmp_path: Path) -> None:
    (repo := tmp_path / "repo").mkdir()
    parts = {f"flux/{each}.yaml": PART % {b"name": each.encode()} for each in ("one", "two")}
    files = {"flux/gotk-sync.yaml": SYNC, **parts}
    declared = (HEAD + "components:\n  one: {from: flux/two.yaml}\n").encode()

    platform = platform_reader.read_tree(OverlaidTree(WorkTree(repo), {**files, declaration_form.FILE: declared}))

    assert "declared-name-taken" in {each.code for each in platform.diagnostics}
    assert {"one", "two"} <= {each.name for each in platform.components}


def compared(platform: Platform) -> tuple[object, ...]:
    """All that must be the same; places aside that are the declaration's own."""
    return (
        platform.engine,
        [cluster(each) for each in platform.clusters],
        [component(each) for each in platform.components],
        sorted(platform.secrets, key=lambda each: (each.namespace, each.name, each.cluster)),
        platform.unreached,
    )


def cluster(each: Cluster) -> Cluster:
    return dataclasses.replace(each, place=Place(""), said={})


def component(each: Component) -> Component:
    """What it is: whose it is may be a guess before, and is declared afterwards."""
    origins = tuple(dataclasses.replace(origin, doubt="", certainty=Certainty.DECLARED) for origin in each.origins)
    return dataclasses.replace(each, needs=tuple(sorted(each.needs)), origins=origins)


HEAD = "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: home}\nclusters:\n  home: {path: flux}\n"
SYNC = b"""\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: https://git.example.org/home.git, ref: {branch: main}, interval: 1h}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./flux, sourceRef: {kind: GitRepository, name: flux-system}, interval: 1h, prune: true}
"""
STORE = """\
apiVersion: external-secrets.io/v1
kind: ClusterSecretStore
metadata: {{name: {name}}}
spec:
  provider:
    onepassword:
      auth: {{secretRef: {{connectTokenSecretRef: {{name: {name}-login, namespace: store, key: token}}}}}}
"""
PART = b"""\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %(name)s, namespace: flux-system}
spec: {path: ./apps/%(name)s, sourceRef: {kind: GitRepository, name: flux-system}, interval: 1h, prune: true}
"""
