"""Which run a command means, and where runs are kept."""

import sys
from pathlib import Path

from firstlight import errors
from firstlight.journal import journal_reader, state_files
from firstlight.model import run_state
from firstlight.model.run_state import RunBrief, RunState
from firstlight.repo import work_tree


def state_directory(root: Path | None) -> Path:
    """Where a repo's runs are kept: ``.firstlight`` at its top.

    Raises:
        errors.UsageError: There is no such directory.
        errors.Refused: Something in it may be somebody else's work.
    """
    top = work_tree.top(Path()) if root is None else root
    if not top.is_dir():
        raise errors.UsageError(f"{top} is no directory", hint="Give the directory of a GitOps repo.")
    return state_files.directory_of(top)


def path(state: Path, run: str) -> Path:
    """The journal of a run."""
    return state / "runs" / f"{run}{journal_reader.SUFFIX}"


def read(path: Path) -> RunState:
    """How a run stands; what could not be read of it is said on standard error."""
    found = journal_reader.contents(path)
    for diagnostic in found.diagnostics:
        print(f"{path.name}: {diagnostic}", file=sys.stderr)
    state = run_state.fold(found.events)
    who = state.started.who if state.started else ""
    return run_state.fold(found.events, is_alive=journal_reader.is_alive(path, who))


def one(runs: list[RunBrief], wanted: str) -> RunBrief:
    """The run that somebody means: by its id, or a part of it that no other has; the newest if nothing is said.

    Raises:
        errors.UsageError: There is none, or there are several.
    """
    if not runs:
        raise errors.UsageError("nothing was run here yet", hint="A run begins with: firstlight up")
    if not wanted:
        return runs[0]
    exact = [each for each in runs if each.run == wanted]
    found = exact or [each for each in runs if wanted in each.run]
    if len(found) == 1:
        return found[0]
    if not found:
        raise errors.UsageError(f"there is no run {wanted}", hint="What there is: firstlight runs")
    names = ", ".join(each.run for each in found[:4])
    raise errors.UsageError(f"{wanted} may be one of {len(found)} runs", hint=f"Such as {names}.")
