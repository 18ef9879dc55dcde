"""The globs of Argo CD: each dialect by cases from its own documentation, and all of them against a slow matcher."""

import subprocess
import time
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from firstlight.repo.argocd import globs


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("apps/*", "apps/a", True),
        ("apps/*", "apps/a/b", False),
        ("apps/**", "apps/a/b", False),
        ("apps/?", "apps/a", True),
        ("a?b", "a/b", False),
        ("apps/[a-c]", "apps/b", True),
        ("apps/[^a-c]", "apps/b", False),
        ("apps/[^a-c]", "apps/d", True),
        (r"apps/\*", "apps/*", True),
        (r"apps/\*", "apps/a", False),
        ("{a,b}", "a", False),
        ("*", "", True),
        ("", "", True),
    ],
)
def test_directories_are_matched_by_segments(pattern: str, path: str, expected: bool) -> None:
    assert globs.path_match(pattern, path) is expected


@pytest.mark.parametrize("pattern", ["[", "[a", "a\\", "[]"])
def test_a_pattern_that_go_refuses_is_refused(pattern: str) -> None:
    with pytest.raises(globs.BadPattern):
        globs.path_match(pattern, "a")


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("a/**/c", "a/c", True),
        ("a/**/c", "a/b/b/c", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", True),
        ("**/x.yaml", "x.yaml", True),
        ("**/x.yaml", "a/b/x.yaml", True),
        ("a/*.yaml", "a/b/c.yaml", False),
        ("a/{b,c}.yaml", "a/c.yaml", True),
        ("a/{b,c}.yaml", "a/d.yaml", False),
    ],
)
def test_doublestar_matches_any_number_of_directories(pattern: str, path: str, expected: bool) -> None:
    assert globs.doublestar_match(pattern, path) is expected


@pytest.mark.parametrize(
    ("pattern", "text", "separated", "expected"),
    [
        ("*", "a/b", False, True),
        ("*", "a/b", True, False),
        ("**", "a/b", True, True),
        ("https://git.example.org/*", "https://git.example.org/a", True, True),
        ("https://git.example.org/*", "https://git.example.org/a/b", True, False),
        ("web-*", "web-a", False, True),
        ("{web,db}-*", "db-x", False, True),
        ("[!a]b", "cb", False, True),
        ("[!a]b", "ab", False, False),
        ("a?c", "a/c", False, True),
        ("a?c", "a/c", True, False),
    ],
)
def test_projects_and_plain_directories(pattern: str, text: str, separated: bool, expected: bool) -> None:
    assert globs.gobwas_match(pattern, text, separated=separated) is expected


def test_alternatives_are_bounded() -> None:
    with pytest.raises(globs.BadPattern):
        globs.gobwas_match("{a,b}" * 20, "a")


def test_no_pattern_takes_long() -> None:
    before = time.process_time()

    assert not globs.git_match("*a" * 50 + "b", "a" * 1000)

    assert time.process_time() - before < 20, "trying one way after the other would take longer than the universe has"


letters = st.text("ab/", max_size=8)
patterns = st.lists(st.sampled_from(["a", "b", "/", "*", "**", "?", "[ab]", "[!a]"]), max_size=6).map("".join)


@hypothesis.given(patterns, letters)
def test_one_star_that_takes_everything_is_the_same_as_trying_all_ways(pattern: str, text: str) -> None:
    assert globs.gobwas_match(pattern, text) is _slowly(pattern, text)


def _slowly(pattern: str, text: str) -> bool:
    """Every way, one after the other."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return any(_slowly(pattern.lstrip("*"), text[n:]) for n in range(len(text) + 1))
    if not text:
        return False
    if pattern.startswith(("[ab]", "[!a]")):
        fits = text[0] in "ab" if pattern.startswith("[ab]") else text[0] != "a"
        return fits and _slowly(pattern[4:], text[1:])
    return (pattern[0] == "?" or pattern[0] == text[0]) and _slowly(pattern[1:], text[1:])


def test_files_are_matched_as_git_lists_them(tmp_path: Path) -> None:
    files = ["a.json", "a/b.json", "a/b/c.json", "a/b/d.yaml", "x/a.json", "[x]/y.json", "a/b1/c.json", "a/b2/c.json"]
    asked = [
        "*.json",
        "a/*.json",
        "a/*/c.json",
        "a/**/c.json",
        "a",
        "a/b",
        "a/b/",
        "?.json",
        "a/b[12]/c.json",
        "a/b[!1]/c.json",
        "*",
    ]
    for each in files:
        path = tmp_path / each
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("{}")
    git = ["git", "-C", str(tmp_path), "-c", "init.defaultBranch=main"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)

    for pattern in asked:
        listed = subprocess.run([*git, "ls-files", "-z", "--", pattern], check=True, capture_output=True, text=True)

        assert [each for each in sorted(files) if globs.git_match(pattern, each)] == sorted(
            listed.stdout.split("\0")[:-1]
        ), pattern
