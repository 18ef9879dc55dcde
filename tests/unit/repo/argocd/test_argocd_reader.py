"""What callers can rely on: embedded objects, the names of clusters, inexact work trees."""

from pathlib import Path

import yaml

from firstlight.model.cluster import Engine
from firstlight.model.place import Place
from firstlight.repo import argocd
from firstlight.repo.manifest import Manifest
from firstlight.repo.work_tree import WorkTree

URL = "https://git.example.org/team/platform"
APP = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: {name}, namespace: argocd}}
spec:
  destination: {{name: in-cluster, namespace: x}}
  source: {{repoURL: "{url}", path: {path}}}
"""


def write(root: Path, **files: str) -> WorkTree:
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return WorkTree(root)


def test_objects_that_another_reader_sees_are_followed_into_the_tree(tmp_path: Path) -> None:
    tree = write(tmp_path, apps__web=APP.format(name="web", url=URL, path="none"), config="a: 1")
    root = Manifest(yaml.safe_load(APP.format(name="root", url=URL, path="apps")), Place("machine.yaml.j2", 7))
    other = Manifest({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}}, Place("machine.yaml.j2", 1))

    found = argocd.of_manifests(tree, [other, root])

    assert [(each.id, str(each.place), each.parent) for each in found.origins] == [
        ("application/argocd/root", "machine.yaml.j2:7", ""),
        ("application/argocd/web", "apps/web.yaml:1", "application/argocd/root"),
    ]
    assert [(each.name, each.engine, each.path) for each in found.clusters] == [("", Engine.ARGOCD, "apps")]


def test_a_tree_without_argo_cd_has_nothing(tmp_path: Path) -> None:
    found = argocd.read(write(tmp_path, a="kind: ConfigMap", b="{{ no yaml"))

    assert not [*found.clusters, *found.origins, *found.unreached, *found.diagnostics]


def test_files_that_are_broken_do_not_hide_others(tmp_path: Path) -> None:
    tree = write(
        tmp_path,
        a="# argoproj.io/v1alpha1\n{{ no yaml",
        b=APP.format(name="b", url="https://charts.example.org", path="x"),
    )

    found = argocd.read(tree)

    assert [each.name for each in found.origins] == ["b"]
    assert [each.place.path for each in tree.diagnostics] == ["a.yaml"]


def test_templates_of_charts_are_not_read_as_yaml(tmp_path: Path) -> None:
    tree = write(tmp_path, chart__Chart="name: x", chart__templates__a="# argoproj.io/v1alpha1\nname: {{ .x }}\n{{ y")

    argocd.read(tree)

    assert tree.diagnostics == ()


def test_windows_line_ends_and_a_byte_order_mark_are_read(tmp_path: Path) -> None:
    text = APP.format(name="windows", url="https://charts.example.org", path="x").replace("\n", "\r\n")
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbf" + text.encode())

    found = argocd.read(WorkTree(tmp_path))

    assert [each.name for each in found.origins] == ["windows"]
