"""Journals read again: of killed runs, of newer versions, damaged ones, and while they are written."""

import asyncio
import dataclasses
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight import errors
from firstlight.journal import event_lines, journal_reader, run_identity
from firstlight.journal.journal_writer import Journal
from firstlight.model.event import Event, RunEnded, RunStarted, StepStarted, Told
from tests.unit.journal import stories
from tests.unit.journal.any_events import EVENTS

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "runs"
WHOLE = stories.load(SCENARIOS / "whole/story.yaml").events
STARTED = RunStarted(at=1.0, run="20261116T063000Z-infra-ab12", cluster="infra", steps=(), who=run_identity.who())


def written(path: Path, events: tuple[Event, ...] | list[Event]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(event_lines.event_line, events)))
    return path


@settings(max_examples=80)
@given(EVENTS)
def test_every_event_is_one_line_and_comes_back(event: Event) -> None:
    line = event_lines.event_line(event)

    assert line.count(b"\n") == 1
    again = event_lines.parse_event(line)
    assert type(again) is type(event)
    assert event_lines.event_line(again) == line
    if "ud800" not in repr(event):  # which UTF-8 has not
        assert again == event


@settings(max_examples=60)
@given(st.data())
def test_a_journal_cut_at_any_byte_is_read_up_to_the_last_whole_line(data: st.DataObject) -> None:
    content = b"".join(map(event_lines.event_line, WHOLE))
    size = data.draw(st.integers(0, len(content)))
    whole = content[:size].count(b"\n")

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        path.write_bytes(content[:size])
        found = journal_reader.contents(path)

    assert found.events == WHOLE[:whole]
    assert found.is_torn == (size > 0 and content[size - 1 : size] != b"\n")
    assert not found.diagnostics


@settings(max_examples=40)
@given(st.binary(max_size=200))
def test_garbage_is_told_and_never_raises(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "run.jsonl"
        path.write_bytes(
            event_lines.event_line(STARTED) + content + b"\n" + event_lines.event_line(RunEnded(at=2, verdict="passed"))
        )
        found = journal_reader.contents(path)
        brief = journal_reader.brief(path)

    assert found.events[0] == STARTED
    assert found.events[-1] == RunEnded(at=2, verdict="passed")
    assert len(found.events) + sum(1 for _ in found.diagnostics) >= 3
    assert brief is not None


def test_what_a_newer_firstlight_wrote_is_passed_over_and_told(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    lines = [
        event_lines.event_line(STARTED),
        b'{"v":1,"type":"StepStarted","at":2,"step":"a","mood":"a field that came later"}\n',
        b'{"v":1,"type":"StepDanced","at":3}\n',
        b'{"v":2,"type":"StepStarted","at":4}\n',
        b'{"v":2,"type":"StepStarted","at":5}\n',
        b'{"v":1,"type":"StepStarted","at":"noon","step":"a"}\n',
        b"[]\n",
    ]
    path.write_bytes(b"".join(lines))

    found = journal_reader.contents(path)

    assert found.events == (STARTED, StepStarted(at=2, step="a"))
    assert found.diagnostics == (
        "line 3 is passed over: events of type 'StepDanced' are not known here; update firstlight to see all of it",
        "2 lines, from 4 on, are passed over: a newer firstlight wrote it (version 2, known is 1); "
        "update firstlight to see all of it",
        "line 6 is passed over: it is no proper StepStarted: Expected `float`, got `str` - at `$.at`",
        "line 7 is passed over: it is not an event",
    )


def test_credentials_in_a_url_are_not_written() -> None:
    line = event_lines.event_line(Told(at=1, step="a", text="fetches https://me:hunter2@git.example.org/x.git"))

    assert b"hunter2" not in line


def test_runs_newest_first(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    written(runs / "20261116T063000Z-infra-aaaa.jsonl", WHOLE)
    killed = dataclasses.replace(STARTED, run="20261117T063000Z-infra-bbbb", at=1794897000.0)
    written(runs / "20261117T063000Z-infra-bbbb.jsonl", [killed, *WHOLE[1:8]])
    stopped = [*WHOLE[:12], RunEnded(at=1794810700.0, verdict="waiting", reason="interrupted")]
    written(runs / "20261116T053000Z-infra-dddd.jsonl", stopped)
    written(runs / "20261115T063000Z-apps-cccc.jsonl", [dataclasses.replace(STARTED, cluster="apps", who="a@b:1")])
    (runs / "20261118T000000Z-empty.jsonl").write_bytes(b"")
    (runs / "20261118T000000Z-other.jsonl").write_bytes(b"something else\n")
    (runs / "20261119T000000Z-link.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(runs / "20261119T000000Z-pipe.jsonl")

    found = journal_reader.runs(tmp_path)

    assert [(each.run[:8], each.cluster, each.outcome, each.writes) for each in found] == [
        ("20261117", "infra", "killed", 0),
        ("20261116", "infra", "passed", 80),
        ("20261116", "infra", "interrupted", 3),
        ("20261115", "apps", "unknown", 0),
    ]
    assert round(found[1].last - found[1].started, 1) == 252.3


def test_no_runs(tmp_path: Path) -> None:
    assert journal_reader.runs(tmp_path / "nowhere") == []


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(errors.FirstlightError, match="No such file"):
        journal_reader.read(tmp_path / "x.jsonl")


def test_a_tail_gives_each_event_once_and_waits_for_the_rest_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    first, second = event_lines.event_line(STARTED), event_lines.event_line(StepStarted(at=2, step="a"))
    path.write_bytes(first + second[:10])
    tail = journal_reader.JournalTail(path)

    seen = [tail.more(), tail.more()]
    with path.open("ab") as file:
        file.write(second[10:])

    assert seen == [(STARTED,), ()]
    assert tail.more() == (StepStarted(at=2, step="a"),)


async def test_following_a_run_to_its_end(tmp_path: Path) -> None:
    journal = Journal.start(tmp_path, STARTED)
    more: list[Event] = [StepStarted(at=2, step="a"), RunEnded(at=3, verdict="passed")]
    seen: list[Event] = []

    async def follow() -> None:
        async for event in journal_reader.follow(journal.path, interval=0.01):
            seen.append(event)
            if more:
                journal.write(more.pop(0))

    await asyncio.wait_for(follow(), 10)
    journal.close()

    assert seen == [STARTED, StepStarted(at=2, step="a"), RunEnded(at=3, verdict="passed")]


async def test_following_ends_when_the_process_is_gone(tmp_path: Path) -> None:
    path = written(tmp_path / "runs/r.jsonl", [STARTED, StepStarted(at=2, step="a")])

    async with asyncio.timeout(10):
        seen = [event async for event in journal_reader.follow(path, interval=0.01)]

    assert seen == [STARTED, StepStarted(at=2, step="a")]
