"""When files were committed last, as git prints it."""

import pytest

from firstlight.clients.git import git_output

NEW, OLD = b"2026-11-16T16:38:20+00:00", b"2025-01-02T03:04:05+01:00"


def test_the_newest_commit_of_a_file_counts() -> None:
    output = NEW + b"\0\0\na\0" + OLD + b"\0\0\na\0b c\0line\nend\0"

    found = {name: when.isoformat() for name, when in git_output.last_commits(output).items()}

    assert found == {"a": NEW.decode(), "b c": OLD.decode(), "line\nend": OLD.decode()}


def test_nothing_is_nothing() -> None:
    assert git_output.last_commits(b"") == {}


def test_what_is_something_else_is_said() -> None:
    with pytest.raises(ValueError, match="isoformat"):
        git_output.last_commits(b"yesterday\0\0\na\0")
