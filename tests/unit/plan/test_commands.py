"""``plan``, ``graph`` and ``boundary`` as people type them: what is printed, and which exit code it means."""

import dataclasses
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from firstlight import errors
from firstlight.cli import main, renderers, which_repo
from firstlight.model.cluster import Cluster
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from tests.unit.plan import platforms

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "plan"
HYBRID = {
    "clusters": {"home": {"engine": "flux"}},
    "components": {"cilium": {"phase": "core", "side": "hybrid", "role": "cni", "chart": "cilium"}},
}
CONFIG = "{apiVersion: v1, kind: ConfigMap, metadata: {name: cilium-config, namespace: kube-system}, data: {a: '%s'}}"


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Lets commands read and render a platform of a test instead of a repo."""

    def give(platform: Platform, renditions: Any = ()) -> None:
        monkeypatch.setattr(which_repo, "platform", lambda root: platform)
        monkeypatch.setattr(
            renderers,
            "rendered",
            lambda platform, *, wanted, offline, components=None: renditions if wanted is not False else (),
        )

    return give


def scenario(name: str) -> Platform:
    return platforms.load(SCENARIOS / name / "platform.yaml")[0]


def two_clusters() -> Platform:
    platform = scenario("helmfile-flux")
    other = Cluster(name="other", place=Place("talos.yaml", 1))
    return dataclasses.replace(platform, clusters=(*platform.clusters, other))


def test_a_plan_that_can_run_exits_with_0(given: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given(scenario("helmfile-flux"))

    assert main.run(["plan", "--no-render"]) == 0
    assert capsys.readouterr().out.startswith("home   can run")


def test_a_blocked_plan_exits_with_3(given: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given(scenario("talos-beside"))

    assert main.run(["plan", "--no-render", "--output", "json"]) == 3
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert plan["blocked"] is True


def test_a_cluster_that_is_not_there_is_a_usage_error(given: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given(scenario("helmfile-flux"))

    assert main.run(["plan", "away", "--no-render"]) == 64
    assert "there is no cluster away" in capsys.readouterr().err


def test_without_programs_a_plan_is_made_without_rendering(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def missing() -> Any:
        raise errors.ToolError("rendering needs helm", hint="firstlight tools install helm")

    monkeypatch.setattr(which_repo, "platform", lambda root: scenario("helmfile-flux"))
    monkeypatch.setattr(renderers, "programs", missing)

    assert main.run(["plan"]) == 0
    assert "nothing is rendered: rendering needs helm. firstlight tools install helm" in capsys.readouterr().err
    assert main.run(["plan", "--render"]) == 1


@pytest.mark.parametrize(
    ("name", "start"),
    [("a.svg", "<svg "), ("a.mmd", "flowchart TD"), ("a.dot", 'digraph "home"'), ("a.txt", "home   12 components")],
)
def test_the_name_of_the_file_says_what_is_drawn(
    given: Any, tmp_path: Path, name: str, start: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given(scenario("helmfile-flux"))

    assert main.run(["graph", "--out", str(tmp_path / name)]) == 0
    assert (tmp_path / name).read_text().startswith(start)
    assert "shows home: 12 components" in capsys.readouterr().err


def test_a_picture_goes_to_standard_output(given: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given(scenario("helmfile-flux"))

    assert main.run(["graph"]) == 0
    ElementTree.fromstring(capsys.readouterr().out)


def test_a_picture_shows_one_cluster(given: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given(two_clusters())

    assert main.run(["graph"]) == 64
    assert "Name one of home, other." in capsys.readouterr().err
    assert main.run(["graph", "home", "--format", "mermaid"]) == 0


@pytest.mark.parametrize(("value", "code"), [("1", 0), ("2", 2)])
def test_differences_exit_with_2(given: Any, capsys: pytest.CaptureFixture[str], value: str, code: int) -> None:
    sides = {"bootstrap": CONFIG % 1, "gitops": CONFIG.replace("%s", value)}
    given(*platforms.make({**HYBRID, "renditions": {"cilium": sides}}))

    assert main.run(["boundary"]) == code
    assert ("value a 1 › 2" in capsys.readouterr().out) is (code == 2)
    assert main.run(["boundary", "--component", "cilium", "-o", "json"]) == code
    assert json.loads(capsys.readouterr().out)["equal"] is (code == 0)


def test_a_component_of_one_side_has_no_boundary(given: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given(scenario("helmfile-flux"))

    assert main.run(["boundary", "--component", "grafana"]) == 64
    assert "grafana is applied by one side only" in capsys.readouterr().err
    assert main.run(["boundary", "--component", "grafna"]) == 64
    assert "There is grafana" in capsys.readouterr().err


def test_nothing_on_both_sides_is_no_difference(given: Any, capsys: pytest.CaptureFixture[str]) -> None:
    given(scenario("no-engine"))

    assert main.run(["boundary"]) == 0
    assert "nothing is applied by both" in capsys.readouterr().out
