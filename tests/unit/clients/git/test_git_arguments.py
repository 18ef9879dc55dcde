import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.clients.git import git_arguments


@pytest.mark.parametrize(
    "text", ["main", "v1.2.3", "feature/ü-1", "HEAD", "HEAD~3", "a^", "a^2~1", "f" * 40, "origin/main", "@", "a@b"]
)
def test_revisions(text: str) -> None:
    assert git_arguments.revision(text) == text


@pytest.mark.parametrize(
    "text",
    ["", "-x", "--all", "^main", "a..b", "a...b", ":/fix", "a:b", "a^{/fix}", "a@{1}", "@{-1}", "a^@", "a^!", "a^-1",
     "a b", "a\nb", "a\0", "a*", "a[b", "a\\b", "x" * 251, "~1"],
)  # fmt: skip
def test_what_is_no_revision(text: str) -> None:
    with pytest.raises(errors.UsageError, match="does not name a commit"):
        git_arguments.revision(text)


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(min_size=1, max_size=12), st.text(alphabet="ab./@-~^{:lock", min_size=1, max_size=12)))
def test_branches_are_what_git_takes_for_branches(text: str) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        return
    if b"\0" in encoded:
        done = 1
    else:
        done = subprocess.run(["git", "check-ref-format", b"refs/heads/" + encoded], check=False).returncode
    try:
        git_arguments.branch(text)
        ours = 0
    except errors.UsageError:
        ours = 1
    # Ours is narrower: git takes these as full names, but nobody means a branch by them.
    if text not in {"@", "HEAD"} and not text.startswith("-"):
        assert ours == done


@pytest.mark.parametrize("text", ["a", "-a", "a/b", "a\nb", "*.yaml", ":(top)x", "..."])
def test_paths(text: str) -> None:
    assert git_arguments.path(text) == text


@pytest.mark.parametrize("text", ["", "/etc", "../x", "a/../b", "a//b", "./a", "a/", "a\0b", ".."])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(errors.UsageError):
        git_arguments.path(text)


@pytest.mark.parametrize("text", ["", " ", "a\nb", "a <b>", "a\0"])
def test_who_is_nobody(text: str) -> None:
    with pytest.raises(errors.UsageError):
        git_arguments.person(text)
