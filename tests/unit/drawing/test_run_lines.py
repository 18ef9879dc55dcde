"""The last lines of a run: what counts as a step, and who is told what to type next."""

import dataclasses

from firstlight.drawing import run_lines
from firstlight.model import run_state
from firstlight.model.component import Phase
from firstlight.model.event import Event, RunEnded, RunStarted, StepBrief, StepEnded, StepStarted

STEPS = tuple(StepBrief(id=each, phase=Phase.CORE, name=each) for each in ("cilium", "coredns", "workers"))
STARTED = RunStarted(at=100, run="r", cluster="infra", steps=STEPS)
TOLD: tuple[Event, ...] = (
    StepStarted(at=101, step="cilium"),
    StepEnded(at=102, step="cilium", verdict="passed", writes=3),
    StepStarted(at=102, step="coredns"),
    StepEnded(at=103, step="coredns", verdict="passed", writes=1),
    StepStarted(at=103, step="workers"),
    StepEnded(at=103, step="workers", verdict="skipped", reason="there is none"),
    RunEnded(at=104, verdict="passed", writes=4),
)


def shown(started: RunStarted, *told: Event) -> list[str]:
    return run_lines.summary(run_state.fold((started, *told), is_alive=False), now=200, columns=80)


def test_what_was_skipped_is_no_step_that_was_done() -> None:
    assert shown(STARTED, *TOLD) == [
        "infra   ✔ 2 steps (1 skipped) in 4s, 4 writes",
        "  next     firstlight verify infra",
    ]


def test_after_a_rehearsal_it_is_the_report_that_says_what_is_next() -> None:
    rehearsal = dataclasses.replace(STARTED, is_rehearsal=True)
    failed = StepEnded(at=103, step="coredns", verdict="failed", reason="no image")

    assert shown(rehearsal, *TOLD) == ["infra   rehearsal   ✔ 2 steps (1 skipped) in 4s, 4 writes"]
    assert not any(
        "firstlight up" in each for each in shown(rehearsal, *TOLD[:3], failed, RunEnded(at=104, verdict="failed"))
    )


def test_an_interrupted_run_says_one_number_of_writes() -> None:
    """It has not counted them itself: its steps have."""
    told = (STARTED, *TOLD[:-1], RunEnded(at=104, verdict="waiting", reason="interrupted; run again to go on"))
    log = run_lines.RunLog()
    lines: list[str] = []
    for each in told:
        lines += log.after(each)

    assert "run waiting after 4s, 4 writes: interrupted" in lines[-1]
    assert "4 writes" in shown(STARTED, *told[1:])[0]
