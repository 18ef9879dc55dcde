"""Earlier runs of a repo, read from their journals: a list, one of them whole, or a picture of it."""

import time
from pathlib import Path

from firstlight import errors
from firstlight.cli import output, which_run
from firstlight.clients import atomic_file, path_safety
from firstlight.commands.runs import data
from firstlight.commands.runs import text as runs_text
from firstlight.commands.runs import timeline as runs_timeline
from firstlight.drawing import table
from firstlight.journal import journal_reader


def show(run: str, *, cluster: str, timeline: Path | None, root: Path | None, form: str) -> None:
    """Print the runs, or one of them, or draw it."""
    state = which_run.state_directory(root)
    found = [each for each in journal_reader.runs(state) if cluster in ("", each.cluster)]
    now = time.time()
    if not run and timeline is None:
        text = runs_text.many(found, now=now, columns=table.terminal_columns()) if found else ["no run yet"]
        output.answer(form, "\n".join(text), {"runs": [data.brief_data(each) for each in found]})
        return
    path = which_run.path(state, which_run.one(found, run).run)
    shown = which_run.read(path)
    if timeline is not None:
        _write(timeline, runs_timeline.svg(shown, now=now))
        name = shown.started.run if shown.started else run
        output.answer(form, f"{timeline} shows run {name}", {"run": name, "timeline": str(timeline)})
        return
    text = runs_text.one(shown, now=now, columns=table.terminal_columns())
    output.answer(form, "\n".join(text), {"run": data.state_data(shown, now=now)})


def _write(path: Path, text: str) -> None:
    """Whole or not at all."""
    path_safety.check_replaceable(path)
    try:
        atomic_file.replace(path, text.encode(), mode=None)
    except OSError as error:
        raise errors.FirstlightError(f"{path} cannot be written: {error.strerror or error}") from error
