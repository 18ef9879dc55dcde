"""Expressions of strangers: the same answers as in Go, and no way to make them slow."""

import re
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.document import go_regex
from firstlight.repo.kustomize import selectors
from firstlight.repo.kustomize.resources import KustomizationError


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
        ("(?i)Web", "wEB", True),
        (r"\bweb\b", "web", True),
        ("[[:alpha:]]+", "web", True),
        (r"\pL+", "é", True),
        (r"\Qa.b\E.", "a.bc", True),
        ("a.", "a\udc80", True),
    ],
)
def test_matching(text: str, wanted: str, expected: bool) -> None:
    assert go_regex.fullmatch(text, wanted) is expected


@pytest.mark.parametrize(
    "text",
    [
        "(",
        "a)",
        "*a",
        "a**",
        "[a",
        "[z-a]",
        r"\C",
        r"(a)\1",
        "(?=a)b",
        "(?<!a)b",
        r"a\Z",
        "a{1001}",
        "(?#note)a",
        "a++",
    ],
)
def test_what_go_does_not_understand_is_said(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        go_regex.fullmatch(text, "x")
    with pytest.raises(ValueError, match=r"."):
        go_regex.search(text, "x")
    with pytest.raises(KustomizationError, match="is not understood"):
        selectors.matches(text, "x")


def test_an_expression_may_match_a_part() -> None:
    assert go_regex.search(r"secrets/.*\.yaml$", "a/secrets/b.yaml")
    assert not go_regex.search(r"secrets/.*\.yaml$", "a/secrets/b.yaml.bak")
    assert go_regex.search("secrets", "a/secrets/b")
    assert not go_regex.search("^secrets", "a/secrets/b")


def test_the_engine_is_loaded_only_where_it_is_needed() -> None:
    code = (
        "import sys; from firstlight.document import go_regex;"
        "go_regex.fullmatch('apps/v1', 'a'); go_regex.fullmatch('.*', 'a'); go_regex.fullmatch('a.b', 'a');"
        "print('re2' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


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
    assert go_regex.fullmatch(text, wanted) is (re.fullmatch(text, wanted) is not None)


@pytest.mark.parametrize("text", ["(a+)+b", "(a|a)*b", "(.*)*x", ".*.*.*.*.*.*x", "(a{20}){20}.*b"])
def test_no_pattern_takes_long(text: str) -> None:
    begin = time.process_time()

    assert go_regex.fullmatch(text, "a" * 250) is False
    assert go_regex.search(f"{text}$", "a" * 100_000) is False

    assert time.process_time() - begin < 2


@pytest.mark.parametrize("text", ["(((a{99}){99}){99}){99}", r"(\pL{100}|b){10}"])
def test_repetition_cannot_fill_the_memory(text: str) -> None:
    with pytest.raises(ValueError, match=r"repetition size|too large"):
        go_regex.fullmatch(text, "a")
