"""No branch looks into what is written for people: it would break as soon as somebody rewords it."""

import ast

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
    ("commands/change/change_checks.py", "each.title not in names"): "a check of a team is told apart by its title",
    (
        "commands/node/cordon_drain.py",
        "each.reason == _NAMESPACE_GOES",
    ): "the API's reasons are words for programs",
    ("commands/override/alignment_search.py", "obstacles[found.message]"): "the same obstacle is told once",
    ("commands/recover/etcd_restore.py", "error.detail != said"): "the same problem is told once",
    ("commands/render/text.py", "shown[number].fix != each.fix"): "a fix that several share is printed once",
    ("plan/cycles.py", "need.why in ('needs', '')"): "needs is the key that declares it, and says nothing more",
    ("plan/deadlocks.py", "need.why == 'needs'"): "needs is the key that declares it, and says nothing more",
    ("lab/standins/connect.py", "item.title == value"): "the title of an item in 1Password",
    ("repo/move_edits/move_proposal.py", "entry.get('why') != wish.why"): "the why of a declaration is data",
}
"""File and branch, and why it may be there."""


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

    assert [str(each) for each in found if (each.path, each.code) not in ALLOWED] == []


def test_what_is_allowed_is_still_there() -> None:
    found = {(each.path, each.code) for each in messages.branches()}

    assert set(ALLOWED) - found == set()
