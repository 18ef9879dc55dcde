"""A decision as JSON."""

import dataclasses
import datetime
import json

import msgspec
import pytest

from firstlight.commands.decide import data
from firstlight.model.component import Side
from firstlight.model.decision import Decision, DecisionItem, Risk
from tests.unit.commands.decide.test_text import HYBRID, SECRETS, TOLD, secret


def test_side_and_risk_stand_first() -> None:
    found = data.data(HYBRID)

    assert list(found)[:3] == ["side", "risk", "approval"]
    assert (found["side"], found["risk"], found["approval"]) == ("hybrid", "high", "lead")


def test_the_keys_are_stable() -> None:
    found = data.data(HYBRID)

    assert list(found) == [
        "side", "risk", "approval", "title", "changed", "items", "rendered", "procedure", "rollback", "checks",
        "affected", "doubts", "approved",
    ]  # fmt: skip
    assert list(found["items"][0]) == [
        "side", "risk", "approval", "path", "line", "oldPath", "title", "matter", "verb", "kind", "object", "component",
        "clusters", "components", "why", "fields", "rulings", "doubt",
    ]  # fmt: skip
    assert found["items"][0]["rulings"][0]["trees"][0]["steps"][0] == {
        "question": "operational", "text": "Is the cluster operational?", "answer": True,
    }  # fmt: skip
    assert [each["title"] for each in found["rendered"]] == ["Deployment web/web"]


def test_nothing_has_the_side_none() -> None:
    found = data.data(Decision(side=None, risk=Risk.LOW, items=()))

    assert (found["side"], found["risk"], found["changed"]) == ("none", "low", False)


@pytest.mark.parametrize("item", SECRETS)
def test_no_value_of_a_secret_is_in_it(item: DecisionItem) -> None:
    found = data.data(Decision(side=Side.GITOPS, risk=Risk.LOW, items=(item,)))

    assert found["items"][0]["fields"][0]["secret"]
    assert "hunter" not in json.dumps(found)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (datetime.date(2026, 1, 2), "2026-01-02"),
        (float("nan"), "nan"),
        (1 << 70, str(1 << 70)),
        ([True, None, b"x", {1: 2}], [True, None, "b'x'", "1 item"]),
        ({1: 2, 3: 4}, "2 keys"),
        ("a\udcff", "a\\udcff"),
    ],
)
def test_odd_values_are_still_json(value: object, expected: object) -> None:
    item = secret(dataclasses.replace(TOLD, after=value))
    found = data.data(Decision(side=Side.GITOPS, risk=Risk.LOW, items=(item,)))

    assert json.loads(msgspec.json.encode(found))["items"][0]["fields"][0]["after"] == expected
