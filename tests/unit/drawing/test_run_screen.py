"""The screen fits every terminal, whatever a run does; what is urgent is never what is left out."""

import dataclasses
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstlight.commands.runs import data
from firstlight.commands.runs import text as runs_text
from firstlight.drawing import clock, run_lines, run_screen, run_words, table
from firstlight.model import run_state
from firstlight.model.event import Event
from firstlight.model.run_state import RunState
from tests.unit.journal import stories
from tests.unit.journal.any_events import RUNS

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "runs"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def scenario(name: str) -> tuple[RunState, float]:
    story = stories.load(SCENARIOS / name / "story.yaml")
    return run_state.fold(story.events, is_alive=story.is_alive), story.now


@settings(max_examples=60)
@given(
    RUNS,
    st.sampled_from([True, False, None]),
    st.integers(40, 200),
    st.integers(1, 60),
    st.sampled_from([0.0, 1794810650.0, 1e300]),
)
def test_everything_fits_and_nothing_is_obeyed(
    events: list[Event], is_alive: bool | None, columns: int, rows: int, now: float
) -> None:
    state = run_state.fold(events, is_alive=is_alive)

    screen = run_screen.lines(state, now=now, columns=columns, rows=rows)
    texts = [
        *screen,
        *run_lines.summary(state, now=now, columns=columns),
        *runs_text.one(state, now=now, columns=columns),
    ]

    assert len(screen) <= rows
    assert all(table.width(each) <= columns for each in screen)
    assert not any(CONTROL.search(each) for each in texts)
    assert data.state_data(state, now=now)["outcome"] == state.outcome


@pytest.mark.parametrize("rows", [6, 10, 16, 24, 40, 120])
@pytest.mark.parametrize("name", ["many", "gave-up", "goes-on"])
def test_every_step_is_shown_or_counted(name: str, rows: int) -> None:
    state, now = scenario(name)

    screen = run_screen.lines(state, now=now, columns=100, rows=rows)

    called = run_words.of(state)
    shown = sum(any(line.startswith(f"  {label} ") for line in screen) for label in called.values())
    counted = [int(each) for line in screen if line.startswith("  … ") for each in re.findall(r"(\d+) more", line)]
    assert shown + sum(counted) == len(state.steps)
    assert len(screen) <= rows


@pytest.mark.parametrize("rows", [8, 12, 24])
def test_what_failed_is_on_top_where_there_is_no_room_for_all(rows: int) -> None:
    state, now = scenario("many")

    screen = run_screen.lines(state, now=now, columns=100, rows=rows)

    assert screen[2].startswith("  app-40")
    assert "✘ failed" in screen[2]


def test_a_narrow_terminal_shows_every_phase() -> None:
    state, now = scenario("goes-on")

    line = run_screen.phase_line(state, now=now, columns=72)

    assert table.width(line) <= 72
    assert all(str(each.phase) in line for each in state.phases)


def test_colours_take_no_room() -> None:
    state, now = scenario("gave-up")

    plain = run_screen.lines(state, now=now, columns=80, rows=24)
    coloured = run_screen.lines(state, now=now, columns=80, rows=24, colour=True)

    assert any("\x1b[31m✘" in each for each in coloured)
    assert [table.ESCAPE.sub("", each) for each in coloured] == plain


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "0s"), (41.9, "41s"), (62, "1m02s"), (3900, "1h05m"), (187200, "2d04h"), (-5, "0s"), (1e300, "ages"),
     (float("nan"), "0s")],
)  # fmt: skip
def test_spans(seconds: float, shown: str) -> None:
    assert clock.span(seconds) == shown


@given(st.text(max_size=80), st.integers(1, 30))
def test_wrapping_loses_no_letter(text: str, width: int) -> None:
    wrapped = run_words.wrap(text, max(2, width))

    assert "".join(wrapped).replace(" ", "") == "".join(text.split())
    assert all(table.width(each) <= max(2, width) for each in wrapped)


def test_few() -> None:
    assert run_words.few("abc", 3) == "a, b, c"
    assert run_words.few("abcd", 3) == "a, b, c, d"
    assert run_words.few("abcde", 3) == "a, b, c and 2 more"


@pytest.mark.parametrize(("is_rehearsal", "said"), [(False, "run again to go on"), (True, "rehearsal begins anew")])
def test_a_rehearsal_does_not_go_on(is_rehearsal: bool, said: str) -> None:
    state, now = scenario("interrupted")
    assert state.started is not None
    state = dataclasses.replace(state, started=dataclasses.replace(state.started, is_rehearsal=is_rehearsal))

    shown = run_screen.lines(state, now=now, columns=120, rows=40)

    assert said in shown[-1]


def test_notes_have_no_room_in_a_low_terminal() -> None:
    state, now = scenario("interrupted")

    assert any("note  commit" in each for each in run_screen.lines(state, now=now, columns=100, rows=20))
    assert not any("note  commit" in each for each in run_screen.lines(state, now=now, columns=100, rows=12))
