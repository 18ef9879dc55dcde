"""The newest run of a repo, or of a cluster: its state now, or followed to its end."""

import asyncio
import os
import shutil
import sys
import time
from pathlib import Path

from firstlight.cli import follow_run, output, which_run
from firstlight.cli.output import Form
from firstlight.commands.runs import data, text
from firstlight.drawing import run_lines, run_screen, safe, table
from firstlight.errors import ExitCode
from firstlight.journal import journal_reader
from firstlight.model.run_state import RunBrief, RunState

_LOOK = 1.0
"""Seconds between two looks for a first run."""
_ENDLESS = 1_000_000


def show(cluster: str, *, watch: bool, root: Path | None, form: Form) -> int:
    """Print how the newest run stands, and return the exit code."""
    state = which_run.state_directory(root)
    newest, others = _newest(state, cluster)
    while newest is None and watch:
        time.sleep(_LOOK)
        newest, others = _newest(state, cluster)
    if newest is None:
        _nothing(cluster, others, form)
        return 0
    path = which_run.path(state, newest.run)
    found = which_run.read(path)
    if watch and found.outcome in ("running", "unknown"):
        return _code(asyncio.run(_watched(path, form)))
    if form == "json":
        output.write_json({"run": data.state_data(found, now=time.time())})
    else:
        print("\n".join(_text(found, others)))
    return _code(found)


def _newest(state: Path, cluster: str) -> tuple[RunBrief | None, list[str]]:
    """The newest run, of a cluster if one is named; and the other clusters that have runs."""
    runs = journal_reader.runs(state)
    newest = next((each for each in runs if cluster in ("", each.cluster)), None)
    name = newest.cluster if newest else cluster
    return newest, sorted({each.cluster for each in runs} - {name})


def _nothing(cluster: str, others: list[str], form: str) -> None:
    of = f" of {cluster}" if cluster else ""
    there = f"; there were runs of {', '.join(others)}" if others else ""
    output.answer(form, safe.text(f"no run{of} yet{there}\nnext: firstlight up {cluster}".rstrip()), {"run": None})


def _text(state: RunState, others: list[str]) -> list[str]:
    columns = table.terminal_columns()
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    now = time.time()
    if state.outcome in ("running", "unknown"):
        rows = max(12, shutil.get_terminal_size().lines - 4) if sys.stdout.isatty() else _ENDLESS
        name = state.started.cluster if state.started else ""
        foot = safe.text(f"to follow it: firstlight status {name} --watch")
        found = [
            text.title(state, now=now, columns=columns),
            "",
            *run_screen.lines(state, now=now, columns=columns, rows=rows, foot=foot, colour=colour),
        ]
    else:
        phases = run_screen.phase_line(state, now=state.until(now), columns=columns, colour=colour)
        run = state.started.run if state.started else ""
        more = f"  whole    firstlight runs {run}"
        found = [phases, "", *run_lines.summary(state, now=now, columns=columns), more]
    if stays := data.staying_text(state):
        found += [safe.text(each) for each in table.wrap(stays, columns)]
    if others:
        found.append(safe.text(f"also run: {', '.join(others)}"))
    return found


async def _watched(path: Path, form: Form) -> RunState:
    """Follow a run to its end; the state that it ended in."""
    view = follow_run.RunView(form, foot="Ctrl-C ends this view, not the run")

    async def tick() -> None:
        while True:
            view.refresh()
            await asyncio.sleep(0.125)

    task = asyncio.create_task(tick())
    try:
        async for event in journal_reader.follow(path):
            view.show(event)
    finally:
        task.cancel()
        who = view.state.started.who if view.state.started else ""
        view.end(is_alive=journal_reader.is_alive(path, who))
    return view.state


def _code(state: RunState) -> int:
    return ExitCode.FAILED if state.outcome in ("failed", "interrupted", "killed") else 0
