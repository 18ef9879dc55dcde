"""Trailers, held against what git itself finds in the same messages."""

import shutil
import subprocess

import hypothesis
import pytest
from hypothesis import strategies as st

from firstlight.commands.decide import trailers

GIT = shutil.which("git") or "git"
SCISSORS = "# ------------------------ >8 ------------------------"
BODIES = {
    "one": "Why it is so.\n\nApproved-by: Ada <ada@example.org>",
    "only trailers": "Approved-by: Ada <ada@example.org>\nReviewed-by: Bo <bo@example.org>",
    "not in the last paragraph": "Approved-by: Ada <ada@example.org>\n\nand then some words",
    "words among them": "Approved-by: Ada <ada@example.org>\nand then some words",
    "git's own among words": "See below\nSigned-off-by: Bo <bo@example.org>\nApproved-by: Ada <ada@example.org>",
    "too many words": "a\nb\nc\nd\ne\nf\ng\nSigned-off-by: Bo <bo@example.org>\nApproved-by: Ada <ada@example.org>",
    "cherry-picked": "(cherry picked from commit 1a2b3c4)\nApproved-by: Ada <ada@example.org>",
    "folded": "Approved-by: Ada\n  <ada@example.org>\nReviewed-by: Bo <bo@example.org>",
    "folded words first": "  Approved-by: Ada <ada@example.org>\nReviewed-by: Bo <bo@example.org>",
    "space before the colon": "Approved-by : Ada <ada@example.org>",
    "no space after the colon": "Approved-by:Ada <ada@example.org>",
    "a key of two words": "Approved by: Ada <ada@example.org>",
    "blank lines at the end": "Words.\n\nApproved-by: Ada <ada@example.org>\n\n \n",
    "a comment in between": "Approved-by: Ada <ada@example.org>\n# a comment\nReviewed-by: Bo <bo@example.org>",
    "a blank line of spaces": "Words: many\n  \nApproved-by: Ada <ada@example.org>",
    "a form feed, which is no blank line": "Approved-by: Ada <ada@example.org>\n\x0c\nReviewed-by: Bo <bo@example.org>",
    "below scissors": f"Words.\n\n{SCISSORS}\n\nApproved-by: Ada <ada@example.org>",
    "above scissors": f"Approved-by: Ada <ada@example.org>\n{SCISSORS}\nand words",
    "conflicts at the end": "Approved-by: Ada <ada@example.org>\n\nConflicts:\n\ta.yaml\n\n# words",
    "conflicts and words": "Approved-by: Ada <ada@example.org>\n\nConflicts:\n\ta.yaml\nwords",
    "carriage returns": "Words.\r\n\r\nApproved-by: Ada <ada@example.org>\r\nReviewed-by: Bo <bo@example.org>\r",
    "nothing": "",
    "a link": "https://example.org/1",
}


def of_git(body: str) -> list[tuple[str, str]]:
    """What git finds in a message with this body."""
    done = subprocess.run(
        [GIT, "interpret-trailers", "--parse", "--no-divider"],
        input=f"title\n\n{body}\n".encode(),
        capture_output=True,
        check=True,
        env={"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"},
    )
    pairs = (line.partition(":") for line in done.stdout.decode().split("\n") if line)
    return [(key.strip(), " ".join(value.split())) for key, _, value in pairs]


def ours(body: str) -> list[tuple[str, str]]:
    return [(each.key, " ".join(each.value.split())) for each in trailers.trailers_of(body)]


@pytest.mark.parametrize("name", BODIES)
def test_as_git_finds_them(name: str) -> None:
    assert ours(BODIES[name]) == of_git(BODIES[name])


LINE = st.sampled_from(
    ["", " ", "words and words", "Approved-by: Ada <a@example.org>", "  folded", "Signed-off-by: B <b@example.org>",
     "# comment", "Key:", "not a key: x", "(cherry picked from commit 1)", "Reviewed-by : C <c@example.org>",
     "\x0c", "\x0bwords", "\r", "Acked-by: D <d@example.org>\r", SCISSORS, SCISSORS[2:], "Conflicts:", "\ta.yaml"]
)  # fmt: skip


@hypothesis.settings(max_examples=200)
@hypothesis.given(st.lists(LINE, max_size=9).map("\n".join))
def test_as_git_finds_them_in_anything(body: str) -> None:
    assert ours(body) == of_git(body)


@pytest.mark.parametrize(
    ("value", "name", "email"),
    [
        ("Ada <ada@example.org>", "Ada", "ada@example.org"),
        ("Ada  Lovelace <ada@example.org> ", "Ada Lovelace", "ada@example.org"),
        ("<ada@example.org>", "", "ada@example.org"),
    ],
)
def test_a_person(value: str, name: str, email: str) -> None:
    assert trailers.person(value) == trailers.TrailerPerson(name, email)


@pytest.mark.parametrize("value", ["Ada", "ada@example.org", "Ada <ada> <bo@example.org>", "Ada <a b@example.org>", ""])
def test_no_person(value: str) -> None:
    assert trailers.person(value) is None
