"""Lines and command lines compared."""

import pytest

from firstlight.model.change import ChangedField
from firstlight.repo.changes import line_changes


def compared(before: str, after: str, *, is_template: bool = False) -> tuple[ChangedField, ...]:
    first, second = (line_changes.lines_said(each, is_template=is_template) for each in (before, after))
    return line_changes.line_fields(first, second, "a.sh")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a\n", "\n\n# why\na # because\n"),
        ("a # one\n", "a # two\n"),
    ],
)
def test_no_difference(before: str, after: str) -> None:
    assert compared(before, after) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [("a\n{{/* one\n two */}}\nb\n", "a\nb\n"), ("a {# one #}\n", "a {# two #}\n")],
)
def test_comments_of_templates_are_none_elsewhere(before: str, after: str) -> None:
    assert compared(before, after, is_template=True) == ()
    assert compared(before, after), "a shell would run what is between them"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("#!/bin/sh\n", "#!/bin/bash\n"),
        ("echo 'a # b'\n", "echo 'a # c'\n"),
        ("cat <<EOF\n# a\nEOF\n", "cat <<EOF\n# b\nEOF\n"),
        ("echo a#b\n", "echo a#c\n"),
        ("  indented\n", "    indented\n"),
    ],
)
def test_a_difference(before: str, after: str) -> None:
    assert compared(before, after)


def test_a_line_put_in_keeps_the_others() -> None:
    (found,) = compared("a\nb\nc\n", "a\nnew\nb\nc\n")

    assert (found.steps, found.after, found.place.line) == (("line 2",), "new", 2)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("helm upgrade a --version 1.0", "helm upgrade a --version 2.0", [(("--version",), "1.0", "2.0")]),
        ("helm upgrade a --version=1.0", "helm upgrade a --version=2.0", [(("--version",), "1.0", "2.0")]),
        ("  --version 1.0 \\", "  --version 2.0 \\", [(("--version",), "1.0", "2.0")]),
        ("helm i a --set b.c=1", "helm i a --set b.c=2", [(("--set", "b.c"), "1", "2")]),
        ("helm i a --set=b.c=1", "helm i a --set=b.c=2", [(("--set", "b.c"), "1", "2")]),
        ("VERSION=1", "VERSION=2", [(("VERSION",), "1", "2")]),
        ("version := '1'", "version := '2'", [(("version",), "1", "2")]),
        ("kubectl apply -f a", "kubectl apply -f a --prune", [(("[4]",), None, "--prune")]),
        ("kubectl apply -f a", "talosctl apply -f a", []),
        ('a "odd', 'a "other', [(("[1]",), '"odd', '"other')]),
    ],
)
def test_words(before: str, after: str, words: list[tuple[tuple[str, ...], str | None, str | None]]) -> None:
    assert list(line_changes.changed_words(before.strip(), after.strip())) == words


@pytest.mark.parametrize(
    "line",
    [
        "kubectl create secret generic a --from-literal=x={}",
        "helm upgrade a b --set admin.password={}",
        "API_TOKEN={}",
        "curl -H 'Authorization: Bearer {}' https://example.org",
        "git clone https://ada:{}@example.org/a.git",
        "-----BEGIN PRIVATE KEY----- {}",
        "kubectl apply -f - <<EOF\nkind: Secret\nstringData:\n  a: {}\nEOF",
        "export A=1 API_KEY='{}'; kubectl get nodes",
        "  adminPassword: {}",
    ],
)
def test_secrets_in_lines(line: str) -> None:
    for before, after in ((line.format("hunter2"), line.format("hunter3")), ("", line.format("hunter2"))):
        for field in compared(before, after):
            assert "hunter" not in f"{field.steps} {field.before} {field.after}"


def test_too_many_lines_end() -> None:
    before = "".join(f"{n}\n" for n in range(4000))

    assert 0 < len(compared(before, before.replace("\n", "x\n"))) < 4001
