"""docs/decide.md: its examples work, its commands are understood, and all that can be written or read is named."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
import yaml

from firstlight.cli import main
from firstlight.commands.decide import command, owners_file
from firstlight.commands.decide.rule_form import When
from firstlight.commands.decide.rule_tests import CaseComponent
from firstlight.model.change import ChangeVerb, Matter
from firstlight.model.decision import Approval, CheckState, Risk
from firstlight.plan.version_bump import Bump

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "docs/decide.md").read_text()
NAMED = set(re.findall(r"`(\w+)`", TEXT))
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
FILES = {
    match[1]: text
    for kind, text in BLOCKS
    if kind == "yaml" and (match := re.match(r"# ([\w./-]+)\n", text)) is not None
}
COMMANDS = [
    line.partition("  #")[0].strip().removeprefix("$ ")
    for kind, text in BLOCKS
    if kind in ("", "sh")
    for line in text.splitlines()
    if line.startswith(("firstlight ", "$ firstlight "))
]
PLATFORM = ROOT / "tests/scenarios/platform/two-clusters/repo"


def test_every_block_of_yaml_says_which_file_it_is() -> None:
    assert len(FILES) == sum(kind == "yaml" for kind, _ in BLOCKS) == 5


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = Path(shutil.copytree(PLATFORM, tmp_path / "repo"))
    for path, text in FILES.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    return made


def test_the_example_s_tests_pass(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["decide", "--test", "--repo", str(repo), "-o", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tests"]) == 5


@pytest.mark.parametrize(
    ("old", "new"),
    [("risk: high", "risk: low"), ("id: replicas", "id: other"), ("ledger", "other")],
)
def test_the_example_s_tests_fail_with_other_rules(old: str, new: str, repo: Path) -> None:
    rules = repo / "firstlight-rules/payments.yaml"
    assert old in rules.read_text()
    rules.write_text(rules.read_text().replace(old, new))

    assert main.run(["decide", "--test", "--repo", str(repo)]) == 1


def test_the_example_s_owners_are_read() -> None:
    found = owners_file.load(FILES["firstlight-rules/owners.yaml"].encode())

    assert [each.is_lead for each in found.people] == [True, False, False]
    assert found.approvals == owners_file.APPROVALS


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    workflow = yaml.safe_load(FILES[".github/workflows/decide.yaml"])
    (steps,) = (each["steps"] for each in workflow["jobs"].values())
    (own,) = (each for each in steps if "firstlight" in each.get("uses", ""))
    assert own["with"].keys() <= action["inputs"].keys()
    read = re.findall(rf"steps\.{own['id']}\.outputs\.(\w+)", FILES[".github/workflows/decide.yaml"])
    assert set(read) <= action["outputs"].keys()
    assert (action["inputs"].keys() | action["outputs"].keys()) <= NAMED
    assert workflow[True] == "pull_request"  # YAML's "on"


def test_the_hooks_are_there() -> None:
    known = {each["id"] for each in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (repo,) = yaml.safe_load(FILES[".pre-commit-config.yaml"])["repos"]
    assert {each["id"] for each in repo["hooks"]} == known


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_are_understood(line: str) -> None:
    program, name, *arguments = shlex.split(line)
    assert (program, name) == ("firstlight", "decide")
    found = command.decide.make_context("decide", list(arguments)).params
    explained = found["rule"]
    assert explained is None or main.run(["decide", "--explain", explained, "--repo", str(PLATFORM)]) == 0


def test_every_option_is_documented() -> None:
    options = {each for param in command.decide.params for each in (*param.opts, *param.secondary_opts)}
    missing = {each for each in options if each.startswith("--") and each not in TEXT}
    assert missing == set()


def test_every_way_to_ask_is_shown() -> None:
    ways = ("--diff", "--staged", "--patch", "--files", "--ask", "--explain", "--test")
    assert all(any(way in line for line in COMMANDS) for way in ways)


def test_every_word_of_rules_and_answers_is_documented() -> None:
    fields = {*msgspec.json.schema(When)["$defs"]["When"]["properties"], *CaseComponent.__struct_encode_fields__}
    words = {*fields, *Matter, *ChangeVerb, *get_args(Bump), *map(str, Risk), *Approval, *CheckState}
    assert {*words, "bootstrap", "gitops", "hybrid", "none"} <= NAMED


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from value
        for each in value.values():
            yield from _keys(each)
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each)


def test_every_key_of_the_data_is_documented(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "base"]):
        person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
        subprocess.run(["git", "-C", str(repo), *person, *arguments], check=True)
    for path in ("kubernetes/bgp/peers.yaml", "talos/infra/talconfig.yaml"):
        (repo / path).write_text((repo / path).read_text() + "added: {a: b}\n")
    arguments = ["decide", "--no-render", "--check", "pre", "--approvals", "--repo", str(repo), "-o", "json"]

    assert main.run(arguments) in (0, 2, 3)

    found = json.loads(capsys.readouterr().out)
    assert {"side", "risk"} == {*list(found)[:2]}
    assert found["approved"]
    assert found["items"][0]["rulings"][0]["trees"]
    assert {*_keys(found)} <= NAMED
