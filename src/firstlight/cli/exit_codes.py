"""The exit code that the result of a run means to a shell."""

from firstlight.errors import ExitCode
from firstlight.execute.loop import RunResult


def exit_code(result: RunResult) -> ExitCode:
    """Return the exit code of a run."""
    if result.is_refused:
        return ExitCode.BLOCKED
    return ExitCode.FINE if result.is_complete else ExitCode.FAILED
