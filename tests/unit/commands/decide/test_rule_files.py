"""Files with rules: how ours and a team's become one book, and what is said of mistakes."""

import jsonschema_rs
import pytest

from firstlight.commands.decide import rule_files
from firstlight.document import yaml_reader
from firstlight.document.mistakes import FormMistakes
from firstlight.model.place import Place
from tests.unit.commands.decide import books

RULE = "{id: mine, title: Mine, side: none, risk: low, why: so it is, when: [{matter: [tooling]}]"


def wrong(text: str) -> list[str]:
    """What is said of a team's file."""
    with pytest.raises(FormMistakes) as raised:
        rule_files.alone([("rules/z.yaml", books.TREES.encode()), ("rules/a.yaml", text.encode())])
    for each in raised.value.diagnostics:
        assert str(each.place) in raised.value.message
    return [f"{each.place}: {each.code}: {each.message} | {each.fix}" for each in raised.value.diagnostics]


def test_a_teams_rules_come_first_and_take_the_place_of_those_of_the_same_id() -> None:
    own = "rules:\n  - {id: rest, title: Ours, side: gitops, risk: critical, why: we say so, when: [{}]}\n"
    mine = rule_files.book([("firstlight-rules/own.yaml", f"{own}  - {RULE}}}".encode())])
    ours = rule_files.book()

    assert [each.id for each in mine.rules][:2] == ["rest", "mine"]
    assert mine.own == {"rest", "mine"}
    kept = [each.id for each in mine.rules[2:]]
    assert kept == [each.id for each in ours.rules if each.id not in mine.own]
    assert mine.places["mine"] == Place("firstlight-rules/own.yaml", 3, 5)
    assert ours.own == frozenset()


def test_files_are_taken_in_the_order_of_their_paths() -> None:
    def named(name: str) -> bytes:
        return f"rules: [{RULE.replace('mine', name)}}}]".encode()

    book = rule_files.alone([("b.yaml", named("second")), ("a.yaml", named("first"))])

    assert [each.id for each in book.rules] == ["first", "second"]


def test_our_own_files_are_right() -> None:
    assert rule_files.alone(rule_files.our_files()).rules == rule_files.book().rules


def test_the_schema_takes_what_is_right() -> None:
    validator = jsonschema_rs.validator_for(rule_files.rule_schema())

    for text in (books.TREES, books.RULES):
        assert validator.is_valid(yaml_reader.read_text(text, "a.yaml").documents[0].value)
    assert not validator.is_valid({"rules": [{"id": "a"}]})


MISTAKES = [
    (RULE + ", ¦riks: low}", "field-unknown: rules[0].riks is no field | Did you mean risk?"),
    (
        "¦{id: a, side: none, risk: low, why: x, when: [{}]}",
        "field-missing: rules[0].title is missing | Write title: …",
    ),
    (
        RULE.replace("risk: low", "¦risk: hihg") + "}",
        "field-wrong: rules[0].risk must be critical, high, low or medium | Did you mean high?",
    ),
    (RULE + ", ¦words: one}", "field-wrong: rules[0].words must be a list (- item) | Write [one]."),
    (RULE + ", words: [¦1]}", 'field-wrong: rules[0].words[0] must be a text | Write it in quotes: "1".'),
    (
        RULE + ", criteria: [¦network]}",
        "rule-name-unknown: there is no criterion network | There is network-foundation.",
    ),
    (RULE + ", checks: [¦syntacs]}", "rule-name-unknown: there is no check syntacs | Did you mean syntax?"),
    (RULE + ", ¦procedure: gitop}", "rule-name-unknown: there is no procedure gitop | Did you mean gitops?"),
    (
        RULE + ", answers: {¦restarts: true}}",
        "rule-name-unknown: there is no question restarts | Did you mean restart?",
    ),
    (
        RULE.replace("tooling", "¦toolin") + "}",
        "rule-name-unknown: there is no 'toolin' of matter | Did you mean tooling?",
    ),
    (
        RULE.replace("matter: [tooling]", "kinds: [¦Secret]") + "}",
        "rule-kind-wrong: 'Secret' is no kind | Write */Secret for any group, /Secret for Kubernetes' own.",
    ),
    (
        RULE.replace("matter: [tooling]", "paths: [¦a..b]") + "}",
        "rule-path-wrong: 'a..b' is no way to a field: '.b' begins with no step | "
        "Write such as spec.template.*.image; a step with a dot in it in double quotes.",
    ),
    (
        RULE.replace("matter: [tooling]", "bump: [major], ¦whole: true") + "}",
        "rule-whole-with-fields: an object as a whole has no path, value or version | Leave one of them out.",
    ),
    (
        RULE.replace("matter: [tooling]", 'paths: [¦"**.a.**.a.**.a.**.a.**.a.**.a.**"]') + "}",
        "rule-pattern-too-slow: there are more stars in it than can be tried in time | Write two that have at most 6.",
    ),
    (
        "¦{id: a, title: A, side: none, risk: low, why: x}",
        "rule-never-fits: nothing leads to the rule a | Write when: or words:.",
    ),
    (
        RULE.replace("id: mine", "¦id: My Rule") + "}",
        "field-name-wrong: 'My Rule' is no id | Write lower-case letters, digits and hyphens.",
    ),
    (
        RULE + "}\n- " + RULE.replace("id", "¦id", 1) + "}",
        "rule-id-twice: there are two with the id mine | Give one of them another.",
    ),
]


@pytest.mark.parametrize(("text", "said"), MISTAKES, ids=[said for _, said in MISTAKES])
def test_a_mistake_in_a_rule_has_its_place_and_what_to_write_instead(text: str, said: str) -> None:
    text = f"rules:\n- {text}"
    before = text.partition("¦")[0]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")

    assert f"rules/a.yaml:{line}:{column}: {said}" in wrong(text.replace("¦", ""))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "rules: []\nrules: []",
            "2:1: key-given-twice: rules is given twice, first in line 1; the last one counts | Keep one of them.",
        ),
        ("rules: [\n", "2:1: yaml-wrong: a '[' or '{' is not closed before the file ends | Close it."),
        ("- a", "1:1: field-wrong: the file must be a mapping (key: value) | Write a mapping (key: value)."),
        (
            "procedures:\n- {id: p, title: P, steps: [{stage: merge, text: x,\n  command: 'rm {cluster}'}]}",
            "3:3: rule-placeholder-unknown: {cluster} stands for nothing | "
            "There is branch, topic, fresh, undo, files, patch, asked, revert, since or mentions.",
        ),
        (
            "procedures:\n- {id: p, title: P, steps: [{stage: merge,\n  each: cluster, text: x, command: '{name}'}]}",
            "3:27: rule-placeholder-unknown: {name} stands for nothing | "
            "There is branch, topic, fresh, undo, files, patch, asked, revert, since, mentions or cluster "
            "for each cluster.",
        ),
        (
            "procedures:\n- {id: p, title: P,\n  like: [p]}",
            "3:10: rule-name-unknown: there is no other procedure p | "
            "There is gitops, bootstrap, machine, careful or emergency-cluster.",
        ),
        (
            "trees:\n- {id: t, title: T, questions: [{id: q, text: Q,\n  ifYes: q, ifNo: gitops}]}",
            "3:3: decision-tree-answer-wrong: 'q' leads nowhere | "
            "Write the id of a later question, or bootstrap, gitops or hybrid.",
        ),
    ],
)
def test_a_mistake_elsewhere_has_its_place_too(text: str, said: str) -> None:
    assert f"rules/a.yaml:{said}" in wrong(text)


def test_an_empty_file_is_no_rules() -> None:
    assert wrong("") == ["rules/a.yaml: one-document-expected: it must be one document | Write one, without ---."]


def test_all_mistakes_are_told_at_once() -> None:
    found = wrong(f"rules:\n  - {RULE}, checks: [a, b]}}\n  - {RULE.replace('mine', 'other')}, procedure: none}}")

    assert len(found) == 3


def test_an_id_in_two_files_is_told() -> None:
    files = [("a.yaml", f"rules: [{RULE}}}]".encode()), ("b.yaml", f"rules: [{RULE}}}]".encode())]

    with pytest.raises(FormMistakes, match=r"b.yaml:1:10: the id mine stands in a.yaml as well"):
        rule_files.alone(files)


def test_very_many_mistakes_are_counted() -> None:
    many = "\n".join(f"  - {RULE.replace('mine', f'r{number}')}, procedure: none}}" for number in range(100))

    with pytest.raises(FormMistakes, match="and 69 more"):
        rule_files.alone([("a.yaml", f"rules:\n{many}".encode())])
