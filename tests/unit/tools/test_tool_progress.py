from pathlib import Path

import pytest

from firstlight.tools import go_build, tool_progress


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (tool_progress.WaitingForLock("x", "process 7, which builds y"), "waiting for process 7, which builds y"),
        (tool_progress.Downloading("x", "u", 5_000_000, 20_000_000), "downloading 5 MB of 20 MB"),
        (tool_progress.Downloading("x", "u", 5_000_000, 0), "downloading 5 MB"),
        (tool_progress.FetchingModules("x", 12, 3), "fetching modules, 12 so far"),
        (tool_progress.Compiling("x", 3, 10, 5, 300), "compiling 3 of 10 packages, about 5 min left"),
        (tool_progress.Compiling("x", 10, 10, 42, 0), "linking, 42 s so far"),
        (tool_progress.ToolReady("x", "1.2.3", Path("/x"), "build", 61), "1.2.3 built in 61 s"),
        (tool_progress.ToolReady("x", "1.2.3", Path("/x"), "modules", 5), "1.2.3 taken from Go modules in 5 s"),
        (tool_progress.ToolReady("x", "1.2.3", Path("/x"), "path", 0), "1.2.3 on PATH"),
        (tool_progress.ToolReady("x", "source", Path("/x"), "cache", 0), "in the cache"),
    ],
)
def test_tells(event: tool_progress.ToolEvent, words: str) -> None:
    assert tool_progress.event_text(event) == words


def test_time_left_begins_with_what_is_usual_and_ends_with_the_own_pace() -> None:
    assert go_build.seconds_left(0, 100, seconds=10, usual=300) == 290
    assert go_build.seconds_left(50, 100, seconds=100, usual=300) == pytest.approx(150)
    assert go_build.seconds_left(99, 100, seconds=990, usual=10) == pytest.approx(9.9)
    assert go_build.seconds_left(100, 100, seconds=990, usual=3000) == 0
    assert go_build.seconds_left(0, 0, seconds=1, usual=0) == 0
