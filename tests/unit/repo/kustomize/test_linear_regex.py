"""Patterns of selectors: the same answers as a regular expression, and no way to make them slow."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo.kustomize import linear_regex
from firstlight.repo.kustomize.resources import KustomizeProblem


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("web", "web", True),
        ("web", "web-1", False),
        ("web.*", "web-1", True),
        (".*", "anything", True),
        ("web|api", "api", True),
        ("web|api", "webapi", False),
        ("(web|api)-[0-9]+", "api-12", True),
        ("(?:web|api)", "web", True),
        ("[^a-c]x", "dx", True),
        ("[^a-c]x", "bx", False),
        ("[a-c-]x", "-x", True),
        ("a{2,3}", "aaa", True),
        ("a{2,3}", "aaaa", False),
        ("a{2}", "aa", True),
        ("a{2,}", "aaaaa", True),
        ("^web$", "web", True),
        ("^a|b$", "b", True),
        ("a$b", "a$b", False),
        (r"\d+\.\w+", "12.x_y", True),
        (r"\D", "1", False),
        ("a?b*c+?", "c", True),
        ("()", "", True),
        ("", "", True),
        ("", "a", False),
        (".", "\n", False),
        ("a{x}", "a{x}", True),
    ],
)
def test_matching(text: str, wanted: str, expected: bool) -> None:
    assert linear_regex.matches(text, wanted) is expected


@pytest.mark.parametrize(
    "text", ["(", "a)", "*a", r"\bx", "(?i)a", "[[:alpha:]]", "[a", "(" * 30 + ")" * 30, "x*" * 251]
)
def test_what_is_not_understood_is_said(text: str) -> None:
    with pytest.raises(KustomizeProblem):
        linear_regex.matches(text + ".", "x")


@given(
    st.recursive(
        st.sampled_from(["a", "b", ".", "[ab]", "[^a]", "-"]),
        lambda inner: st.one_of(
            st.tuples(inner, inner).map("".join),
            st.tuples(inner, inner).map(lambda each: f"(?:{each[0]}|{each[1]})"),
            st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{0,}"])).map(
                lambda e: f"(?:{e[0]}){e[1]}"
            ),
        ),
        max_leaves=6,
    ),
    st.text("ab-c", max_size=6),
)
def test_the_same_answers_as_a_regular_expression(text: str, wanted: str) -> None:
    assert linear_regex.matches(text, wanted) is (re.fullmatch(text, wanted) is not None)


@pytest.mark.parametrize("text", ["(a+)+b", "(a|a)*b", "(.*)*x", ".*.*.*.*.*.*x", "(a{20}){20}.*b"])
def test_no_pattern_takes_long(text: str) -> None:
    begin = time.process_time()

    assert linear_regex.matches(text, "a" * 250) is False

    assert time.process_time() - begin < 2


def test_repetition_cannot_fill_the_memory() -> None:
    with pytest.raises(KustomizeProblem):
        linear_regex.matches("(((a{99}){99}){99}){99}", "a")
