"""Plain lines: nothing is said twice, and silence never lasts."""

import dataclasses

from firstlight.drawing.run_lines import BEAT, RunLog
from firstlight.model.component import Phase
from firstlight.model.event import Judged, RunStarted, StepBrief, StepEnded, StepStarted, Told, Writing

STARTED = RunStarted(
    at=1794810600, run="r", cluster="infra", steps=(StepBrief(id="core/a", phase=Phase.CORE, name="a"),)
)


def waiting(at: float, reason: str = "0/1") -> Judged:
    return Judged(at=STARTED.at + at, step="core/a", gate="workload x/a", verdict="waiting", reason=reason)


def test_nothing_is_repeated() -> None:
    plain = RunLog()
    plain.after(STARTED)

    assert plain.after(waiting(1)) == ["2026-11-16T06:30:01Z  core      a  waits for workload x/a: 0/1"]
    assert plain.after(waiting(2)) == []
    assert plain.after(waiting(3, "1/2")) == ["2026-11-16T06:30:03Z  core      a  waits for workload x/a: 1/2"]
    assert plain.after(waiting(4)) != []


def test_gates_that_speak_in_turn_repeat_nothing() -> None:
    plain = RunLog()
    plain.after(STARTED)
    plain.after(waiting(1))
    other = Judged(at=STARTED.at + 2, step="core/a", gate="dns", verdict="passed", reason="answers")

    assert plain.after(other) == ["2026-11-16T06:30:02Z  core      a  dns passed: answers"]
    assert plain.after(waiting(3)) == []
    assert plain.after(StepEnded(at=STARTED.at + 4, step="core/a", verdict="passed", reason="answers", writes=2)) == [
        "2026-11-16T06:30:04Z  core      a  ready after 3s, 2 writes"
    ]


def test_a_sign_of_life_every_half_minute_and_only_then() -> None:
    plain = RunLog()
    plain.after(STARTED)
    plain.after(waiting(0))

    beats = [(second, plain.beat(STARTED.at + second)) for second in range(1, 100)]

    assert [second for second, said in beats if said] == [BEAT, 2 * BEAT, 3 * BEAT]
    assert beats[29][1] == ["2026-11-16T06:30:30Z  core      a  still waiting, 30s: 0/1"]


def test_news_put_the_sign_of_life_off() -> None:
    plain = RunLog()
    plain.after(STARTED)
    plain.after(StepStarted(at=STARTED.at, step="core/a"))
    plain.after(Told(at=STARTED.at + 20, step="core/a", text="half-way"))

    assert plain.beat(STARTED.at + 45) == []
    assert plain.beat(STARTED.at + 50) == ["2026-11-16T06:30:50Z  core      a  still working, 50s: half-way"]


def test_a_step_that_ended_is_silent() -> None:
    plain = RunLog()
    plain.after(STARTED)
    plain.after(waiting(0))
    plain.after(StepEnded(at=STARTED.at + 1, step="core/a", verdict="passed"))

    assert plain.beat(STARTED.at + 1000) == []


def test_what_is_written_reads_as_a_sentence() -> None:
    for is_dry_run, said in ((True, "would pass what talos owns"), (False, "writes: pass what talos owns")):
        plain = RunLog()
        plain.after(dataclasses.replace(STARTED, is_dry_run=is_dry_run))
        (line,) = plain.after(Writing(at=STARTED.at, step="core/a", writes=("pass what talos owns",)))
        assert line.endswith(said)
