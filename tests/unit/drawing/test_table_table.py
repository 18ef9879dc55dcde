import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.drawing import safe, table


def test_columns_are_as_wide_as_their_widest_cell() -> None:
    assert table.render([["a", "bb", "c"], ["aaa", "b", "ccc"]]) == ["a     bb   c", "aaa   b    ccc"]


def test_colours_and_wide_characters_are_measured_as_they_are_shown() -> None:
    assert table.width("\x1b[32m✔\x1b[0m") == 1
    assert table.width("日") == 2


@given(st.text(alphabet="ab日\u00e9", max_size=40), st.integers(2, 20))
def test_a_cut_line_always_fits_and_is_left_alone_if_it_did(line: str, columns: int) -> None:
    short = table.cut(line, columns)

    assert table.width(short) <= columns
    assert (short == line) == (table.width(line) <= columns)


@given(st.text())
def test_safe_text_carries_no_escape_sequence(value: str) -> None:
    assert not any((ord(each) < 32 and each not in "\t\n") or 127 <= ord(each) < 160 for each in safe.text(value))


@pytest.mark.parametrize(
    "character", ["\u202e", "\u2066", "\u200f", "\u061c", "\u2028", "\u200b", "\ufeff", "\U000e0041"]
)
def test_safe_text_does_not_turn_around_or_hide_anything(character: str) -> None:
    assert safe.text(f"a{character}b") == f"a\\u{ord(character):04x}b"


def test_safe_text_leaves_words_of_all_languages_alone() -> None:
    for words in ("Grüße, 日本", "שלום", "می\u200cخواهم", "👩\u200d🚀"):
        assert safe.text(words) == words
