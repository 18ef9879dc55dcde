"""What ``up`` shows: the journal first, then a screen, plain lines or JSON."""

import asyncio
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import pytest

from firstlight import errors
from firstlight.cli.follow_run import RunFollower
from firstlight.drawing import run_screen
from firstlight.journal import journal_reader
from firstlight.journal.journal_writer import Journal
from firstlight.model.component import Phase
from firstlight.model.event import RunEnded, RunStarted, StepBrief, StepEnded, StepStarted

STEPS = (StepBrief(id="core/a", phase=Phase.CORE, name="cilium"),)
PLAYED = (
    StepStarted(at=1794810601, step="core/a"),
    StepEnded(at=1794810605, step="core/a", verdict="passed", reason="agents 4/4", writes=3),
    RunEnded(at=1794810606, verdict="passed", writes=3),
)


def journal(state: Path, at: float = 1794810600) -> Journal:
    return Journal.start(state, RunStarted(at=at, run="r", cluster="infra", steps=STEPS))


async def test_plain_lines_where_nobody_watches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = journal(tmp_path)

    async with RunFollower(kept, "text") as following:
        for event in PLAYED:
            following.tell(event)

    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        "2026-11-16T06:30:00Z  run r of infra: 1 step",
        "2026-11-16T06:30:01Z  core      cilium  begins",
        "2026-11-16T06:30:05Z  core      cilium  ready after 4s, 3 writes: agents 4/4",
        "2026-11-16T06:30:06Z  run passed after 6s, 3 writes",
    ]
    assert shown.out.startswith("infra   ✔ 1 step in 6s, 3 writes\n")
    assert journal_reader.read(kept.path)[1:] == PLAYED
    assert journal_reader.is_alive(kept.path, "") is not True


async def test_json_is_the_journal_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = journal(tmp_path)

    async with RunFollower(kept, "json") as following:
        for event in PLAYED:
            following.tell(event)

    shown = capsys.readouterr()
    assert shown.out == kept.path.read_text()
    assert shown.err == ""
    assert [json.loads(line)["type"] for line in shown.out.splitlines()] == [
        "RunStarted", "StepStarted", "StepEnded", "RunEnded",
    ]  # fmt: skip


async def test_nothing_is_shown_that_is_not_written_down(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = journal(tmp_path)

    async with RunFollower(kept, "text") as following:
        kept.close()
        with pytest.raises(errors.FirstlightError, match="cannot be written"):
            following.tell(PLAYED[0])

    assert "begins" not in capsys.readouterr().err
    assert following.state.by_id["core/a"].started is None


async def test_while_a_person_is_asked_nothing_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with RunFollower(journal(tmp_path), "text") as following:
        with following.paused():
            following.tell(PLAYED[0])
            before = capsys.readouterr().err
        after = capsys.readouterr().err

    assert "begins" not in before
    assert "begins" in after


async def test_a_sign_of_life_comes_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with RunFollower(journal(tmp_path, at=time.time() - 60), "text") as following:
        following.tell(StepStarted(at=time.time() - 40, step="core/a"))
        async with asyncio.timeout(10):
            while "still working" not in capsys.readouterr().err:  # noqa: ASYNC110 - it is printed, not told
                await asyncio.sleep(0.05)


def test_on_a_terminal_the_screen_is_drawn_over_and_the_summary_stays(tmp_path: Path) -> None:
    script = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from firstlight.cli.follow_run import RunFollower\n"
        "from tests.unit.cli.test_follow_run import PLAYED, journal\n"
        "async def play():\n"
        "    async with RunFollower(journal(Path(sys.argv[1])), 'text') as following:\n"
        "        for event in PLAYED[:-1]:\n"
        "            following.tell(event)\n"
        "            await asyncio.to_thread(sys.stdin.readline)\n"
        "        following.tell(PLAYED[-1])\n"
        "asyncio.run(play())\n"
    )
    environment = {key: value for key, value in os.environ.items() if key not in ("CI", "NO_COLOR", "COLUMNS", "LINES")}
    main, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script, tmp_path], stdin=other, stdout=other, stderr=other,
        env={**environment, "TERM": "xterm"}, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    os.close(other)
    shown = b""
    signs = [b"working", b"ready"]  # the next event comes when this is seen
    try:
        while data := os.read(main, 65536):
            shown += data
            if signs and signs[0] in shown:
                del signs[0]
                os.write(main, b"\n")
    except OSError:
        pass  # the terminal is closed with the process
    os.close(main)

    text = shown.decode()
    assert process.wait() == 0
    assert "\x1b[36m▸\x1b[0m working" in text
    assert "\x1b[32m✔\x1b[0m ready" in text
    assert "\x1b[4A\x1b[2Kinfra" in text
    assert "2026-11-16T06" not in text
    assert text.rpartition("\x1b[J")[2].startswith("infra   ✔ 1 step in 6s, 3 writes")


@pytest.mark.parametrize("is_rehearsal", [False, True])
def test_only_a_real_run_goes_on_after_ctrl_c(tmp_path: Path, is_rehearsal: bool) -> None:
    started = RunStarted(at=0, run="r", cluster="infra", steps=STEPS, is_rehearsal=is_rehearsal)

    following = RunFollower(Journal.start(tmp_path, started), "text")

    assert following._view._foot == (run_screen.ANEW if is_rehearsal else run_screen.SAFE)
