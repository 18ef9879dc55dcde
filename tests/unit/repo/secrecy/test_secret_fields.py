"""Secrets wherever people write them: they are in no change, and in no report of one."""

import dataclasses
from pathlib import Path

import msgspec
import pytest

from firstlight.commands.decide import data, markdown
from firstlight.commands.decide import text as decide_text
from firstlight.model.change import Change
from firstlight.model.component import Side
from firstlight.model.decision import Decision, DecisionItem, Risk, Ruling
from tests.unit.repo.changes.secret_cases import CASES, SHOWN
from tests.unit.repo.changes.states import changes

OLD, NEW = "hunter1234", "hunter5678"
NUMBERS = ("90210001", "90210002")


def filled(text: str, old_or_new: int) -> str:
    return text.replace("SECRET-HERE", (OLD, NEW)[old_or_new]).replace("NUMBER-HERE", NUMBERS[old_or_new])


def reports(found: tuple[Change, ...]) -> str:
    """All that is said of changes, with every field as the gravest one."""
    items = []
    for each in found:
        rulings = tuple(
            Ruling(rule="r", side=Side.GITOPS, risk=Risk.LOW, why="w", field=one) for one in (*each.fields, None)
        )
        items += [DecisionItem(change=each, side=Side.GITOPS, risk=Risk.LOW, rulings=(one,)) for one in rulings]
    whole = Decision(side=Side.GITOPS, risk=Risk.LOW, items=tuple(items), doubts=tuple(each.doubt for each in found))
    return "\n".join(
        [
            decide_text.text(whole, columns=200, everything=True),
            markdown.text(whole),
            msgspec.json.encode(data.data(whole)).decode(),
        ]
    )


def told(found: tuple[Change, ...]) -> str:
    """Everything in changes themselves."""
    return "\n".join(
        repr((each.title, each.doubt, each.before, each.after, [dataclasses.astuple(one) for one in each.fields]))
        for each in found
    )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("way", ["added", "removed", "changed"])
def test_a_secret_is_seen_nowhere(tmp_path: Path, case: str, way: str) -> None:
    path, text = CASES[case]
    before = {} if way == "added" else {path: filled(text, 0)}
    after = {} if way == "removed" else {path: filled(text, 1)}

    found = changes(tmp_path, before, after)

    assert found
    for secret in (OLD, NEW, *NUMBERS):
        assert secret not in told(found)
        assert secret not in reports(found)
    fields = [field for each in found for field in each.fields]
    assert fields
    assert all(field.before is None and field.after is None for field in fields if field.is_secret)


@pytest.mark.parametrize("case", SHOWN)
def test_what_rules_need_is_still_there(tmp_path: Path, case: str) -> None:
    path, before, after, expected = SHOWN[case]

    found = changes(tmp_path, {path: before}, {path: after})

    assert [(field.before, field.after) for each in found for field in each.fields if not field.is_secret] == [expected]
