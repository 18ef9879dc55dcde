"""What strangers write is shown and not obeyed, in text and in JSON."""

import json
import unicodedata

import hypothesis
import pytest
from hypothesis import strategies

from firstlight.drawing import safe

UNSEEN = ("\x1b[31m", "\x07", "\x9b2J", "\x7f", "‮", "⁦", "​", "‏", "\u2028", "﻿", "­", "\U000e0041")


def is_plain(text: str) -> bool:
    """Whether nothing in a text moves a cursor, turns the direction, or is not seen."""
    return all(each in "\n\t" or unicodedata.category(each) not in ("Cc", "Cf", "Cs", "Zl", "Zp") for each in text)


@pytest.mark.parametrize("letters", UNSEEN, ids=ascii)
def test_json_has_escapes_and_means_the_same(letters: str) -> None:
    value = {f"key{letters}": [f"one{letters}two"]}

    for indent in (0, 2):
        made = safe.json(value, indent=indent)

        assert is_plain(made)
        assert json.loads(made) == value
    assert is_plain(safe.text(f"one{letters}two"))


@hypothesis.given(strategies.dictionaries(strategies.text(), strategies.text() | strategies.lists(strategies.text())))
def test_every_text_comes_back_from_json(value: dict[str, str | list[str]]) -> None:
    hypothesis.assume("@" not in str(value))

    made = safe.json(value, indent=2)

    assert json.loads(made) == value
    assert not safe._UNSEEN.search(made.replace("\n", ""))


def test_joiners_are_words_in_text_and_escaped_in_json() -> None:
    word = "a\u200cb\u200dc"

    assert safe.text(word) == word
    assert safe.json([word]) == '["a\\u200cb\\u200dc"]'


def test_letters_that_utf8_does_not_have_are_replaced() -> None:
    assert json.loads(safe.json({"a": "x\udcffy"})) == {"a": "x?y"}
