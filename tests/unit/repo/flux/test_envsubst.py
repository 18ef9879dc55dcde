"""Variables expanded as Flux's envsubst does it, quirks included."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.repo.flux import envsubst
from firstlight.repo.flux.envsubst import BadSubstitution

KNOWN = {
    "host": "api.example.org",
    "mixed": "abcdEFGH",
    "path": "/srv/data/file.tar.gz",
    "repeated": "abcABCabc",
    "umlaut": "äb",
    "empty": "",
}


def known(name: str) -> str | None:
    return KNOWN.get(name, None if name.startswith("SECRET") else "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain $text $(command) $", "plain $text $(command) $"),
        ("${host}", "api.example.org"),
        ("a ${host}:${none}!", "a api.example.org:!"),
        ("$${host} $$ $$$${x}", "${host} $ $${x}"),
        ("$$${host}", "$api.example.org"),
        ("${none:=x}", "x"),
        ("${none:-x}", "x"),
        ("${none=x y}", "x y"),
        ("${empty:-x}", "x"),
        ("${host:=x}", "api.example.org"),
        ("${none:+x}", "x"),
        ("${none:=}", ""),
        ("${none:=${host}}", "api.example.org"),
        ("${none:=http://${host}/${none:-y}}", "http://api.example.org/y"),
        ("${#mixed}", "8"),
        ("${#umlaut}", "3"),
        ("${mixed^}", "AbcdEFGH"),
        ("${mixed^^}", "ABCDEFGH"),
        ("${mixed,,}", "abcdefgh"),
        ("${mixed,}", "abcdEFGH"),
        ("${mixed:4}", "EFGH"),
        ("${mixed:4:2}", "EF"),
        ("${mixed:-2}", "abcdEFGH"),
        ("${mixed:${none:=-2}}", "GH"),
        ("${mixed:99}", ""),
        ("${mixed:1:99}", "bcdEFGH"),
        ("${mixed:x}", "abcdEFGH"),
        ("${path#*/}", "srv/data/file.tar.gz"),
        ("${path##*/}", "file.tar.gz"),
        ("${path%.*}", "/srv/data/file.tar"),
        ("${path%%.*}", "/srv/data/file"),
        ("${path#nothing}", "/srv/data/file.tar.gz"),
        ("${path#/sr[a-z]}", "/data/file.tar.gz"),
        ("${path#?}", "srv/data/file.tar.gz"),
        ("${path#[}", "/srv/data/file.tar.gz"),
        ("${repeated/abc/x}", "xABCabc"),
        ("${repeated//abc/x}", "xABCx"),
        ("${repeated/#abc/x}", "xABCabc"),
        ("${repeated/%abc/x}", "abcABCx"),
        ("${repeated/#ABC/x}", "abcABCabc"),
        ("${repeated/abc/}", "ABCabc"),
        ("${repeated/#abc/}", "abcABCabc"),
        ("${path//\\//-}", "-srv-data-file.tar.gz"),
        ("${repeated/${none:=abc}/${host}}", "api.example.orgABCabc"),
        ("${1}", ""),
        ("\\${host}", "\\api.example.org"),
    ],
)
def test_expanding(text: str, expected: str) -> None:
    found = envsubst.expand(text, known)

    assert found.text == expected
    assert not found.unknown


@pytest.mark.parametrize(
    "text",
    [
        "${", "${}", "${host", "${host-x}", "${host+x}", "${host?x}", "${host.x}", "${{host}}", "${ host }", "${#}",
        "${host:=x", "${host/a}", "${host/a/b", "${host#}", "${host%", "${host:}", "${host:1:}", "${host^x}",
        "${mixed:2:${none:=-1}}", "${a:=" * 40 + "}" * 40,
    ],
)  # fmt: skip
def test_what_flux_refuses(text: str) -> None:
    with pytest.raises(BadSubstitution):
        envsubst.expand(text, known)


@pytest.mark.parametrize(
    ("text", "expected", "unknown", "assumed"),
    [
        ("a ${SECRET} b", "a ${SECRET} b", ["SECRET"], []),
        ("${SECRET}/${host}", "${SECRET}/api.example.org", ["SECRET"], []),
        ("${SECRET^^} ${#SECRET}", "${SECRET^^} ${#SECRET}", ["SECRET"], []),
        ("${SECRET/a/b}", "${SECRET/a/b}", ["SECRET"], []),
        ("${SECRET:=x}", "x", [], ["SECRET"]),
        ("${none:=${SECRET}}", "${none:=${SECRET}}", ["SECRET"], []),
        ("${host:=${SECRET}}", "api.example.org", [], []),
        ("$${SECRET}", "${SECRET}", [], []),
    ],
)
def test_what_nobody_knows_stays(text: str, expected: str, unknown: list[str], assumed: list[str]) -> None:
    found = envsubst.expand(text, known)

    assert (found.text, list(found.unknown), list(found.assumed)) == (expected, unknown, assumed)


@given(st.text("ab${}:=/#%^,\\*-", max_size=30))
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        found = envsubst.expand(text, known)
    except BadSubstitution:
        return

    if "$" not in text:
        assert found.text == text


def test_no_pattern_takes_long() -> None:
    value = "a" * 1000
    begin = time.process_time()

    found = envsubst.expand("${x##" + "*a" * 400 + "b}", lambda _: value)

    assert found.text == value
    assert time.process_time() - begin < 3
