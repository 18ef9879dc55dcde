"""``firstlight render`` as people type it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from firstlight.cli import main
from firstlight.render.renderer_programs import RendererPrograms
from tests.integration.render import repos
from tests.integration.render.test_cache import platform
from tests.integration.render.test_flux_repo import CHART, CONFIG, release


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, render_programs: RendererPrograms) -> Path:
    """A repo, and a cache of its own beside the programs of this computer."""
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("FIRSTLIGHT_HELM", str(render_programs.helm))
    monkeypatch.setenv("FIRSTLIGHT_KUSTOMIZE", str(render_programs.kustomize))
    return platform(tmp_path / "repo")


def run(root: Path, *words: str) -> int:
    return main.run(["render", *words, "--repo", str(root)])


def documents(text: str) -> Sequence[dict[str, Any]]:
    return [each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each]


def test_one_component_is_yaml_and_the_rest_is_on_standard_error(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(root, "a") == 0
    said = capsys.readouterr()
    names = [each["metadata"]["name"] for each in documents(said.out)]

    assert sorted(names) == ["own", "shared"]
    assert said.err.startswith("a in one, gitops   2 objects")


def test_all_components_are_a_table_and_the_second_time_cached(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root) == 0
    first = capsys.readouterr()
    assert run(root) == 0
    second = capsys.readouterr()

    lines = first.out.splitlines()
    assert [line.split()[0] for line in lines] == ["component", "a", "b", "first", "flux-system", "releases", "second"]
    assert "0 of them from the cache" in first.err
    assert "6 of them from the cache" in second.err
    assert second.out.count("cached") == 6


def test_json_has_objects_for_one_and_numbers_for_all(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "a", "--output", "json") == 0
    (one,) = json.loads(capsys.readouterr().out)["renditions"]
    assert [each["kind"] for each in one["objects"]] == ["ConfigMap", "ConfigMap"]
    assert run(root, "-o", "json") == 0
    assert {each["component"]: each["objects"] for each in json.loads(capsys.readouterr().out)["renditions"]}["a"] == 2


def test_crds_alone_each_once_with_conflicts(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other: dict[str, Any] = {**cast(dict[str, Any], CHART["charts/hello/crds/things.yaml"])}
    other["spec"] = {**other["spec"], "versions": [{"name": "v2", "served": True, "storage": True}]}
    repos.write(root, {"b/crd.yaml": other})
    assert run(root, "--crds") == 0
    said = capsys.readouterr()

    assert [each["kind"] for each in documents(said.out)] == ["CustomResourceDefinition"]
    assert "things.example.org" in said.err
    assert "v2 by b and v1 by first" in said.err


def test_secrets_are_masked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repos.write(root, {
        "a/own.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {word: c4nary}\n",
    })  # fmt: skip
    for words in (["a"], ["a", "-o", "json"], ["-o", "yaml"]):
        assert run(root, *words) == 0
        said = capsys.readouterr()
        assert "c4nary" not in said.out + said.err
        assert "•••" in said.out


def test_what_cannot_be_rendered_is_told_and_the_exit_code_is_1(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repos.write(root, {"a/kustomization.yaml": {"resources": ["gone.yaml"]}})
    assert run(root, "a") == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "a/kustomization.yaml" in said.err
    assert run(root) == 1


def test_names_that_are_wrong(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(root, "frist") == 64
    assert "There is first" in capsys.readouterr().err
    assert run(root, "a", "--side", "bootstrap") == 64
    assert run(root, "a", "--cluster", "nowhere") == 64
    assert run(root, "a", "--offline", "--refresh") == 64


def test_a_component_of_several_clusters_needs_one(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sync = (root / "clusters/one/flux-system/gotk-sync.yaml").read_text().replace("clusters/one", "clusters/two")
    own = (root / "clusters/one/a.yaml").read_text()
    repos.write(root, {"clusters/two/flux-system/gotk-sync.yaml": sync, "clusters/two/a.yaml": own})
    assert run(root, "a") == 64
    assert "--cluster" in capsys.readouterr().err
    assert run(root, "a", "--cluster", "two") == 0


def test_without_the_programs_it_says_how_to_get_them(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("FIRSTLIGHT_KUSTOMIZE")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert run(root, "a") == 1
    assert "firstlight tools install kustomize" in capsys.readouterr().err


def test_owner_labels(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repos.write(root, {"releases/second.yaml": release("second"), "a/own.yaml": CONFIG % ("own", "1")})
    assert run(root, "a", "--owner-labels") == 0
    assert "kustomize.toolkit.fluxcd.io/name: a" in capsys.readouterr().out
