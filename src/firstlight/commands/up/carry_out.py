"""Carry a prepared run out with its journal and screen, or print what blocks it."""

import sys

from firstlight.cli import diagnostic_data, follow_run, output
from firstlight.cli.confirm import agreed
from firstlight.cli.follow_run import Form
from firstlight.commands.plan import text
from firstlight.commands.up import up
from firstlight.commands.up.up import PreparedRun
from firstlight.drawing import table
from firstlight.execute import walk
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.journal import journal_writer
from firstlight.model.event import RunStarted


async def carry_out(prepared: PreparedRun, wishes: RunRequest, means: Means, *, yes: bool, form: Form) -> RunResult:
    """Run what was prepared, with its journal and its screen.

    Raises:
        errors.Refused: Another run works on this cluster.
    """
    begun = up.started(prepared, wishes, means)
    with walk.alone(prepared.cluster, means, who=begun.who):
        return await _followed(prepared, wishes, means, begun=begun, yes=yes, form=form)


async def _followed(
    prepared: PreparedRun, wishes: RunRequest, means: Means, *, begun: RunStarted, yes: bool, form: Form
) -> RunResult:
    async with follow_run.RunFollower(journal_writer.Journal.start(means.state, begun), form) as progress:

        def confirm(danger: str) -> bool:
            if yes:
                return True
            with progress.paused():
                return agreed(danger)

        return await up.run(prepared, wishes, means, begun=begun, tell=progress.tell, confirm=confirm)


def tell_problems(prepared: PreparedRun, form: str) -> None:
    """Print what stands in the way, or that nothing does."""
    if form == "json":
        found = diagnostic_data.of_all(prepared.problems)
        output.write_json({"cluster": prepared.cluster.name, "blocked": prepared.is_blocked, "problems": found})
        return
    shown = ["\n".join(each) for each in text.problems(prepared.problems, columns=table.terminal_columns())]
    if not prepared.is_blocked:
        steps = len(prepared.work.plan.steps)
        shown.append(f"nothing stands in the way of {prepared.cluster.name}: {steps} steps could begin")
    print("\n\n".join(shown))
    if prepared.is_blocked:
        print("\nnothing was written", file=sys.stderr)
