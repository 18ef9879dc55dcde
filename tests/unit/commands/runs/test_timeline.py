"""The picture of a run: well-formed for any run, bars where the seconds are, nothing of a stranger obeyed."""

from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from firstlight.commands.runs import timeline
from firstlight.model import run_state
from firstlight.model.event import Event
from firstlight.model.run_state import RunState, SpanKind
from tests.unit.journal import stories
from tests.unit.journal.any_events import RUNS

SCENARIOS = Path(__file__).parents[3] / "scenarios" / "runs"
NAMES = sorted(each.parent.name for each in SCENARIOS.glob("*/story.yaml"))


def scenario(name: str) -> tuple[RunState, float]:
    story = stories.load(SCENARIOS / name / "story.yaml")
    return run_state.fold(story.events, is_alive=story.is_alive), story.now


@settings(max_examples=40)
@given(RUNS)
def test_any_run_is_xml_and_stays_within_its_picture(events: list[Event]) -> None:
    state = run_state.fold(events, is_alive=True)

    drawn = timeline.svg(state, now=1.795e9)
    laid = timeline.timeline(state, now=1.795e9)

    ElementTree.fromstring(drawn)
    for row in laid.rows:
        assert timeline.TOP < row.y < laid.bottom
        for bar in row.bars:
            assert laid.left - 0.1 <= bar.x
            assert bar.x + bar.width <= laid.left + timeline.CHART + 0.1


@pytest.mark.parametrize("name", NAMES)
def test_no_script_no_link_the_same_twice(name: str) -> None:
    state, now = scenario(name)

    drawn = timeline.svg(state, now=now)

    root = ElementTree.fromstring(drawn)
    names = {each.tag.rpartition("}")[2] for each in root.iter()}
    assert names <= {"svg", "title", "style", "rect", "path", "text", "g"}
    assert not any("href" in key or key.startswith("on") for each in root.iter() for key in each.attrib)
    assert "hunter2" not in drawn
    assert "prefers-color-scheme:dark" in drawn
    assert drawn == timeline.svg(state, now=now)


def test_bars_are_where_the_seconds_are() -> None:
    state, now = scenario("whole")

    laid = timeline.timeline(state, now=now)

    row = next(each for each in laid.rows if each.label == "rook-ceph")
    second = timeline.CHART / 252.3
    work, wait = row.bars
    assert (work.kind, wait.kind) == (SpanKind.WORK, SpanKind.WAIT)
    assert work.x == pytest.approx(laid.left + 172 * second)
    assert wait.x == pytest.approx(laid.left + 172.5 * second)
    assert wait.x + wait.width == pytest.approx(laid.left + 231 * second)
    assert laid.ticks[1][0] == pytest.approx(laid.left + 30 * second)
    assert laid.ticks[1][1] == "30s"


def test_the_critical_path_is_marked_and_joined() -> None:
    state, now = scenario("whole")

    laid = timeline.timeline(state, now=now)

    marked = [each.label for each in laid.rows if each.is_critical]
    assert marked[:4] == ["3 control planes", "etcd", "kubeconfig", "cilium"]
    assert "podinfo" not in marked
    assert sum(each.is_critical for each in laid.links) == len(marked) - 1


def test_why_it_failed_stands_below_its_bar() -> None:
    state, now = scenario("gave-up")

    laid = timeline.timeline(state, now=now)

    reasons = {each.label: each.reason for each in laid.rows if each.reason}
    assert set(reasons) == {"sops-age", "cert-manager"}
    assert reasons["sops-age"] == "op://kubernetes/sops/age-key: the item has no field age-key"


def test_many_that_never_began_are_one_row() -> None:
    state, now = scenario("many")

    laid = timeline.timeline(state, now=now)

    assert [each.label for each in laid.rows if not each.bars] == ["49 steps"]
