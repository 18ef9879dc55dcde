"""Whom an inline manifest reaches."""

from pathlib import Path

import pytest

from firstlight.model.diagnostic import Severity
from firstlight.render.inline import edited_file

TEMPLATE = """\
kind: Cluster
name: home
kubernetes: {version: v1.35.0}
talos: {version: v1.13.0}
patches:
  - {name: all, file: patches/all.yaml}
---
kind: ControlPlane
machines: [430d882a-51a8-48b3-ab00-2a2b3c4d5e6f]
patches:
  - {name: cp, file: patches/cp.yaml}
---
kind: Workers
machines: [430d882a-51a8-48b3-ab00-2a2b3c4d5e60]
patches:
  - {name: worker, file: patches/worker.yaml}
"""
ENTRY = """\
cluster:
  inlineManifests:
    - name: {name}
      contents: |
        apiVersion: v1
        kind: Namespace
        metadata: {{name: {name}}}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "patches").mkdir()
    (tmp_path / "template.yaml").write_text(TEMPLATE)
    (tmp_path / "patches" / "cp.yaml").write_text(ENTRY.format(name="there"))
    for name in ("all", "worker"):
        (tmp_path / "patches" / f"{name}.yaml").write_text("machine: {nodeLabels: {a: b}}\n")
    return tmp_path


def test_the_control_plane(repo: Path) -> None:
    found = edited_file.reach_of(repo, "patches/cp.yaml", ENTRY.format(name="new"), name="new")

    assert (found.clusters, found.others, found.diagnostics) == (("home",), (), ())


def test_a_patch_of_all_machines_reaches_the_control_plane(repo: Path) -> None:
    found = edited_file.reach_of(repo, "patches/all.yaml", ENTRY.format(name="new"), name="new")

    assert found.clusters == ("home",)
    assert [(each.name, [one.name for one in each.objects]) for each in found.others] == [("there", ["there"])]


def test_workers_ignore_it(repo: Path) -> None:
    found = edited_file.reach_of(repo, "patches/worker.yaml", ENTRY.format(name="new"), name="new")

    assert found.clusters == ()
    (diagnostic,) = found.diagnostics
    assert diagnostic.severity is Severity.ERROR
    assert diagnostic.message == "Talos ignores the inline manifest new on workers"


def test_the_same_name_in_another_file(repo: Path) -> None:
    found = edited_file.reach_of(repo, "patches/all.yaml", ENTRY.format(name="there"), name="there")

    (diagnostic,) = found.diagnostics
    assert diagnostic.severity is Severity.ERROR
    assert "the inline manifest there is there twice" in diagnostic.message


def test_a_file_that_nothing_names(repo: Path) -> None:
    found = edited_file.reach_of(repo, "patches/lost.yaml", ENTRY.format(name="new"), name="new")

    (diagnostic,) = found.diagnostics
    assert (diagnostic.severity, diagnostic.message) == (
        Severity.WARNING,
        "no cluster of this repo takes its machine config from this file",
    )


def test_nothing_is_written(repo: Path) -> None:
    edited_file.reach_of(repo, "patches/lost.yaml", ENTRY.format(name="new"), name="new")

    assert not (repo / "patches" / "lost.yaml").exists()


@pytest.mark.parametrize(("kind", "clusters"), [("controlplane", ("home",)), ("worker", ())])
def test_a_whole_config_says_itself_whom_it_is_for(tmp_path: Path, kind: str, clusters: tuple[str, ...]) -> None:
    config = f"version: v1alpha1\nmachine: {{type: {kind}, network: {{hostname: a}}}}\n"
    text = config + ENTRY.format(name="new").replace("cluster:\n", "cluster:\n  clusterName: home\n")
    (tmp_path / "talos").mkdir()
    (tmp_path / "talos" / "a.yaml").write_text(config)

    found = edited_file.reach_of(tmp_path, "talos/a.yaml", text, name="new")

    assert found.clusters == clusters
    assert [each.message for each in found.diagnostics] == (
        [] if clusters else ["Talos ignores the inline manifest new on workers"]
    )
