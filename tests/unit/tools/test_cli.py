"""``firstlight tools`` as a user calls it, on a machine where nothing is installed but what the test puts there."""

import io
import os
from pathlib import Path

import msgspec
import pytest

from firstlight import errors
from firstlight.cli import install_tools, main
from firstlight.tools import catalogue, content_cache, tool_progress, workshop
from tests.unit.tools import tiny

KEYS = {
    "name", "kind", "summary", "needed", "version", "found", "passedOver", "problem", "usedBy", "sets", "ways",
    "buildSeconds", "byHand", "variable",
}  # fmt: skip


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in list(os.environ):
        if name.startswith(("FIRSTLIGHT_", "KUBEBUILDER_")):
            monkeypatch.delenv(name)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/sh").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("FIRSTLIGHT_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_lists_everything_within_100_columns(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.program(machine / "bin/kustomize", "kustomize", "5.7.0")
    tiny.program(machine / "bin/helm", "helm", "3.19.0")

    assert main.run(["tools"]) == 0

    lines = capsys.readouterr().out.splitlines()
    for name in catalogue.load().names:
        assert any(line.startswith(f"  {name} ") for line in lines)
    row = next(line for line in lines if line.startswith("  kustomize "))
    assert "5.7.0" in row
    assert any("helm: its version is 3.19.0, and >=4.0 <5 is needed" in line for line in lines)
    assert any("missing" in line and "build, 50 s" in line for line in lines if line.startswith("  kwok "))
    assert any("1Password" in line for line in lines)
    # The reason why something is not used may be longer: it has a path in it.
    assert [line for line in lines if len(line) > 100 and ": its version" not in line] == []


def test_lists_as_json_in_a_stable_shape(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tiny.program(machine / "bin/kustomize", "kustomize", "5.7.0")

    assert main.run(["tools", "list", "--output", "json"]) == 0
    listed = msgspec.json.decode(capsys.readouterr().out)
    assert main.run(["tools", "-o", "json"]) == 0
    assert msgspec.json.decode(capsys.readouterr().out) == listed

    assert set(listed) == {"cache", "tools", "isolation"}
    assert all(set(each) == {"what", "kind", "reason"} for each in listed["isolation"]["missing"])
    by_name = {tool["name"]: tool for tool in listed["tools"]}
    assert set(by_name) == set(catalogue.load().names)
    assert all(set(tool) == KEYS for tool in listed["tools"])
    assert by_name["kustomize"]["found"] == {"version": "5.7.0", "path": str(there), "where": "path"}
    assert by_name["etcd"]["found"] is None
    assert by_name["etcd"]["needed"] == "==3.6.16"
    assert by_name["etcd"]["ways"] == ["build"]
    assert by_name["helm"]["ways"] == ["download", "build"]
    assert by_name["etcd"]["sets"] == ["lab", "demo", "tests", "bench", "all"]
    assert by_name["op"]["ways"] == []
    assert by_name["cilium-chart"]["kind"] == "content"
    assert by_name["cilium-chart"]["found"] is None
    assert by_name["cilium-chart"]["ways"] == ["modules"]
    assert by_name["cilium-chart"]["sets"] == ["lab", "demo", "tests", "all"]


def test_a_wrong_path_of_the_user_is_listed_as_such(
    machine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIRSTLIGHT_ETCD", "/nowhere/etcd")

    assert main.run(["tools"]) == 0

    out = capsys.readouterr().out
    assert "FIRSTLIGHT_ETCD is /nowhere/etcd, but there is no such file" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["install", "kubectrl"], "kubectl"),
        (["install", "--for", "dmeo"], "demo"),
        (["install"], "name a tool"),
        (["path", "hlem"], "helm"),
        (["path", "cilium-chrat"], "cilium-chart"),
        (["install", "argocd-manifest"], "argocd-manifests"),
        (["remove", "hlem"], "helm"),
        (["remove"], "NAME"),
        (["lst"], "list"),
    ],
)
def test_what_cannot_be_meant_exits_with_64_and_says_what_could_be(
    machine: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    assert main.run(["tools", *arguments]) == errors.UsageError.exit_code
    assert said in capsys.readouterr().err


def test_prints_the_path_alone(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    there = tiny.program(machine / "bin/kustomize", "kustomize", "5.7.0")

    assert main.run(["tools", "path", "kustomize"]) == 0

    assert capsys.readouterr().out == f"{there}\n"


def test_the_path_of_what_is_not_there_is_an_error_that_says_how_to_get_it(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["tools", "path", "etcd"]) == 1

    assert "firstlight tools install etcd" in capsys.readouterr().err


def test_installs_nothing_that_is_there(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tiny.program(machine / "bin/kustomize", "kustomize", "5.7.0")

    assert main.run(["tools", "install", "kustomize"]) == 0

    assert capsys.readouterr().err == "kustomize  5.7.0 on PATH\n"


def test_verify_finds_and_repairs_damage(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["tools", "verify"]) == 0
    ruin = machine / "cache/bin/etcd/3.6.8-abc"
    ruin.mkdir(parents=True)

    assert main.run(["tools", "verify"]) == 2
    assert "damaged" in capsys.readouterr().out
    assert main.run(["tools", "verify", "--repair"]) == 0
    assert not ruin.exists()
    assert main.run(["tools", "verify"]) == 0


def test_content_is_found_verified_repaired_and_removed(machine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shop = workshop.here()
    known = shop.catalogue.get_content("gateway-api-crds")
    assert main.run(["tools", "path", known.name]) == 1
    assert f"firstlight tools install {known.name}" in capsys.readouterr().err
    (machine / "staged").mkdir()
    (machine / "staged/crd.yaml").write_text("kind: One\n")
    entry = content_cache.of(shop.cache).publish(
        machine / "staged", known, recipe=shop.content_recipe(known), seconds=1, aside=machine / "aside"
    )

    assert main.run(["tools", "path", known.name]) == 0
    assert capsys.readouterr().out == f"{entry.path}\n"
    assert main.run(["tools", "install", known.name]) == 0
    assert capsys.readouterr().err == f"{known.name}  {known.version} in the cache\n"
    assert main.run(["tools", "verify"]) == 0
    assert capsys.readouterr().out.startswith("1 sound, 0 damaged")

    (entry.path / "crd.yaml").write_text("kind: Two\n")
    assert main.run(["tools", "verify"]) == 2
    assert "crd.yaml has changed" in capsys.readouterr().out
    assert main.run(["tools", "verify", "--repair"]) == 0
    assert not entry.path.exists()


def test_remove_takes_every_version_of_a_name_and_nothing_else(
    machine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["bin/etcd/3.5.0-old", "bin/etcd/3.6.8-new", "content/cilium-chart/1.18.2-x", "bin/helm/4.2.1-x"]
    for place in [*places, "bin/gone-from-the-catalogue/1-x"]:
        (machine / "cache" / place).mkdir(parents=True)

    assert main.run(["tools", "remove", "etcd", "cilium-chart", "kwok", "gone-from-the-catalogue"]) == 0

    assert capsys.readouterr().out.splitlines() == [
        "etcd  removed", "cilium-chart  removed", "kwok  is not in the cache", "gone-from-the-catalogue  removed",
    ]  # fmt: skip
    assert [place for place in places if (machine / "cache" / place).exists()] == ["bin/helm/4.2.1-x"]


def compiling(done: int) -> tool_progress.ToolEvent:
    return tool_progress.Compiling("etcd", done, 100, 1.0, 60)


def test_where_nobody_watches_a_build_prints_few_lines() -> None:
    out = io.StringIO()

    with install_tools.InstallProgress(out, live=False) as drawing:
        for done in range(100):
            drawing.show(compiling(done))
        drawing.show(tool_progress.Compiling("etcd", 100, 100, 5, 0))
        drawing.show(tool_progress.ToolReady("etcd", "3.6.8", Path("/x"), "build", 5))

    assert out.getvalue().splitlines() == [
        "etcd  compiling 0 of 100 packages, about 60 s left",
        "etcd  linking, 5 s so far",
        "etcd  3.6.8 built in 5 s",
    ]


def test_on_a_terminal_a_build_is_one_line_that_disappears() -> None:
    out = io.StringIO()

    with install_tools.InstallProgress(out, live=True) as drawing:
        drawing.show(compiling(1))
        drawing.show(tool_progress.ToolReady("etcd", "3.6.8", Path("/x"), "build", 5))

    first, rest = out.getvalue().split("about", 1)
    assert first.startswith("\r\x1b[2Ketcd  compiling 1 of 100")
    assert "\n" not in first
    assert rest.endswith("\r\x1b[2Ketcd  3.6.8 built in 5 s\n")
