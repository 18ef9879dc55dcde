"""A team's rules, and what they must not say."""

import datetime
from pathlib import Path

import pytest

from firstlight.commands.audit import rulebook
from firstlight.document.mistakes import FormMistakes
from firstlight.repo import platform_reader
from firstlight.repo.overlaid_tree import OverlaidTree
from firstlight.repo.platform_view import PlatformView
from firstlight.repo.work_tree import WorkTree

FILE = "firstlight-rules/audit/ours.yaml"
CARD = "title: t, group: ours, severity: error, why: w, fix: f"


def rule(more: str, name: str = "one") -> tuple[str, bytes]:
    return FILE, f"rules:\n  - {{id: {name}, {CARD}, {more}}}\n".encode()


def wrong(*files: tuple[str, bytes]) -> str:
    with pytest.raises(FormMistakes) as caught:
        rulebook.read_rulebook(files)
    return "; ".join(each.message for each in caught.value.diagnostics)


@pytest.mark.parametrize(
    "says", ["{name:>99999999999}", "{name.__class__}", "{name!r}", "{value[0]}", "{0}", "{}", "{", "{nothing}"]
)
def test_a_sentence_has_our_words_between_braces_and_nothing_else(says: str) -> None:
    assert "says may have {kind}" in wrong(rule(f'find: [{{kinds: ["*"]}}], says: "{says}"'))
    rulebook.read_rulebook([rule('find: [{kinds: ["*"]}], says: "{name} has {{value}}"')])


@pytest.mark.parametrize(
    "check",
    [
        "secret_files.re",
        "secret_files.PlatformView",
        "secret_files._told",
        "secret_files.__doc__",
        "secret_files.at",
        "nothing.x",
        ".",
    ],
)
def test_a_check_is_a_function_of_its_file(check: str) -> None:
    assert wrong(rule(f'check: "{check}"')) == f"there is no check {check}"


@pytest.mark.parametrize("more", ['has: {"a[name=x].b": 1}', "has: {a..b: 1}", 'lacks: ["a[*]"]'])
def test_a_way_that_nothing_would_follow_is_wrong(more: str) -> None:
    assert "rule one: a" in wrong(rule(f'find: [{{kinds: ["*"], {more}}}], says: s'))
    assert "rule one: a" in wrong(rule('find: [{kinds: ["*"]}], says: s, set: {"a[0].b": 1}'))


def test_an_id_can_be_named_in_a_comment() -> None:
    assert "cannot be the id of a rule" in wrong(rule('find: [{kinds: ["*"]}], says: s', '"one two"'))


def test_one_id_is_one_rule_in_all_files() -> None:
    again = "firstlight-rules/audit/more.yaml", rule('find: [{kinds: ["*"]}], says: s')[1]
    assert "there is another rule one at" in wrong(rule('find: [{kinds: ["*"]}], says: s'), again)


def test_whoever_replaces_a_rule_of_ours_is_told_of() -> None:
    book = rulebook.read_rulebook([rule("find: [{kinds: [none/None]}], says: s", "secret-in-clear")])
    (found,) = rulebook.replaced_findings(book, tried=[rulebook.REPLACED_RULE])
    assert (found.message, str(found.place)) == (
        "this takes the place of firstlight's rule secret-in-clear", f"{FILE}:2:5",
    )  # fmt: skip
    assert list(rulebook.replaced_findings(book, tried=["another"])) == []
    assert (
        list(
            rulebook.replaced_findings(
                rulebook.read_rulebook([rule('find: [{kinds: ["*"]}], says: s')]), tried=[rulebook.REPLACED_RULE]
            )
        )
        == []
    )


@pytest.mark.parametrize("name", ["baseline-expired", "ignore-without-reason", "rule-replaced"])
def test_rules_about_excuses_stay(name: str) -> None:
    assert wrong(rule("find: [{kinds: [none/None]}], says: s", name)) == f"rule {name} cannot be replaced"


def test_a_rule_says_no_secret(tmp_path: Path) -> None:
    files = {
        "firstlight.yaml": "apiVersion: firstlight.dev/v1alpha1\nkind: Platform\nmetadata: {name: a}\n"
        "gitops: {engine: flux, url: https://git.example.org/a, branch: main}\nclusters: {a: {path: k}}\n",
        "k/all.yaml": "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {a: canary}\n---\n"
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {password: canary, colour: blue}\n",
    }
    tree = OverlaidTree(WorkTree(tmp_path), {path: text.encode() for path, text in files.items()})
    scene = PlatformView(platform=platform_reader.read_tree(tree), files=tree, today=datetime.date(2026, 11, 1))

    def messages(has: str) -> list[str]:
        more = f'find: [{{kinds: [/Secret, /ConfigMap], has: {{{has}: "*"}}}}], says: "{{name}} {{path}} {{value}}"'
        return [each.message for each in rulebook.findings(scene, rulebook.read_rulebook([rule(more)]), only=["one"])]

    assert messages('"stringData.*"') == ["s stringData.a "]
    assert messages("data.password") == ["c data.password "]
    assert messages("data.colour") == ["c data.colour blue"]
