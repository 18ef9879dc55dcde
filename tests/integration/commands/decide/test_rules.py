"""``firstlight decide`` with the rules of a repo, its approvals and its checks: a change does not choose its own."""

import asyncio
import json
import shutil
from pathlib import Path

import pytest

from firstlight.tools import install
from tests.integration.commands.decide.git_repo import PEERS, TALCONFIG, Decide, commit, git, replace


def test_a_change_does_not_choose_its_own_rules(repo: Path, decide: Decide) -> None:
    git(repo, "switch", "--quiet", "-c", "work")
    (repo / "firstlight-rules").mkdir()
    rule = {"id": "cheap", "title": "t", "side": "none", "risk": "low", "why": "w", "when": [{"files": ["**"]}]}
    (repo / "firstlight-rules/ours.yaml").write_text(json.dumps({"rules": [rule]}))
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    commit(repo)

    found = decide("--diff", "main...HEAD")

    assert (found["side"], found["risk"]) == ("bootstrap", "critical")
    rulings = {each["path"]: {one["rule"] for one in each["rulings"]} for each in found["items"]}
    assert rulings["firstlight-rules/ours.yaml"] == {"decision-rules"}
    replace(repo, "README.md", "", "") if (repo / "README.md").exists() else (repo / "README.md").write_text("x\n")
    commit(repo)
    assert {one["rule"] for one in decide("--diff", "HEAD~1..HEAD")["items"][0]["rulings"]} == {"cheap"}


def test_rules_that_were_wrong_do_not_stand_in_the_way_of_their_repair(repo: Path, decide: Decide) -> None:
    (repo / "firstlight-rules").mkdir()
    (repo / "firstlight-rules/ours.yaml").write_text("rules: [{id: 1}]\n")
    commit(repo)
    (repo / "firstlight-rules/ours.yaml").write_text("rules: []\n")

    found = decide()

    assert (decide.code, found["risk"]) == (0, "high")
    assert any("rules were wrong before this change" in each for each in found["doubts"])


def test_a_wrong_file_that_is_named_does_not_switch_off_the_rules_of_the_repo(repo: Path, decide: Decide) -> None:
    (repo / "firstlight-rules").mkdir()
    (repo / "firstlight-rules/ours.yaml").write_text("rules: []\n")
    commit(repo)
    (repo / "firstlight-rules/more.yaml").write_text("rules: [{id: 1}]\n")

    found = decide("--rules", str(repo / "firstlight-rules/more.yaml"))

    assert decide.code == 1
    assert "more.yaml" in found["error"]["message"]


def test_rules_are_not_hidden_behind_a_link(repo: Path, decide: Decide) -> None:
    """That they go behind one is seen; once they are, a change of them must not pass for another sort of change."""
    (repo / "docs/rules").mkdir(parents=True)
    (repo / "docs/rules/owners.yaml").write_text("people: [{name: Ada, email: ada@example.org, roles: [lead]}]\n")
    shutil.copytree(repo / "docs/rules", repo / "firstlight-rules")
    commit(repo)
    shutil.rmtree(repo / "firstlight-rules")
    (repo / "firstlight-rules").symlink_to("docs/rules")
    commit(repo)

    assert decide("--diff", "HEAD~1..HEAD")["risk"] == "high"

    replace(repo, "docs/rules/owners.yaml", "Ada", "Eve")
    commit(repo)
    assert decide("--diff", "HEAD~1..HEAD", form="text") == ""
    assert decide.code == 1
    assert "firstlight-rules: it is a link to docs/rules" in decide.err


def test_an_approval_that_is_missing_is_exit_code_3(repo: Path, decide: Decide) -> None:
    git(repo, "switch", "--quiet", "-c", "work")
    replace(repo, TALCONFIG, "10.241.0.0/16", "10.242.0.0/16")
    commit(repo)

    found = decide("--diff", "main...HEAD", "--approvals")

    assert decide.code == 3
    assert found["approved"]["given"] is False
    assert "approval   ✘" in decide("--diff", "main...HEAD", "--approvals", form="text")


def test_checks_that_fail_are_exit_code_2(repo: Path, decide: Decide) -> None:
    replace(repo, PEERS, "kind: CiliumBGPClusterConfig", "kind: [")

    found = decide("--check", "pre")

    states = {each["id"]: each["state"] for each in found["checks"] if each["moment"] == "pre"}
    assert decide.code == 2
    assert states["syntax"] == "failed"
    assert {each["state"] for each in found["checks"] if each["moment"] == "post"} == {"open"}


def test_talosctl_that_we_have_installed_validates_machine_configs(
    repo: Path, decide: Decide, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asyncio.run(install.ensure(["talosctl"]))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/git").symlink_to(shutil.which("git") or "git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    replace(repo, TALCONFIG, "v1.11.2", "v1.11.3")

    found = decide("--check", "pre")

    assert "talosctl accepts" in json.dumps(found["checks"])
