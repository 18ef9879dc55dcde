"""A tree in which some files are others than on the disk."""

import gc
import weakref
from pathlib import Path

from firstlight.document import yaml_reader
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.work_tree import SIZE
from tests.unit.repo.trees import make


def test_files(tmp_path: Path) -> None:
    below = make(tmp_path, {"a/one.yaml": "x: 1\n", "a/two.yaml": "x: 2\n", "b.txt": "b"})

    tree = OverlaidTree(below, {"a/two.yaml": b"x: 3\n", "b.txt": None, "c/d/new.yaml": b"x: 4\n"})

    assert tree.files == ("a/one.yaml", "a/two.yaml", "c/d/new.yaml")
    assert tree.listing(".") == ("a/", "c/")
    assert [tree.documents(each)[0].value["x"] for each in tree.files] == [1, 3, 4]
    assert (tree.bytes("b.txt"), tree.is_file("b.txt"), tree.text("a/two.yaml")) == (None, False, "x: 3\n")
    assert [(each.code, each.place.path) for each in tree.diagnostics] == [("file-missing", "b.txt")]
    assert below.files == ("a/one.yaml", "a/two.yaml", "b.txt")
    assert below.diagnostics == ()
    assert tree.root == below.root


def test_what_is_the_same_is_parsed_once(tmp_path: Path) -> None:
    below = make(tmp_path, {"a.yaml": "x: 1\n", "broken.yaml": "x: [\n"})

    tree = OverlaidTree(below, {"b.yaml": b"x: 2\n"})

    assert tree.documents("a.yaml")[0] is below.documents("a.yaml")[0]
    tree.documents("broken.yaml")
    assert [each.place.path for each in tree.diagnostics] == ["broken.yaml"]


def test_one_over_another(tmp_path: Path) -> None:
    below = make(tmp_path, {"a.yaml": "x: 1\n", "b.yaml": "x: 2\n"})

    tree = OverlaidTree(OverlaidTree(below, {"a.yaml": b"x: 8\n"}), {"b.yaml": b"x: 9\n"})

    assert [tree.documents(each)[0].value["x"] for each in tree.files] == [8, 9]


def test_files_in_the_place_of_directories(tmp_path: Path) -> None:
    below = make(tmp_path, {"a/one.yaml": "", "b": ""})

    tree = OverlaidTree(below, {"a": b"file", "a/one.yaml": None, "b/inner.yaml": b"", "b": None})

    assert tree.files == ("a", "b/inner.yaml")
    assert tree.is_dir("b")
    assert not tree.is_dir("a")


def test_links(tmp_path: Path) -> None:
    make(tmp_path, {"real/a.yaml": "x: 1\n"})
    (tmp_path / "old").symlink_to("real")
    below = make(tmp_path, {})

    tree = OverlaidTree(below, {"old": None}, links={"sub/new": "../real", "out": "../../etc/passwd"})

    assert tree.links == {"sub/new": "real"}
    assert tree.documents("sub/new/a.yaml")[0].value == {"x": 1}
    assert not tree.is_file("old/a.yaml")
    assert tree.bytes("out") is None
    assert ("link-outside", "out") in {(each.code, each.place.path) for each in tree.diagnostics}


def test_too_large(tmp_path: Path) -> None:
    tree = OverlaidTree(make(tmp_path, {}), {"a.yaml": b" " * (SIZE + 1)})

    assert tree.bytes("a.yaml") is None
    assert tree.contents("a.yaml") == yaml_reader.YamlContents(())
    assert tree.diagnostics[0].code == "file-too-large"


def test_a_platform_is_read_from_it(tmp_path: Path) -> None:
    files = {
        "clusters/home/flux-system/gotk-sync.yaml": SYNC,
        "clusters/home/app.yaml": RELEASE.format(version="1.0.0"),
    }
    below = make(tmp_path, files)

    tree = OverlaidTree(below, {"clusters/home/app.yaml": RELEASE.format(version="2.0.0").encode()})

    assert [_versions(each) for each in (platform_reader.read(tmp_path), platform_reader.read_tree(tree))] == [
        ["1.0.0"],
        ["2.0.0"],
    ]


def test_nothing_holds_a_tree_that_was_read(tmp_path: Path) -> None:
    below = make(tmp_path, {"clusters/home/sync.yaml": SYNC, "clusters/home/web.yaml": RELEASE.format(version="1.0.0")})
    tree = OverlaidTree(below, {"clusters/home/web.yaml": RELEASE.format(version="2.0.0").encode()})
    held = weakref.ref(tree)

    platform_reader.read_tree(tree)
    del tree
    gc.collect()

    assert held() is None


def _versions(read: Platform) -> list[str]:
    return [each.version for each in read.components if each.name == "web"]


SYNC = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {url: "https://git.example.org/fleet", ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {path: ./clusters/home, sourceRef: {kind: GitRepository, name: flux-system}}
"""
RELEASE = """\
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {{name: charts, namespace: shop}}
spec: {{url: "https://charts.example.org"}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {{name: web, namespace: shop}}
spec:
  chart: {{spec: {{chart: web, version: {version}, sourceRef: {{kind: HelmRepository, name: charts}}}}}}
"""
