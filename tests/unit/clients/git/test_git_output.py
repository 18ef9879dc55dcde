import datetime
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstlight.clients.git import git_output
from firstlight.model import git

NAMES = st.binary(min_size=1, max_size=12).filter(lambda name: b"\0" not in name).map(os.fsdecode)
ID = "a" * 40


@given(st.lists(st.tuples(st.sampled_from("AMDT"), NAMES), max_size=4), st.lists(st.tuples(NAMES, NAMES), max_size=2))
def test_changes_come_back_whatever_the_names(plain: list[tuple[str, str]], renamed: list[tuple[str, str]]) -> None:
    letters = {"A": "added", "M": "modified", "D": "deleted", "T": "type-changed"}
    output = "".join(f":100644 100644 {ID} {ID} {letter}\0{name}\0" for letter, name in plain)
    output += "".join(f":100644 100644 {ID} {ID} R087\0{old}\0{new}\0" for old, new in renamed)

    changes = git_output.raw_diff(os.fsencode(output))

    assert [(c.status, c.path, c.old_path) for c in changes] == [
        *((letters[letter], name, "") for letter, name in plain),
        *(("renamed", new, old) for old, new in renamed),
    ]


@given(st.lists(NAMES, max_size=5))
def test_trees_come_back_whatever_the_names(names: list[str]) -> None:
    output = "".join(f"100755 blob {ID}      12\t{name}\x00160000 commit {ID}       -\tsub\x00" for name in names)

    entries = git_output.tree(os.fsencode(output))

    assert [entry.path for entry in entries if entry.kind == "executable"] == names
    assert all(entry.size == (12 if entry.kind == "executable" else 0) for entry in entries)


@given(st.lists(st.binary(max_size=40), max_size=5))
def test_files_come_back_whatever_they_contain(contents: list[bytes]) -> None:
    output = b"".join(f"{ID} blob {len(content)}\n".encode() + content + b"\n" for content in contents)

    assert list(git_output.blobs(output)) == [(ID, content) for content in contents]


@given(NAMES, NAMES)
def test_a_status(name: str, old: str) -> None:
    output = (
        f"# branch.oid {ID}\0# branch.head main\0"
        f"1 .M N... 100644 100644 100644 {ID} {ID} {name}\0"
        f"2 R. N... 100644 100644 100644 {ID} {ID} R100 {name}\0{old}\0"
        f"u UU N... 100644 100644 100644 100644 {ID} {ID} {ID} {name}\0"
        f"? {name}\0"
    )

    assert git_output.status(os.fsencode(output)) == git_output.WorkTreeStatus(
        ID,
        "main",
        (
            git.FileChange("modified", name),
            git.FileChange("renamed", name, old),
            git.FileChange("unmerged", name),
            git.FileChange("untracked", name),
        ),
    )


@pytest.mark.parametrize(
    ("letters", "status"),
    [("A.", "added"), (".D", "deleted"), ("AM", "added"), ("MM", "modified"), (".T", "type-changed")],
)
def test_what_a_file_is_on_the_whole(letters: str, status: str) -> None:
    found = git_output.status(f"1 {letters} N... 1 2 3 a b x\0".encode())

    assert found.changes[0].status == status


def test_a_head_that_is_nowhere() -> None:
    found = git_output.status(b"# branch.oid (initial)\0# branch.head (detached)\0")

    assert (found.commit, found.branch, found.changes) == ("", "", ())


def test_commits_with_any_message_and_any_time() -> None:
    fields = [
        ID,
        f"{ID} {ID}",
        "Ä\nB",
        "e",
        "2026-03-01T12:00:00+01:00",
        "c",
        "d",
        "292277026596-12-04T15:30:08+00:00",
        "s",
        "b\n\n",
    ]
    [first, second] = git_output.log(("\0".join(fields) + "\0\n").encode() * 2)

    assert first == second
    assert (first.id, first.parents, first.author, first.body) == (ID, (ID, ID), git.GitPerson("Ä\nB", "e"), "b")
    assert first.authored == datetime.datetime(2026, 3, 1, 11, tzinfo=datetime.UTC)
    assert first.committed.year == 1970


def test_what_a_remote_offers() -> None:
    refs = git_output.remote_refs(
        b"ref: refs/heads/trunk\tHEAD\n"
        + f"{ID}\tHEAD\n{ID}\trefs/heads/trunk\nbb\trefs/tags/v1\ncc\trefs/tags/v1^{{}}\n".encode()
    )

    assert (refs.head, refs.branch("trunk"), refs.tag("v1"), refs.tag("v2")) == ("trunk", ID, "cc", "")


@pytest.mark.parametrize("flag", [" ", "+", "*", "=", "!"])
def test_what_a_push_says(flag: str) -> None:
    output = (
        f"To https://h/x\n{flag}\t{ID}:refs/heads/a:b\tx\n{flag}\t{ID}:refs/heads/main\t[words] (why)\nDone\n".encode()
    )

    assert git_output.pushed(output, "refs/heads/main") == (flag, "[words] (why)")


@pytest.mark.parametrize(
    ("parse", "output"),
    [
        (git_output.raw_diff, b"x\0"),
        (git_output.raw_diff, b":1 2 a b X\0x\0"),
        (git_output.raw_diff, b":1 2 a b R100\0x\0"),
        (git_output.raw_diff, b":1 2 a b M\0x"),
        (git_output.status, b"9 x\0"),
        (git_output.status, b"1 .M x\0"),
        (git_output.status, b"1 .? N... 1 2 3 a b x\0"),
        (git_output.tree, b"100644 blob a\tx\0"),
        (git_output.tree, b"100999 blob a 1\tx\0"),
        (git_output.log, b"a\0b\0"),
        (git_output.remote_refs, b"nonsense\n"),
        (lambda output: list(git_output.blobs(output)), b"a missing\n"),
        (lambda output: list(git_output.blobs(output)), b"a blob 9\nx\n"),
        (lambda output: git_output.pushed(output, "refs/heads/x"), b"fatal\n"),
    ],
)
def test_what_makes_no_sense(parse: "object", output: bytes) -> None:
    assert callable(parse)
    with pytest.raises(ValueError, match=r".+"):
        parse(output)
