"""docs/runs.md says what is printed: every field of the data and of the journal is named there."""

import dataclasses
import re
from pathlib import Path
from typing import get_args

from firstlight.commands.runs import data
from firstlight.model import run_state
from firstlight.model.event import Event, StepBrief
from firstlight.model.run_state import RunBrief, RunOutcome, StepState
from tests.unit.journal import stories

ROOT = Path(__file__).parents[4]
DOCUMENT = (ROOT / "docs/runs.md").read_text()
NAMED = set(re.findall(r"`(\w+)`", DOCUMENT))


def test_every_field_and_state_is_documented() -> None:
    story = stories.load(ROOT / "tests/scenarios/runs/gave-up/story.yaml")
    state = data.state_data(run_state.fold(story.events, is_alive=False), now=story.now)
    brief = data.brief_data(RunBrief(run="", cluster="", started=0, last=0, outcome=RunOutcome.PASSED))

    parts = [state, state["phases"][0], state["steps"][0], state["causes"][0], state["steps"][0]["gates"][0], brief]
    fields = {key for part in parts for key in part}
    assert fields <= NAMED
    assert {*map(str, StepState), *map(str, RunOutcome)} <= NAMED


def test_every_event_is_documented() -> None:
    for kind in (*get_args(Event), StepBrief):
        assert {each.name for each in dataclasses.fields(kind)} <= NAMED
    assert {each.__name__ for each in get_args(Event)} <= NAMED
