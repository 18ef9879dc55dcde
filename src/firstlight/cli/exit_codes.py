from firstlight.execute.loop import RunResult

FAILED = 1
BLOCKED = 3
INTERRUPTED = 130


def exit_code(result: RunResult) -> int:
    """What a run's result means to a shell."""
    if result.is_refused:
        return BLOCKED
    return 0 if result.is_complete else FAILED
