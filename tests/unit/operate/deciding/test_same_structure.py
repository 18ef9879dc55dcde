"""When the base of a diff need not be read, since it describes the same platform."""

from pathlib import Path

import pytest

from firstlight.operate.deciding.same_structure import is_same
from firstlight.repo.overlaid import OverlaidTree
from firstlight.repo.work_tree import WorkTree

DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {a: b}}
spec: {replicas: 1}
"""


def same(tmp_path: Path, path: str, before: str | None, after: str | None) -> bool:
    (tmp_path / "other.yaml").write_text(DEPLOYMENT)
    disk = WorkTree(tmp_path)
    one, other = (OverlaidTree(disk, {path: None if each is None else each.encode()}) for each in (before, after))
    return is_same(one, other, [path])


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [("web.yaml", "replicas: 1", "replicas: 2"), ("web.yml", "spec:", "# a word\nspec:"), ("a/README.md", "web", "x")],
)
def test_fields_of_workloads_and_prose_say_nothing_of_structure(path: str, old: str, new: str, tmp_path: Path) -> None:
    assert same(tmp_path, path, DEPLOYMENT, DEPLOYMENT.replace(old, new))


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("web.yaml", "name: web", "name: other"),
        ("web.yaml", "a: b", "config.kubernetes.io/local-config: 'true'"),
        ("web.yaml", "spec:", "$patch: delete\nspec:"),
        ("web.yaml", "kind: Deployment", "kind: ["),
        ("web.yaml", "spec: {replicas: 1}", "spec: {}\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: a}"),
        ("kustomization.yaml", "replicas: 1", "replicas: 2"),
        ("deploy.sh", "replicas: 1", "replicas: 2"),
        ("Taskfile", "replicas: 1", "replicas: 2"),
    ],
)
def test_whatever_else_differs_may_say_something(path: str, old: str, new: str, tmp_path: Path) -> None:
    assert not same(tmp_path, path, DEPLOYMENT, DEPLOYMENT.replace(old, new))


@pytest.mark.parametrize(
    "kind", ["v1/ConfigMap", "helm.toolkit.fluxcd.io/v2/HelmRelease", "argoproj.io/v1/Application"]
)
def test_objects_that_others_are_made_by_are_structure(kind: str, tmp_path: Path) -> None:
    version, _, name = kind.rpartition("/")
    before = DEPLOYMENT.replace("apps/v1", version).replace("Deployment", name)

    assert not same(tmp_path, "web.yaml", before, before.replace("replicas: 1", "replicas: 2"))


@pytest.mark.parametrize(("before", "after"), [(None, DEPLOYMENT), (DEPLOYMENT, None)])
def test_files_that_come_or_go_are_structure(before: str | None, after: str | None, tmp_path: Path) -> None:
    assert not same(tmp_path, "web.yaml", before, after)
