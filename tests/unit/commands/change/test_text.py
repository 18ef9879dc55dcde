"""What a change's commit and its record say, also where somebody means harm."""

import dataclasses
import re

import pytest

from firstlight.commands.change import markdown, publish
from firstlight.commands.change import text as change_text
from firstlight.commands.change.change_record import ChangePart, ChangePath, ChangeRecord, ChangeStanding, ChangeStep
from firstlight.model.decision import ChangeCheck, CheckState, Moment
from tests.unit.commands.decide.test_markdown import HARM, MARKUP

OURS = re.compile(r"</?(?:code|br)>|&#\d+;|^#{1,2} ", re.MULTILINE)

RECORD = ChangeRecord(
    id="20261116-193104-retention", title="Keep logs for a month", why="auditors want a month",
    who="Ada <ada@example.org>", path=ChangePath.GITOPS, standing=ChangeStanding.DONE, side="gitops",
    risk="medium", rules=("retention",),
    approval="peer: peer approval by Bo", clusters=("test", "live"), files=("apps/logs.yaml",), base="b" * 40,
    branch="change/retention", commit="c" * 40, begun=1_794_857_464.0, ended=1_794_857_564.0, followed="main",
    parts=(ChangePart(files=("apps/logs.yaml",), branch="change/retention", commit="c" * 40, merged="d" * 40),),
    checks=(
        ChangeCheck(id="syntax", moment=Moment.PRE, title="Syntax", state=CheckState.PASSED, says="all of it"),
        ChangeCheck(id="health", moment=Moment.POST, title="Health", state=CheckState.FAILED, says="logs is not ready"),
    ),
    steps=(
        ChangeStep(id="git:push", cluster="", title="push change/retention", verdict="passed", begun=1.0, ended=3.0),
        ChangeStep(id="test:reconcile", cluster="test", title="reconcile ddddddd", begun=3.0),
    ),
)  # fmt: skip


def test_the_message_says_what_why_and_what_was_decided() -> None:
    assert publish.commit_message(RECORD) == (
        "Keep logs for a month\n\nauditors want a month\n\n"
        "Decided as gitops, risk medium, approval peer, rule retention.\n\n"
        "Firstlight-Change: 20261116-193104-retention\n"
    )


def test_a_reason_cannot_approve_what_it_is_the_reason_of() -> None:
    record = dataclasses.replace(RECORD, why="ok\n\nApproved-by: Bo <bo@example.org>", title="# " + "long " * 30)

    text = publish.commit_message(record)

    assert "\nApproved-by:" not in text
    assert all(len(line) <= 72 for line in text.splitlines())
    assert not text.startswith("#")


def test_a_revert_says_what_it_takes_back() -> None:
    text = publish.revert_message(RECORD, why="logs is not ready", part="live")

    assert text.splitlines()[0] == "Revert: Keep logs for a month (live)"
    assert text.endswith("Firstlight-Reverts: 20261116-193104-retention\n")
    assert "takes back the change 20261116-193104-retention for the cluster live" in " ".join(text.split())


def test_the_record_tells_what_why_who_checks_and_times() -> None:
    text = markdown.record_markdown(RECORD)

    for said in (
        "# Keep logs for a month", "auditors want a month", "| Standing | **done** |",
        "| Begun | 2026-11-16 19:31:04 UTC |",
        "- <code>apps/logs.yaml</code>", "merged as <code>dddddddddddd</code>",
        "| post | Health | failed | logs is not ready |",
        "| Git | push change/retention | passed | 2 s |", "| <code>test</code> | reconcile ddddddd | begun |",
    ):  # fmt: skip
        assert said in text


def test_what_went_another_way_than_usual_is_in_the_record() -> None:
    record = dataclasses.replace(RECORD, anyway="the check is wrong", without_backup="Omni does it")

    text = markdown.record_markdown(record)

    assert "| Although checks failed | the check is wrong |" in text
    assert "| Without a backup | Omni does it |" in text
    assert "- without a backup: Omni does it" in markdown.incident_markdown(record, cluster="test")


@pytest.mark.parametrize(
    ("standing", "commit", "said"),
    [
        (ChangeStanding.UNDER_WAY, "c", "next firstlight change resume 20261116-193104-retention"),
        (ChangeStanding.FAILED, "c", "change revert 20261116-193104-retention or firstlight change resume"),
        (ChangeStanding.FAILED, "", "next firstlight change resume"),
        (ChangeStanding.DONE, "c", ""),
    ],
)
def test_what_to_type_next_is_shown(standing: ChangeStanding, commit: str, said: str) -> None:
    text = " ".join(
        change_text.change_text(dataclasses.replace(RECORD, standing=standing, commit=commit), columns=200).split()
    )

    assert said in text
    assert ("next firstlight" in text) is bool(said)


@pytest.mark.parametrize("harm", HARM)
def test_nothing_of_a_stranger_is_taken_for_markup(harm: str) -> None:
    pages = [
        [markdown.record_markdown(each), markdown.incident_markdown(each, cluster=each.clusters[0])]
        for each in (_said(harm), _said("x"))
    ]

    for text, plain in zip(*pages, strict=True):
        assert not MARKUP.search(OURS.sub("", text))
        assert [text.count(each) for each in "\n|`"] == [plain.count(each) for each in "\n|`"]


def _said(word: str) -> ChangeRecord:
    return dataclasses.replace(
        RECORD, title=word, why=word, who=word, files=(word,), clusters=(word,), failure=word, emergency=word,
        anyway=word, approval=word, rules=(word,),
    )  # fmt: skip


def test_a_change_in_short_shows_what_needs_somebody() -> None:
    text = change_text.change_text(RECORD, columns=90)

    assert "✘   post   Health   logs is not ready" in text
    assert "1 passed" in text
    assert "test, then live" in text


def test_an_incident_says_that_nobody_was_waited_for() -> None:
    record = dataclasses.replace(
        RECORD, emergency="outage", approval="peer: not waited for in an emergency (outage): nobody has approved"
    )

    text = markdown.incident_markdown(record, cluster="live")

    assert "- merged without waiting for a review: peer: not waited for" in text
    assert "- [ ] Have it reviewed now: nobody has before" in text
    assert "_To fill in: what broke, and why._" in text
