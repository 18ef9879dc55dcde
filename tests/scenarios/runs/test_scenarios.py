"""Runs and how they are shown: each directory has a ``story.yaml``, and what must come of it in text files."""

import json
import os
from pathlib import Path

import pytest

from firstlight.commands.runs import data, text
from firstlight.drawing import run_lines, run_screen, table
from firstlight.model import run_state
from firstlight.model.run_state import RunState
from tests.unit.journal import stories
from tests.unit.journal.stories import Story

HERE = Path(__file__).parent
SCENARIOS = sorted(each.name for each in HERE.iterdir() if (each / "story.yaml").is_file())
SIZES = ((80, 24), (120, 40))


def state(story: Story) -> RunState:
    return run_state.fold(story.events, is_alive=story.is_alive)


def check(name: str, file: str, printed: str) -> None:
    expected = HERE / name / file
    if os.environ.get("FIRSTLIGHT_RECORD"):  # read every line of it afterwards
        expected.write_text(printed)
    assert printed == expected.read_text()


@pytest.mark.parametrize(("columns", "rows"), SIZES)
@pytest.mark.parametrize("name", SCENARIOS)
def test_screen(name: str, columns: int, rows: int) -> None:
    story = stories.load(HERE / name / "story.yaml")

    shown = run_screen.lines(state(story), now=story.now, columns=columns, rows=rows)

    assert len(shown) <= rows
    assert all(table.width(each) <= columns for each in shown)
    check(name, f"screen-{columns}x{rows}.txt", "\n".join(shown) + "\n")


@pytest.mark.parametrize("name", SCENARIOS)
def test_summary(name: str) -> None:
    story = stories.load(HERE / name / "story.yaml")

    shown = run_lines.summary(state(story), now=story.now, columns=80)

    assert all(table.width(each) <= 80 for each in shown)
    check(name, "summary.txt", "\n".join(shown) + "\n")


@pytest.mark.parametrize("name", SCENARIOS)
def test_plain_lines(name: str) -> None:
    story = stories.load(HERE / name / "story.yaml")
    told = run_lines.RunLog()

    shown = []
    last = story.events[0].at
    for event in story.events:
        while last + 1 < event.at:  # the clock ticks every second
            last += 1
            shown += told.beat(last)
        shown += told.after(event)

    assert not any("\n" in each or "\x1b" in each for each in shown)
    check(name, "plain.txt", "\n".join(shown) + "\n")


@pytest.mark.parametrize("name", SCENARIOS)
def test_one_run(name: str) -> None:
    story = stories.load(HERE / name / "story.yaml")

    shown = text.one(state(story), now=story.now, columns=120)

    assert all(table.width(each) <= 120 for each in shown)
    check(name, "run.txt", "\n".join(shown) + "\n")


@pytest.mark.parametrize("name", ["gave-up", "goes-on"])
def test_data(name: str) -> None:
    story = stories.load(HERE / name / "story.yaml")

    check(
        name,
        "state.json",
        json.dumps(data.state_data(state(story), now=story.now), indent=1, ensure_ascii=False) + "\n",
    )


def test_there_are_scenarios() -> None:
    assert len(SCENARIOS) >= 8
