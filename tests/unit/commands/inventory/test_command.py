"""``firstlight inventory``, ``init`` and ``schema`` as a user types them."""

import json
import os
import shutil
import stat
from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.repo.declaration import declaration_form

SCENARIOS = Path(__file__).parents[3] / "scenarios/platform"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repo to write into."""
    return Path(shutil.copytree(SCENARIOS / "taskfile/repo", tmp_path / "home"))


def test_one_cluster_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["inventory", "infra", "--repo", str(SCENARIOS / "two-clusters/repo")])

    out = capsys.readouterr().out
    assert code == 2  # a need that nothing meets
    assert "1 cluster, 2 machines" in out
    assert "10.242.0.0/16" not in out


def test_an_unknown_cluster_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["inventory", "infra2", "--repo", str(SCENARIOS / "two-clusters/repo")])

    assert code == 64
    assert capsys.readouterr().err == "error: there is no cluster infra2\n  There is apps, infra.\n"


def test_a_component_with_its_two_halves(capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["inventory", "infra", "--component", "cilium", "--repo", str(SCENARIOS / "two-clusters/repo")])

    out = capsys.readouterr().out
    assert code == 0
    assert "other half   cilium-bgp" in out
    assert "from chart https://charts.example.org/cilium cilium 1.18.2, release kube-system/cilium" in out
    assert "dependents   coredns" in out


def test_an_unknown_component_is_a_usage_error_with_what_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["inventory", "--component", "ciliun", "--repo", str(SCENARIOS / "two-clusters/repo")])

    assert code == 64
    assert "There is cilium" in capsys.readouterr().err


def test_the_tree(capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["inventory", "--tree", "infra", "--repo", str(SCENARIOS / "two-clusters/repo")])

    assert capsys.readouterr().out.splitlines() == [
        "infra   kubernetes/clusters/infra",
        "├─ cilium   1.18.2   hybrid core",
        "├─ coredns   1.44.3   bootstrap core",
        "└─ flux-system",
        "   └─ infrastructure",
        "      ├─ cert-manager   v1.19.1   hybrid core",
        "      └─ cilium-bgp",
    ]


def test_json_has_places_for_everything(capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["inventory", "-o", "json", "--repo", str(SCENARIOS / "two-clusters/repo")])

    found = json.loads(capsys.readouterr().out)
    cilium = next(each for each in found["components"] if each["name"] == "cilium" and each["cluster"] == "infra")
    assert cilium["bootstrap"][0]["place"] == {"path": "bootstrap/helmfile.yaml", "line": 8, "column": 5}
    assert cilium["bootstrap"][0]["sources"][0]["version"] == "1.18.2"
    assert found["clusters"][0]["machines"][0]["place"]["line"] > 0
    assert found["diagnostics"][0]["places"][0]["path"] == "kubernetes/infrastructure/bgp.yaml"


def test_no_secret_of_a_script_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["inventory", "-o", "json", "--repo", str(SCENARIOS / "taskfile/repo")])

    out = capsys.readouterr().out
    assert "--from-literal=age.agekey=***" in out
    assert "HUNTER2" not in out


@pytest.mark.parametrize("path", ["nowhere", "firstlight.yaml"])
def test_a_repo_that_is_none(path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "firstlight.yaml").write_text("")

    assert main.run(["inventory", "--repo", str(tmp_path / path)]) == 64
    assert "Traceback" not in capsys.readouterr().err


def test_an_empty_directory_is_a_platform_without_anything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["inventory", "--repo", str(tmp_path)]) == 0
    assert "0 machines, 0 components" in capsys.readouterr().out


def test_init_writes_and_asks_only_what_it_cannot_know(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["init", "--repo", str(repo)])

    out = capsys.readouterr().out
    assert code == 0
    assert out.count("not known:") == 1
    assert "Where is age.agekey of the Secret flux-system/sops-age?" in out
    assert "git.example.org" not in (repo / declaration_form.FILE).read_text()  # the repo says it already
    assert json.loads((repo / ".firstlight/schema.json").read_text()) == json.loads(
        json.dumps(declaration_form.schema())
    )
    assert main.run(["inventory", "--repo", str(repo)]) == 0


def test_init_takes_answers(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answer = "secrets.flux-system/sops-age.age.agekey=op://home/sops/age key"
    main.run(["init", "--repo", str(repo), "--answer", answer])

    assert "not known" not in capsys.readouterr().out
    assert 'data: {age.agekey: "op://home/sops/age key"}' in (repo / declaration_form.FILE).read_text()
    assert main.run(["inventory", "--repo", str(repo)]) == 0


@pytest.mark.parametrize("answer", ["secrets.flux-system/other.key=env:A", "nonsense", "gitops.engine="])
def test_init_refuses_answers_that_nobody_asked_for(repo: Path, answer: str) -> None:
    assert main.run(["init", "--repo", str(repo), "--answer", answer]) == 64
    assert not (repo / declaration_form.FILE).exists()


def test_init_does_not_overwrite(repo: Path) -> None:
    (repo / declaration_form.FILE).write_text("mine\n")

    assert main.run(["init", "--repo", str(repo)]) == 3
    assert (repo / declaration_form.FILE).read_text() == "mine\n"


def test_init_dry_run_writes_nothing(repo: Path) -> None:
    before = sorted(repo.rglob("*"))

    assert main.run(["init", "--dry-run", "--repo", str(repo)]) == 0
    assert sorted(repo.rglob("*")) == before


def test_init_that_cannot_write_leaves_nothing(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)

    assert main.run(["init", "--repo", str(repo)]) == 1
    assert [each.name for each in repo.rglob("*") if "firstlight" in each.name or "schema" in each.name] in (
        [],
        [".firstlight"],
    )


def test_the_schema_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["$ref"] == "#/$defs/PlatformSection"


def test_what_init_writes_is_for_everybody_to_read(repo: Path) -> None:
    main.run(["init", "--repo", str(repo)])

    assert stat.S_IMODE((repo / declaration_form.FILE).stat().st_mode) & 0o444 == 0o444


@pytest.mark.parametrize("link", [".firstlight", "firstlight.yaml", ".firstlight/schema.json"])
def test_init_does_not_write_through_links(link: str, repo: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (repo / link).parent.mkdir(exist_ok=True)
    (repo / link).symlink_to(outside if link == ".firstlight" else outside / "file")

    assert main.run(["init", "--force", "--repo", str(repo)]) == 3
    assert list(outside.iterdir()) == []


def test_init_takes_no_secret_for_a_reference(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main.run(["init", "--repo", str(repo), "--answer", "secrets.flux-system/sops-age.age.agekey=hunter2"])

    out = capsys.readouterr()
    assert code == 64
    assert "hunter2" not in out.out + out.err
    assert not (repo / declaration_form.FILE).exists()


@pytest.mark.parametrize("command", ["plan", "graph", "boundary", "render"])
def test_nothing_is_planned_past_a_wrong_declaration(
    command: str, repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (repo / declaration_form.FILE).write_text(
        "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {nam: x}\n"
    )

    assert main.run([command, "--repo", str(repo)]) == 3
    assert "firstlight.yaml is wrong" in capsys.readouterr().err
    assert main.run(["inventory", "--repo", str(repo)]) == 2
    assert "firstlight.yaml is wrong and was not used" in capsys.readouterr().out


def test_credentials_in_urls_are_never_shown(repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "apps/kustomization.yaml").write_text(
        "resources: ['https://me:hunter2@git.example.org/x.yaml', web.yaml]\n"
    )
    (repo / "Makefile").write_text(
        "bootstrap:\n\tkubectl apply -f https://me:hunter2@files.example.org/a.yaml\n"
        "\thelm upgrade --install b oci://me:hunter2@charts.example.org/b --set-string p=hunter2\n"
    )
    picture = tmp_path / "x.svg"
    commands = [
        ["inventory", "--everything"],
        ["inventory", "-o", "json"],
        ["plan", "--no-render"],
        ["plan", "--no-render", "-o", "json"],
        ["graph", "--format", "dot"],
        ["graph", "--out", str(picture)],
        ["init", "--dry-run"],
    ]
    for command in commands:
        main.run([*command, "--repo", str(repo)])

    out = capsys.readouterr()
    assert "files.example.org" in out.out
    assert "hunter2" not in out.out + out.err + picture.read_text()


def test_a_directory_with_nothing_in_it_says_what_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["inventory", "--repo", str(tmp_path)])

    assert "name the top of a GitOps repo" in capsys.readouterr().out
