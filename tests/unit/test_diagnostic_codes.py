"""Codes of diagnostics: each has one card, each card is used, and none is put together or looked for in a message."""

import re
from pathlib import Path

import pytest

from firstlight.document import diagnostic_cards
from tests import codes

KEBAB = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
INTERNAL = {"move": "carries the edits of a move into a patch; nobody sees it"}
"""Codes without a card, and why they need none."""


def test_every_code_has_a_card() -> None:
    cards = diagnostic_cards.cards()

    missing = [each for each in codes.scan().uses if each.code not in {*cards, *INTERNAL}]
    assert [str(each) for each in missing] == []


def test_every_card_is_used() -> None:
    audit = {code for code, card in diagnostic_cards.cards().items() if card.home == diagnostic_cards.AUDIT}

    # A rule of the audit is used by being there.
    assert [each for each in diagnostic_cards.cards() if each not in audit and not codes.is_named(each)] == []


def test_codes_are_words_with_dashes() -> None:
    names = {*diagnostic_cards.cards(), *(each.code for each in codes.scan().uses)}

    assert [each for each in sorted(names) if not KEBAB.fullmatch(each)] == []


def test_codes_are_written_out() -> None:
    assert codes.scan().built == ()


@pytest.mark.parametrize("path", codes.files(), ids=lambda path: path.parent.name)
def test_cards_are_sorted(path: Path) -> None:
    listed = [each.code for each in diagnostic_cards.read(path.read_bytes(), home="")]

    assert listed == sorted(listed)


@pytest.mark.parametrize("path", codes.files(), ids=lambda path: path.parent.name)
def test_cards_say_how_bad_it_is_where_that_is_always_the_same(path: Path) -> None:
    assert path.read_text() == codes.with_severities(path.read_text()), "make diagnostics"


def test_cards_read_well() -> None:
    ours = [each for each in diagnostic_cards.cards().values() if each.home != diagnostic_cards.AUDIT]

    assert [each.code for each in ours if each.title.endswith(".")] == []
    assert [each.code for each in ours if each.why and not each.why.endswith(".")] == []
    assert [each.code for each in ours if not each.fix.endswith(".")] == []


def test_the_page_is_what_the_cards_say() -> None:
    assert codes.PAGE.read_text() == codes.page(), "make diagnostics"
