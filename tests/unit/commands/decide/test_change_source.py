"""What was typed, and how to type it again."""

import pytest

from firstlight import errors
from firstlight.commands.decide import change_source
from firstlight.commands.decide.change_source import (
    NamedFiles,
    PatchFile,
    RevisionRange,
    StagedChanges,
    WorkTreeChanges,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("main...HEAD", RevisionRange(base="main", head="HEAD", since_fork=True)),
        ("v1..v2", RevisionRange(base="v1", head="v2")),
        ("v1.2..v1.3", RevisionRange(base="v1.2", head="v1.3")),
        ("main", RevisionRange(base="main")),
        ("main...", RevisionRange(base="main", head="HEAD", since_fork=True)),
        ("..work", RevisionRange(base="HEAD", head="work")),
        ("HEAD~3", RevisionRange(base="HEAD~3")),
    ],
)
def test_revisions_are_read_as_git_reads_them(text: str, expected: RevisionRange) -> None:
    assert change_source.between(text) == expected


@pytest.mark.parametrize("text", ["", " ", "..", "...", "--all", "-x"])
def test_what_names_no_revision_is_a_usage_error(text: str) -> None:
    with pytest.raises(errors.UsageError):
        change_source.between(text)


@pytest.mark.parametrize(
    ("one", "title", "again"),
    [
        (RevisionRange(base="main", head="HEAD", since_fork=True), "main...HEAD", ("--diff", "main...HEAD")),
        (RevisionRange(base="v1", head="v2"), "v1..v2", ("--diff", "v1..v2")),
        (RevisionRange(base="main"), "work tree against main", ("--diff", "main")),
        (StagedChanges(), "staged changes", ("--staged",)),
        (PatchFile(content=b"", name="a b.patch"), "patch a b.patch", ("--patch", "a b.patch")),
        (NamedFiles(paths=("a b", "c")), "2 files", ("--files", "a b", "c")),
    ],
)
def test_it_can_be_asked_again(
    one: RevisionRange | StagedChanges | PatchFile | NamedFiles, title: str, again: tuple[str, ...]
) -> None:
    assert one.title == title
    assert change_source.options(one) == again


def test_nothing_in_particular() -> None:
    assert change_source.options(WorkTreeChanges()) == ()
