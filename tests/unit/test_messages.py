"""No branch looks into what is written for people: it would break as soon as somebody rewords it."""

import ast
import collections

import pytest

from tests import messages

WORDS_OF_OTHERS = ("clients/", "gates/causes/")
"""Packages that read what other programs say, and make types of it."""
ALLOWED = {
    (
        "lab/lab_settings.py",
        "str(error).partition(' - at `')",
    ): "words of msgspec, which has no field for the place",
    (
        "lab/simulations/simulated_cluster.py",
        "str(error) != said",
    ): "to log the same error once",
    ("commands/audit/checks/bootstrap_order.py", "problem.message.partition(';')"): "only the first clause is shown",
    ("commands/audit/rule_tests.py", "expected.says in finding.message"): "what a team's test asks for",
    ("commands/explain/component_story.py", "reasons_of[bond.why]"): "those with the same reason on one line",
    ("lab/standins/standin_vaults.py", "counts.get(item.title, 0)"): "the title of an item in 1Password",
    ("lab/standins/standin_vaults.py", "counts[item.title]"): "the title of an item in 1Password",
    ("lab/standins/connect.py", "item.title == value"): "the title of an item in 1Password",
    ("repo/move_edits/move_proposal.py", "entry.get('why') != wish.why"): "the why of a declaration is data",
}
"""File and branch, and why it may be there."""
BUDGET: dict[str, int] = {
    "commands/change": 2,
    "commands/change/cni": 1,
    "commands/doctor/rules": 2,
    "commands/drift": 2,
    "commands/handover": 1,
    "commands/override": 1,
    "commands/node": 1,
    "commands/recover": 1,
    "commands/render": 1,
    "gates": 3,
    "plan": 2,
    "render": 1,
}
"""Branches that wait to be mended, by package. It only shrinks."""


@pytest.mark.parametrize(
    "branch",
    [
        "'twice' in diagnostic.message",
        "each.message == other.message",
        "found.reason.startswith('read line by line')",
        "error.message.lower().partition(':')",
        "_PATTERN.search(cause.detail)",
        "each.message[:10] == 'it is not'",
        "TABLE[error.reason]",
        "TABLE.get(error.title.lower(), '')",
    ],
)
def test_such_a_branch_is_found(branch: str) -> None:
    assert len(list(messages.of_module(ast.parse(branch)))) == 1


@pytest.mark.parametrize(
    "fine", ["error.message == ''", "each.code == 'a'", "finding.title.split()", "print(a.message)"]
)
def test_what_looks_like_one_is_not(fine: str) -> None:
    assert list(messages.of_module(ast.parse(fine))) == []


def test_the_text_of_an_exception_is_one() -> None:
    source = "try:\n  run()\nexcept ValueError as error:\n  known = 'x' in str(error)\n"

    assert len(list(messages.of_module(ast.parse(source)))) == 1


def test_nothing_branches_on_a_message() -> None:
    found = [each for each in messages.branches() if not each.path.startswith(WORDS_OF_OTHERS)]
    wrong = collections.defaultdict(list)
    for each in found:
        if (each.path, each.code) not in ALLOWED:
            wrong[each.package].append(str(each))

    assert {name: places for name, places in wrong.items() if len(places) > BUDGET.get(name, 0)} == {}


def test_what_is_allowed_is_still_there() -> None:
    found = {(each.path, each.code) for each in messages.branches()}

    assert set(ALLOWED) - found == set()
