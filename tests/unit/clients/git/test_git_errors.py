import inspect

import pytest

from firstlight import errors
from firstlight.clients import git
from firstlight.clients.git import git_errors

SAID = [
    ("fatal: unable to access 'https://h/': Could not resolve host: h", "GitUnreachable"),
    ("fatal: unable to access 'https://h/': Failed to connect to h port 443: Connection refused", "GitUnreachable"),
    ("ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote repository.\n\n"
     "Please make sure you have the correct access rights\nand the repository exists.", "GitUnreachable"),
    ("fatal: unable to access 'https://h/': The requested URL returned error: 503", "GitUnreachable"),
    ("fatal: unable to access 'https://h/': SSL certificate problem: unable to get issuer", "GitUntrusted"),
    ("No ED25519 host key is known for h and you wanted strict checking.\nHost key verification failed.",
     "GitUntrusted"),
    ("fatal: Authentication failed for 'https://h/'", "GitUnauthorised"),
    ("fatal: could not read Username for 'https://h': terminal prompts disabled", "GitUnauthorised"),
    ("git@h: Permission denied (publickey).\nfatal: Could not read from remote repository.", "GitUnauthorised"),
    ("fatal: unable to access 'https://h/': The requested URL returned error: 403", "GitUnauthorised"),
    ("remote: Not Found\nfatal: repository 'https://h/x/' not found", "GitNotFound"),
    ("ERROR: Repository not found.\nfatal: Could not read from remote repository.", "GitNotFound"),
    ("fatal: '/x' does not appear to be a git repository\nfatal: Could not read from remote repository.",
     "GitNotFound"),
    ("fatal: Remote branch x not found in upstream origin", "GitNotFound"),
    ("fatal: couldn't find remote ref refs/heads/x", "GitNotFound"),
    ("error: Server does not allow request for unadvertised object abc", "GitNotFound"),
    ("fatal: bad object abc", "GitNotFound"),
    ("fatal: pathspec 'x' did not match any files", "GitNotFound"),
    ("ssh: connect to host h port 22: Connection timed out", "GitTimedOut"),
    ("fatal: Unable to create '/x/.git/index.lock': File exists.\n\nAnother git process seems to be running",
     "GitBusy"),
    ("fatal: not a git repository (or any of the parent directories): .git", "NotARepository"),
    ("fatal: something new", "GitError"),
    ("", "GitError"),
]  # fmt: skip


@pytest.mark.parametrize(("stderr", "expected"), SAID)
def test_what_git_says_and_what_it_means(stderr: str, expected: str) -> None:
    error = git_errors.from_output("ls-remote", stderr, target="https://h/x")

    assert type(error).__name__ == expected
    assert error.message.startswith("git ls-remote of https://h/x: ")
    assert "\n" not in error.message
    assert not error.detail.startswith("fatal: ")


def test_the_line_that_says_most() -> None:
    stderr = "Cloning into 'x'...\nhint: x\ngit@h: Permission denied (publickey).\nfatal: Could not read from remote.\n"

    assert git_errors.brief(stderr) == "git@h: Permission denied (publickey)."
    assert git_errors.brief("warning: a\nerror: b\nc\n") == "b"


@pytest.mark.parametrize(
    "said",
    [
        "fatal: unable to read {}",
        "fatal: transport 'file' not allowed\nfatal: could not fetch {} from promisor remote",
        "error: missing blob object '{}'",
    ],
)
def test_a_missing_object_is_to_be_fetched(said: str) -> None:
    error = git_errors.from_output("diff", said.format("0a" * 20))

    assert error.detail == f"the object {'0a' * 20} is missing"
    assert f"git cat-file -e {'0a' * 20}" in error.hint


def test_general_handlers_catch_them() -> None:
    assert issubclass(git_errors.GitUnreachable, errors.Unreachable)
    assert issubclass(git_errors.GitTimedOut, errors.TimedOut)


def test_the_drawing_of_the_tree_is_complete_and_all_are_public() -> None:
    drawn = inspect.getdoc(git_errors) or ""
    classes = [
        name
        for name, member in inspect.getmembers(git_errors, inspect.isclass)
        if issubclass(member, errors.ClientError)
    ]

    assert classes
    assert [name for name in classes if f" {name} " not in drawn] == []
    assert set(classes) <= set(git.__all__)
    assert "firstlight.clients.git.git_errors" in (inspect.getdoc(errors) or "")
