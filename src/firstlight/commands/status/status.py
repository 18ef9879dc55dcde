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
from firstlight.commands.status.output_form import OpenOverrideData
from firstlight.drawing import clock, override_text, run_lines, run_screen, safe, table
from firstlight.errors import ExitCode
from firstlight.execute.overrides import override_records
from firstlight.journal import journal_reader
from firstlight.model.override import Override
from firstlight.model.run_state import RunBrief, RunState

_LOOK = 1.0
"""Seconds between two looks for a first run."""
_ENDLESS = 1_000_000


def show(cluster: str, *, watch: bool, root: Path | None, form: Form) -> int:
    """Print how the newest run stands, and return the exit code."""
    state = which_run.state_directory(root)
    newest, others = _newest(state, cluster)
    overrides = _open_overrides(state, cluster)
    while newest is None and watch:
        time.sleep(_LOOK)
        newest, others = _newest(state, cluster)
    if newest is None:
        _nothing(cluster, others, overrides, form)
        return _code(None, overrides)
    path = which_run.path(state, newest.run)
    found = which_run.read(path)
    if watch and found.outcome in ("running", "unknown"):
        return _code(asyncio.run(_watched(path, form)), overrides)
    if form == "json":
        output.write_json({"run": data.state_data(found, now=time.time()), "overrides": _override_data(overrides)})
    else:
        print("\n".join([*_text(found, others), *_override_lines(overrides)]))
    return _code(found, overrides)


def _open_overrides(state: Path, cluster: str) -> list[Override]:
    """Return the overrides that are not over, as this computer has recorded them."""
    clusters = [cluster] if cluster else sorted(each.parent.name for each in state.glob("*/overrides"))
    return [each for name in clusters for each in override_records.local(state, name) if not each.is_over]


def _override_lines(overrides: list[Override]) -> list[str]:
    now = time.time()
    lines = [
        f"{override_text.line(each, now)}\n  next: firstlight override status {each.cluster}" for each in overrides
    ]
    return ["", *(safe.text(each) for each in lines)] if lines else []


def _override_data(overrides: list[Override]) -> list[OpenOverrideData]:
    now = time.time()
    return [
        {
            "id": each.id,
            "cluster": each.cluster,
            "reason": each.reason,
            "until": clock.moment(each.until),
            "expired": each.is_expired(now),
        }
        for each in overrides
    ]


def _newest(state: Path, cluster: str) -> tuple[RunBrief | None, list[str]]:
    """The newest run, of a cluster if one is named; and the other clusters that have runs."""
    runs = journal_reader.runs(state)
    newest = next((each for each in runs if cluster in ("", each.cluster)), None)
    name = newest.cluster if newest else cluster
    return newest, sorted({each.cluster for each in runs} - {name})


def _nothing(cluster: str, others: list[str], overrides: list[Override], form: str) -> None:
    of = f" of {cluster}" if cluster else ""
    there = f"; there were runs of {', '.join(others)}" if others else ""
    lines = [safe.text(f"no run{of} yet{there}\nnext: firstlight up {cluster}".rstrip()), *_override_lines(overrides)]
    output.answer(form, "\n".join(lines), {"run": None, "overrides": _override_data(overrides)})


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


def _code(state: RunState | None, overrides: list[Override]) -> int:
    is_broken = state is not None and state.outcome in ("failed", "interrupted", "killed")
    is_expired = any(each.is_expired(time.time()) for each in overrides)
    return ExitCode.FAILED if is_broken or is_expired else 0
