"""What was typed, and how to type it again."""

import pytest

from firstlight import errors
from firstlight.operate.deciding import asked
from firstlight.operate.deciding.asked import Anything, Between, Files, Patch, Staged


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("main...HEAD", Between(base="main", head="HEAD", since_fork=True)),
        ("v1..v2", Between(base="v1", head="v2")),
        ("v1.2..v1.3", Between(base="v1.2", head="v1.3")),
        ("main", Between(base="main")),
        ("main...", Between(base="main", head="HEAD", since_fork=True)),
        ("..work", Between(base="HEAD", head="work")),
        ("HEAD~3", Between(base="HEAD~3")),
    ],
)
def test_revisions_are_read_as_git_reads_them(text: str, expected: Between) -> None:
    assert asked.between(text) == expected


@pytest.mark.parametrize("text", ["", " ", "..", "...", "--all", "-x"])
def test_what_names_no_revision_is_a_usage_error(text: str) -> None:
    with pytest.raises(errors.UsageError):
        asked.between(text)


@pytest.mark.parametrize(
    ("one", "title", "again"),
    [
        (Between(base="main", head="HEAD", since_fork=True), "main...HEAD", ("--diff", "main...HEAD")),
        (Between(base="v1", head="v2"), "v1..v2", ("--diff", "v1..v2")),
        (Between(base="main"), "work tree against main", ("--diff", "main")),
        (Staged(), "staged changes", ("--staged",)),
        (Patch(content=b"", name="a b.patch"), "patch a b.patch", ("--patch", "a b.patch")),
        (Files(paths=("a b", "c")), "2 files", ("--files", "a b", "c")),
    ],
)
def test_it_can_be_asked_again(one: Between | Staged | Patch | Files, title: str, again: tuple[str, ...]) -> None:
    assert one.title == title
    assert asked.options(one) == again


def test_nothing_in_particular() -> None:
    assert asked.options(Anything()) == ()
