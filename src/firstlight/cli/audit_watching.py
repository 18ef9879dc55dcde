"""``firstlight audit --watch``: what is new and what is gone, while somebody edits."""

import asyncio
import contextlib
import sys
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import audit_doing, screen
from firstlight.cli.audit_wishes import Wishes

if TYPE_CHECKING:
    from firstlight.model.finding import Audit
    from firstlight.operate.auditing.auditing import Means
    from firstlight.operate.auditing.wishes import Wishes as Sought
    from firstlight.repo.work_tree import WorkTree


async def watch(tree: "WorkTree", sought: "Sought", means: "Means", wishes: Wishes) -> int:
    """Until Ctrl-C, which is no failure; the exit code is that of the last look."""
    from firstlight.operate.auditing import watching

    last: Audit | None = None
    try:
        with screen.doing(is_shown=screen.is_live(sys.stderr)) as say:
            looks = watching.watch(tree, sought, means, say=say)
            first = await anext(looks)
        async with contextlib.aclosing(looks):
            last = _show(first, last, wishes)
            print("\nwatching; Ctrl-C ends it", file=sys.stderr, flush=True)
            async for each in looks:
                last = _show(each, last, wishes)
    except (asyncio.CancelledError, KeyboardInterrupt):
        print("\nno longer watching", file=sys.stderr)
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    return audit_doing.exit_code(last, wishes) if last is not None else audit_doing.FAILED


def _show(found: object, last: "Audit | None", wishes: Wishes) -> "Audit | None":
    """Print what came of one look; what was found last."""
    from firstlight.operate.auditing.auditing import Judged
    from firstlight.report import audit as report
    from firstlight.report import audit_data, safe, table

    if isinstance(found, errors.FirstlightError):
        print(f"error: {safe.text(found.message)}", file=sys.stderr, flush=True)
        return last
    assert isinstance(found, Judged)
    columns = table.terminal_columns()
    if wishes.form == "json":
        _write_line(audit_data.data(found.audit))
    elif last is None:
        print(report.text(found.audit, columns=columns, everything=wishes.everything), flush=True)
    else:
        lines = report.news(last, found.audit, columns=columns)
        print("\n".join([*lines, report.counts(found.audit)] if lines else [report.counts(found.audit)]), flush=True)
    return found.audit


def _write_line(value: object) -> None:
    """One document a line, for programs that read as it comes."""
    from firstlight.report import safe

    sys.stdout.write(safe.json(value) + "\n")
    sys.stdout.flush()
