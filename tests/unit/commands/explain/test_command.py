"""``firstlight explain`` as a user types it."""

import json
from pathlib import Path

import pytest

from firstlight.cli import main

ROOT = Path(__file__).parents[4]
HOME = str(ROOT / "examples/home")
FLEET = str(ROOT / "tests/scenarios/platform/two-clusters/repo")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is no repo."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_component(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "cilium", "--repo", HOME]) == 0

    out = capsys.readouterr().out
    assert out.startswith("cilium · component of home\n")
    assert "kubernetes/infrastructure/cilium/release.yaml:1" in out


def test_eighty_columns(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    for name in (["cilium"], ["gitops"], ["BGP", "peer"], []):
        assert main.run(["explain", *name, "--repo", HOME]) == 0

    assert [each for each in capsys.readouterr().out.splitlines() if len(each) > 80] == []


def test_without_a_name_the_chain_is_drawn(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "--repo", FLEET]) == 0

    out = capsys.readouterr().out
    assert out.index("apps   what stands on what") < out.index("infra   what stands on what")
    assert out.index("Kubernetes API") < out.index("cilium") < out.index("Git begins")


def test_one_cluster(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "--cluster", "infra", "--repo", FLEET]) == 0
    assert "apps   what" not in capsys.readouterr().out
    assert main.run(["explain", "--cluster", "infar", "--repo", FLEET]) == 64


def test_words_and_rules_need_no_repo(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "load-balancer", "pool"]) == 0
    assert main.run(["explain", "talos-network"]) == 0

    out = capsys.readouterr().out
    assert "load-balancer pool · word" in out
    assert "talos-network · rule" in out


def test_a_chain_needs_a_repo(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain"]) == 64
    assert main.run(["explain", "etcd", "--cluster", "home"]) == 64
    assert "--repo" in capsys.readouterr().err


def test_a_directory_without_a_repo_is_not_read(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nowhere / "Taskfile.yaml").write_text("version: 3\ntasks: {up: {cmds: [helm install cilium ./cilium]}}\n")

    assert main.run(["explain", "cilium"]) == 0
    assert capsys.readouterr().out.startswith("Cilium · word\n")


def test_an_unknown_name_is_a_usage_error_with_what_is_meant(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "ciliun", "--repo", HOME]) == 64

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: nobody knows what ciliun is\n  Did you mean cilium")


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    main.run(["explain", "cilium", "-o", "json", "--repo", HOME])
    meanings = json.loads(capsys.readouterr().out)["meanings"]
    main.run(["explain", "-o", "json", "--repo", HOME])
    chains = json.loads(capsys.readouterr().out)["chains"]
    main.run(["explain", "ciliun", "-o", "json", "--repo", HOME])
    error = json.loads(capsys.readouterr().out)["error"]

    assert (meanings[0]["sort"], meanings[0]["name"], meanings[0]["clusters"]) == ("component", "cilium", ["home"])
    assert [each["name"] for each in chains[0]["links"]][:3] == ["Talos", "Kubernetes API", "cilium"]
    assert "ciliun" in error["message"]


def test_a_teams_rule_is_explained(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "firstlight-rules"
    rules.mkdir()
    (rules / "ours.yaml").write_text(
        "rules:\n  - {id: our-greeting, title: The greeting, side: gitops, risk: low, why: It is only text.,\n"
        "     when: [{names: [greeter]}]}\n"
    )
    (rules / "ours.test.yaml").write_text("tests: []\n")

    assert main.run(["explain", "our-greeting", "--repo", str(tmp_path)]) == 0

    out = capsys.readouterr().out
    assert "our-greeting · rule" in out
    assert "firstlight-rules/ours.yaml:2:5" in out
    assert "Your team wrote it" in out


def test_wrong_rules_of_a_team_do_not_keep_words_from_being_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "firstlight-rules").mkdir()
    (tmp_path / "firstlight-rules/ours.yaml").write_text("rules: [{id: x}]\n")

    assert main.run(["explain", "etcd", "--repo", str(tmp_path)]) == 0

    captured = capsys.readouterr()
    assert captured.out.startswith("etcd · word")
    assert "firstlight-rules is wrong and was not used: firstlight-rules/ours.yaml:1:" in captured.err


def test_a_wrong_firstlight_yaml_does_not_either(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "firstlight.yaml").write_text("nonsense: [\n")

    assert main.run(["explain", "etcd", "--repo", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("etcd · word")


def test_nothing_of_a_repo_reaches_the_terminal_unseen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Makefile").write_text(
        "up:\n\thelm upgrade --install web oci://me:hunter2@charts.example.org/web --set-string p=hunter2\n"
    )

    for form in ("text", "json"):
        assert main.run(["explain", "web", "-o", form, "--repo", str(tmp_path)]) == 0

    out = capsys.readouterr().out
    assert "charts.example.org" in out
    assert "hunter2" not in out


def test_a_rule_of_the_audit(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "ignore-expired", "-o", "json"]) == 0

    (found,) = json.loads(capsys.readouterr().out)["meanings"]
    assert (found["sort"], found["name"]) == ("audit rule", "ignore-expired")
    parts = {each["name"]: each["sentences"] for each in found["parts"]}
    assert parts["what"][0]["text"].endswith("(warning)")
    assert parts["type"][0]["command"] == "firstlight audit --rule ignore-expired"
    assert {"why", "fix", "read"} < set(parts)


def test_a_symptom_of_the_doctor(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "crash-loop"]) == 0

    assert capsys.readouterr().out.startswith("crash-loop · symptom\n")


def test_near_misses_of_codes_are_offered(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["explain", "ignore-expred"]) == 64

    assert "Did you mean ignore-expired" in capsys.readouterr().err


def test_a_teams_audit_rule_takes_the_place_of_ours(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nowhere / "firstlight.yaml").write_text("clusters: []\n")
    rules = nowhere / "firstlight-rules/audit"
    rules.mkdir(parents=True)
    card = "{id: %s, title: Ours, group: g, severity: note, why: Because., fix: Mend it., find: []}"
    (rules / "own.yaml").write_text(f"rules:\n  - {card % 'cni-missing'}\n  - {card % 'team-label'}\n")
    (rules / "own.test.yaml").write_text("tests: []\n")

    assert main.run(["explain", "team-label", "--repo", str(nowhere)]) == 0
    assert "Mend it." in capsys.readouterr().out
    assert main.run(["explain", "cni-missing", "--repo", str(nowhere)]) == 0
    assert "Ours (note)" in capsys.readouterr().out


def test_a_wrong_audit_rule_of_a_team_is_told(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nowhere / "firstlight.yaml").write_text("clusters: []\n")
    rules = nowhere / "firstlight-rules/audit"
    rules.mkdir(parents=True)
    (rules / "own.yaml").write_text("rules:\n  - id: team-label\n")

    assert main.run(["explain", "CNI", "--repo", str(nowhere)]) == 0
    assert "firstlight-rules/audit is wrong" in capsys.readouterr().err
