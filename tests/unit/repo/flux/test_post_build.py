"""Variables in objects: Flux works on their text, so types change with what a variable stands for."""

import copy
from typing import Any

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo.flux import post_build
from firstlight.repo.flux.envsubst import BadSubstitution

VARIABLES = {
    "COUNT": "3",
    "ON": "true",
    "WORD": "web",
    "LIST": '["10.0.0.0/8", "10.1.0.0/16"]',
    "MAP": "{a: 1}",
    "NUMBER_TEXT": '"5"',
    "VERSION": "1.10",
    "PAIR": "a: b",
    "DATE": "2024-01-01",
    "YES": "yes",
}


def substituted(value: Any) -> Any:
    return post_build.substitute({"spec": value}, lambda name: VARIABLES.get(name, "")).value["spec"]


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("${COUNT}", 3),
        ("${ON}", True),
        ("${YES}", True),
        ("${VERSION}", 1.1),
        ("v${VERSION}", "v1.10"),
        ("${NUMBER_TEXT}", "5"),
        ("${LIST}", ["10.0.0.0/8", "10.1.0.0/16"]),
        ("${MAP}", {"a": 1}),
        ("${NONE}", None),
        ("x${NONE}", "x"),
        ("${DATE}", "2024-01-01"),
        ("${WORD} and ${WORD}", "web and web"),
        ("https://${WORD}:80/a", "https://web:80/a"),
        ("${COUNT}:30", "3:30"),
        ("- ${WORD}", "- web"),
        ("name: ${COUNT}", "name: 3"),
        ("${COUNT}\n", "3\n"),
        ("line\n${COUNT}", "line\n3"),
        ("'${COUNT}'", "'3'"),
        ("$${COUNT}", "${COUNT}"),
        ("no dollar", "no dollar"),
        (5, 5),
        (["${COUNT}", {"a": "${WORD}"}], [3, {"a": "web"}]),
        ({"${WORD}-key": "${COUNT}"}, {"web-key": 3}),
    ],
)
def test_what_a_text_becomes(written: Any, expected: Any) -> None:
    before = copy.deepcopy(written)

    assert substituted(written) == expected
    assert written == before


@pytest.mark.parametrize("written", ["${PAIR}", "x ${PAIR}", "${", "${a.b}"])
def test_what_breaks_the_text_around_it(written: str) -> None:
    with pytest.raises(BadSubstitution):
        substituted(written)


@given(st.text(r"aZ019_./@$%()=+~^\,;-: e", min_size=1, max_size=9), st.sampled_from(["value: ", "- "]))
def test_what_is_not_read_again_would_be_the_same(text: str, before: str) -> None:
    hypothesis.assume(post_build._SIMPLE.fullmatch(text))

    try:
        expected = post_build._read(before + text)
    except BadSubstitution:
        with pytest.raises(BadSubstitution):
            post_build._scalar(text)
    else:
        assert post_build._scalar(text) == expected


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_objects_that_do_not_want_it(where: str) -> None:
    value = {"metadata": {where: {"kustomize.toolkit.fluxcd.io/substitute": "disabled"}}, "spec": "${COUNT}"}

    assert post_build.substitute(value, lambda _: "x").value is value


def test_what_does_not_change_is_shared() -> None:
    value = {"metadata": {"name": "a"}, "spec": {"deep": {"er": 1}, "text": "${COUNT}"}}

    found = post_build.substitute(value, lambda _: "x").value

    assert found["metadata"] is value["metadata"]
    assert found["spec"]["deep"] is value["spec"]["deep"]  # type: ignore[index]
