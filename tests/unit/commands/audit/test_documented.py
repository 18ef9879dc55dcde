"""docs/audit.md: its examples work, its commands are understood, and all that can be written or read is named."""

import datetime
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
import yaml

from firstlight.cli import main
from firstlight.commands.audit import (
    command,
    data,
    declarative_rules,
    excuses,
    rule_remedy,
    rule_tests,
    rulebook,
)
from firstlight.commands.audit.rule_form import FindClause
from firstlight.commands.audit.rulebook import PackagedRule
from firstlight.model.finding import FINDING_SEVERITIES
from firstlight.repo.work_tree import WorkTree
from tests.unit.commands.audit import audits

ROOT = Path(__file__).parents[4]
TEXT = (ROOT / "docs/audit.md").read_text()
NAMED = set(re.findall(r"`([\w/.?-]+)`", TEXT))
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL)
FILES = {
    match[1]: text
    for kind, text in BLOCKS
    if kind in ("yaml", "toml", "python") and (match := re.match(r"# ([\w./-]+)\n", text)) is not None
}
RULES, TESTS = "firstlight-rules/audit/web.yaml", "firstlight-rules/audit/web.test.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for path in (RULES, TESTS):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(FILES[path])
    return tmp_path


def test_every_file_says_which_it_is() -> None:
    assert len(FILES) == sum(kind in ("yaml", "toml", "python") for kind, _ in BLOCKS) == 5


def test_the_example_s_tests_pass(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["audit", "--test", "--repo", str(repo), "-o", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["tests"]) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [("hostNetwork: true", "hostPID: true"), ("hostNetwork: false", "hostNetwork: null"), ('[shop, "shop-*"]', "[]")],
)
def test_the_example_s_tests_fail_with_other_rules(old: str, new: str, repo: Path) -> None:
    assert old in FILES[RULES]
    (repo / RULES).write_text(FILES[RULES].replace(old, new))

    assert main.run(["audit", "--test", "--repo", str(repo)]) == 1


def test_the_example_of_a_package_finds_what_it_says(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {}
    exec(compile(FILES["shop_rules.py"], "shop_rules.py", "exec"), names)  # the example itself is on trial
    (rule,) = names["RULES"]
    assert isinstance(rule, PackagedRule)
    monkeypatch.setattr(rulebook, "packaged", lambda: [rule])
    alone = {
        "name": "x",
        "rule": "shop-alone",
        "files": {
            **yaml.safe_load(FILES[TESTS])["tests"][0]["files"],
            "clusters/home/api.yaml": "apiVersion: apps/v1\nkind: Deployment\n"
            "metadata: {name: api, namespace: shop}\nspec:\n  replicas: 2\n",
        },
        "finds": [{"place": "clusters/home/web.yaml", "says": "Deployment web has one replica", "clusters": ["home"]}],
    }
    (repo / "firstlight-rules/audit/alone.test.yaml").write_text(yaml.safe_dump({"tests": [alone]}))

    assert [each.wrong for each in rule_tests.tested(WorkTree(repo))] == [(), (), ()]


def test_the_entry_point_is_the_one_that_is_looked_for() -> None:
    assert f'[project.entry-points."{rulebook.ENTRY_POINTS}"]\nshop = "shop_rules:RULES"' in FILES["pyproject.toml"]


def test_the_excuses_are_understood_and_are_for_rules_that_exist(tmp_path: Path) -> None:
    (block,) = (text for _, text in BLOCKS if "firstlight: ignore" in text)
    (tmp_path / "a.yaml").write_text(block)

    found = excuses.ignores(WorkTree(tmp_path))

    assert [each.problem for each in found] == ["", "", ""]
    assert {rule for each in found for rule in each.rules} <= rulebook.read_rulebook().rules.keys()
    assert {each.until for each in found} == {datetime.date(2027, 3, 31)}
    assert [bool(each.lines) for each in found] == [True, True, False]


def _commands() -> Iterator[list[str]]:
    for kind, text in BLOCKS:
        for line in text.splitlines():
            found = re.search(r"(?:^|run: |\$ |next +|^ +)(firstlight audit.*?)(?:  |$)", line)
            if found and kind in ("", "yaml"):
                yield shlex.split(found[1].partition(" #")[0])[2:]


def test_every_command_is_understood() -> None:
    commands = list(_commands())

    assert len(commands) >= 8
    options = {name for each in command.audit.params for name in each.opts}
    for words in commands:
        assert [word for word in words if word.startswith("--") and word not in options] == []
        for rule in [words[n + 1] for n, word in enumerate(words) if word == "--remedy"]:
            assert rule in rule_remedy.known_remedies()


def test_all_that_can_be_written_or_read_is_named() -> None:
    groups = {each.group for each in rulebook.read_rulebook().rules.values()}
    (forms,) = (
        each.type.choices
        for each in command.audit.params
        if isinstance(each.type, click.Choice) and each.name == "form"
    )
    words = {
        *groups,
        *FINDING_SEVERITIES,
        *forms,
        *(each.name for each in msgspec.structs.fields(FindClause)),
    }
    assert words <= NAMED
    assert all(f"{{{each}}}" in TEXT for each in declarative_rules._WORDS)

    found = data.data(audits.audit(audits.finding(), excused=(audits.excused(),), matrix=audits.matrix()))

    assert {*found, *found["findings"][0], *found["excused"][0], *(found["matrix"] or ())} <= NAMED


def test_options_are_all_told() -> None:
    shown = {each for each in re.findall(r"--[a-z][a-z-]*", TEXT)}
    missing = {name for each in command.audit.params for name in each.opts if name.startswith("--")} - shown

    assert missing <= {"--kubeconfig", "--repo", "--reason", "--until"}
