"""``firstlight decide`` as a user types it, where no Git is needed."""

import json
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from firstlight.cli import main
from firstlight.commands.decide import rule_card, rule_files, rule_text
from firstlight.drawing import table

SCENARIOS = Path(__file__).parents[3] / "scenarios/platform"
FIRSTLIGHT = [sys.executable, "-m", "firstlight"]
RULE = """\
rules:
  - id: our-labels
    title: A label of ours
    side: gitops
    risk: medium
    why: somebody counts by it
    words: [label of ours]
    when: [{kinds: ["*/Namespace"], paths: ["metadata.labels.**"]}]
"""
TESTS = """\
tests:
  - name: a label of a namespace
    change: {{kind: /Namespace, name: web, path: metadata.labels.team, before: a, after: b}}
    expect: {{side: {side}, risk: medium, rule: our-labels}}
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SCENARIOS / "two-clusters/repo", tmp_path / "repo"))


def decide(repo: Path, *arguments: str) -> int:
    return main.run(["decide", *arguments, "--repo", str(repo)])


def test_a_sentence_names_rules_and_says_that_it_is_about_words(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo, "add", "node", "labels") == 0

    out = capsys.readouterr().out
    assert out.startswith("“add node labels” by its words alone, no file was looked at\n\nbootstrap, ")
    assert "firstlight decide --explain node-label" in out


def test_a_sentence_as_json_has_side_and_risk_at_the_top(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo, "add node labels", "-o", "json") == 0

    found = json.loads(capsys.readouterr().out)
    assert (found["side"], found["by"]) == ("bootstrap", "words")
    assert found["risk"] == found["rules"][0]["risk"]


def test_a_component_that_a_sentence_names_is_decided_by_its_owner(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decide(repo, "upgrade cilium to 1.19", "-o", "json")

    found = json.loads(capsys.readouterr().out)
    assert found["side"] == "bootstrap"
    assert any("cilium of infra" in each for each in found["rules"][0]["about"])


def test_a_sentence_that_nobody_understands(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo, "xyzzy plugh") == 64
    assert "no rule is about “xyzzy plugh”" in capsys.readouterr().err
    assert decide(repo, "celium") == 64
    assert "Did you mean cilium" in capsys.readouterr().err


def test_a_rule_is_explained(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo, "--explain", "decision-rules") == 0

    out = capsys.readouterr().out
    assert out.startswith("decision-rules   touches no cluster, high risk: lead approval\n")
    for label in ("why", "fits", "sources", "written"):
        assert f"\n  {label} " in out


def test_every_rule_can_be_explained(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    book = rule_files.book()
    for name in [*(each.id for each in book.rules), *(each.id for each in book.factors)]:
        card = rule_card.card(book, name)
        lines = rule_text.text(card, columns=80).splitlines()
        assert rule_text.data(card)["id"] == name
        assert all(table.width(line) <= 80 or "{" in line or "git " in line for line in lines[1:]), name


def test_an_unknown_rule_is_a_usage_error_with_what_is_near(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo, "--explain", "decision-rule") == 64
    assert "Did you mean decision-rules?" in capsys.readouterr().err
    assert decide(repo, "--explain", "cilium") == 64
    assert "Did you mean cni" in capsys.readouterr().err, "by what rules call it"


def test_all_rules_are_listed(repo: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    book = rule_files.book()
    monkeypatch.setenv("COLUMNS", "80")
    assert decide(repo, "--explain") == 0
    lines = capsys.readouterr().out.splitlines()
    first = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
    assert first[: len(book.rules)] == [each.id for each in book.rules]
    assert {each.id for each in book.factors} <= set(first)
    assert max(map(len, lines)) <= 80
    assert decide(repo, "--explain", "--output", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["id"] for each in found["rules"]] == [each.id for each in book.rules]
    assert found["rules"][0]["procedure"]


def test_rules_of_the_team_come_from_the_repo_and_from_where_they_are_named(
    repo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "more.yaml").write_text(RULE)

    assert decide(repo, "--explain", "our-labels") == 64
    assert decide(repo, "--explain", "our-labels", "--rules", str(tmp_path / "more.yaml")) == 0
    assert "the team's" in capsys.readouterr().out
    (repo / "firstlight-rules").mkdir()
    (repo / "firstlight-rules/ours.yaml").write_text(RULE)
    assert decide(repo, "--explain", "our-labels") == 0


def test_a_wrong_rule_is_told_with_its_place(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "firstlight-rules").mkdir()
    (repo / "firstlight-rules/ours.yaml").write_text(RULE.replace("risk: medium", "risk: much"))

    assert decide(repo, "--explain", "our-labels") == 1
    assert "firstlight-rules/ours.yaml:5:" in capsys.readouterr().err


@pytest.mark.parametrize(("side", "code"), [("gitops", 0), ("bootstrap", 1)])
def test_tests_of_the_team_are_run(side: str, code: int, repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "firstlight-rules").mkdir()
    (repo / "firstlight-rules/ours.yaml").write_text(RULE)
    (repo / "firstlight-rules/ours.test.yaml").write_text(TESTS.format(side=side))

    assert decide(repo, "--test") == code

    out = capsys.readouterr().out
    assert f"{1 - code} of 1 test passed" in out
    assert ("firstlight-rules/ours.test.yaml:2" in out) == bool(code)
    decide(repo, "--test", "-o", "json")
    assert json.loads(capsys.readouterr().out)["passed"] == (code == 0)


def test_without_tests_it_is_said_where_to_write_them(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo, "--test") == 0
    assert "firstlight-rules/NAME.test.yaml" in capsys.readouterr().out


def test_another_name_for_the_owners_is_not_left_out_in_silence(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = repo / "firstlight-rules"
    rules.mkdir()
    (rules / "owners.yml").write_text("people: [{name: Ada, email: ada@example.org}]\n")

    assert decide(repo, "add node labels") not in (0, 64)
    said = capsys.readouterr().err
    assert "firstlight-rules/owners.yml" in said
    assert "git mv firstlight-rules/owners.yml firstlight-rules/owners.yaml" in said

    (rules / "owners.yml").rename(rules / "owners.yaml")
    assert decide(repo, "add node labels") == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--staged", "--diff", "main"],
        ["--ask", "add node labels"],
        ["--files"],
        ["--files", "nowhere.yaml"],
        ["--files", "/etc/hostname"],
        ["--diff", ""],
        ["--diff", "..."],
        ["--patch", "nowhere.patch"],
        ["--check", "sometime"],
        ["--rules", "nowhere.yaml"],
        ["--output", "xml"],
        ["--explain", "decision-rules", "--output", "markdown"],
        ["--test", "--output", "markdown"],
        ["--ask", "--output", "markdown"],
        ["add node labels", "--output", "markdown"],
        ["add node labels", "--check", "pre"],
        ["add node labels", "--approvals"],
        ["add node labels", "--cluster", "infra"],
        ["add node labels", "--context", "infra"],
        ["add node labels", "--render"],
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(
    arguments: list[str], repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert decide(repo, *arguments) == 64
    assert "Traceback" not in capsys.readouterr().err


def test_what_only_a_change_has_is_not_left_out_in_silence(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo, "--explain", "decision-rules", "--check", "pre", "--approvals") == 64
    said = capsys.readouterr().err
    assert "--explain looks at no change, so that --check and --approvals has no meaning" in said
    assert "--diff main...HEAD" in said

    assert decide(repo, "add node labels", "--no-render", "--offline") == 0


def test_help_needs_no_event_loop() -> None:
    code = "from firstlight.cli import main; main.run(['decide', '--help']); sys.exit('asyncio' in sys.modules)"
    subprocess.run([sys.executable, "-c", f"import sys; {code}"], check=True, capture_output=True)


def test_without_git_only_files_and_words_can_be_asked_about(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decide(repo) == 64
    assert "is no Git repository" in capsys.readouterr().err
    assert decide(repo, "--files", "talos/infra/talconfig.yaml", "-o", "json") == 0

    found = json.loads(capsys.readouterr().out)
    assert found["side"] == "bootstrap"
    assert found["title"] == "1 file, as if all in it changed"
    assert {each["verb"] for item in found["items"] for each in item["fields"]} == {"changed"}


def test_questions_need_a_terminal(repo: Path) -> None:
    done = subprocess.run(
        [*FIRSTLIGHT, "decide", "--ask", "--repo", str(repo)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )  # fmt: skip

    assert done.returncode == 64
    assert "--ask needs a terminal" in done.stderr
    assert "firstlight decide add node labels" in done.stderr


@pytest.mark.parametrize(
    ("answers", "side"),
    [
        ("n\n" * 9, "bootstrap"),
        ("y\nn\nn\ny\n", "gitops"),
        # The return key alone is what is usual; where nothing is, it is asked again, as after any other word.
        ("\n\n\n\nmaybe\nYES\n", "gitops"),
    ],
)
def test_the_tree_is_asked_question_by_question(answers: str, side: str, repo: Path) -> None:
    ours, theirs = pty.openpty()
    try:
        process = subprocess.Popen(
            [*FIRSTLIGHT, "decide", "--ask", "-o", "json", "--repo", str(repo)], stdin=theirs, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        os.write(ours, answers.encode())
        out, asked = process.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)

    found = json.loads(out)
    assert process.returncode == 0
    assert found["side"] == side
    assert all(step["text"] in asked for tree in found["trees"] for step in tree["steps"])
    first = found["trees"][0]["steps"][0]["text"]
    assert asked.index(f"1  {first}") < asked.index("The Kubernetes API answers"), (
        "first what is asked, then what is meant"
    )
    assert asked.count("Type y or n.") == (2 if "maybe" in answers else 0)
