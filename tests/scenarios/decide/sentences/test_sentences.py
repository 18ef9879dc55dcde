"""What people say, asked of the repo of document 001: side, risk and procedure are right, or a question comes back."""

import functools
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from firstlight.commands.decide import rule_card, rule_files
from firstlight.commands.decide.rule_card import Suggestion
from firstlight.model.platform import Platform
from firstlight.repo import platform_reader
from tests.conftest import agreement

HERE = Path(__file__).parent
SENTENCES = yaml.safe_load((HERE / "sentences.yaml").read_text())
CORPUS = Path(os.environ.get("FIRSTLIGHT_CORPUS") or Path(__file__).parents[4] / "../shared/corpus")
REPO = CORPUS / "talos-gitops"
LEAST = 0.9
"""How many answers must be right, or a question; of what nothing was tuned on."""

pytestmark = pytest.mark.skipif(not REPO.is_dir(), reason="the corpus is not on this machine")


@functools.cache
def platform() -> Platform:
    return platform_reader.read(REPO)


def suggested(sentence: str) -> tuple[Suggestion, ...]:
    return rule_card.suggested_rules(sentence, rule_files.book(), platform())


@pytest.mark.parametrize("row", SENTENCES["tuned"])
def test_every_row_of_the_documents_is_understood_in_three_wordings(row: str) -> None:
    case = SENTENCES["tuned"][row]

    answers = {said: suggested(said) for said in case["said"]}

    assert len(answers) == 3
    for said, found in answers.items():
        card = found[0].card
        assert rule_card.is_sure(found), said
        assert {"rule": card.id, "side": card.side, "risk": card.risk, "way": "; ".join(card.ways)} == case["expect"], (
            said
        )


@pytest.mark.parametrize("name", ["checked", "held-out"])
def test_what_nothing_was_tuned_on_is_answered_rightly_or_asked_back(name: str) -> None:
    cases = SENTENCES[name]
    results = [_result(each) for each in cases]

    agreement(f"sentences on the repo of 001, {name}, right", results.count("right"), len(cases))
    agreement(
        f"sentences on the repo of 001, {name}, right or asked back", len(cases) - results.count("wrong"), len(cases)
    )
    assert results.count("wrong") <= (1 - LEAST) * len(cases) + 1e-9


def _result(case: dict[str, Any]) -> str:
    """``right``, ``asked`` where it is a question which rule or whose component is meant, or ``wrong``."""
    found = suggested(case["said"])
    if not found or not rule_card.is_sure(found):
        return "asked"
    card = found[0].card
    if card.id == case["rule"] and card.side == "owner":
        return "asked"
    return "right" if (card.id, card.side) == (case["rule"], case["side"]) else "wrong"
