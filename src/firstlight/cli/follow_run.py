"""What ``up`` shows while it runs: every event goes to the journal first, then to whoever watches.

On a terminal a screen that is drawn over, in CI plain lines with timestamps, for programs a JSON object a line.
"""

import asyncio
import contextlib
import dataclasses
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from firstlight.cli import screen
from firstlight.cli.output import Form
from firstlight.drawing import run_lines, run_screen, safe, table
from firstlight.execute import walk as execute_walk
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means
from firstlight.execute.walk import Walk
from firstlight.execute.world import World
from firstlight.journal import event_lines, journal_writer
from firstlight.journal.journal_writer import Journal
from firstlight.model import run_state
from firstlight.model.event import Event
from firstlight.model.run_state import RunState

_PAUSE = 1 / 8
"""Seconds between two looks at whether something is new; the eye wants no more."""
_CLOCK = 1.0
"""Seconds after which clocks are drawn again."""


class RunFollower:
    """Everything that is told of one run."""

    def __init__(self, journal: Journal, form: Form) -> None:
        self._journal = journal
        self._view = RunView(form, foot=run_screen.ANEW if journal.started.is_rehearsal else run_screen.SAFE)
        self._task: asyncio.Task[None] | None = None

    @property
    def state(self) -> RunState:
        """How the run stands."""
        return self._view.state

    def tell(self, event: Event) -> None:
        """Write an event down, then show it.

        Raises:
            errors.FirstlightError: The journal cannot be written.
        """
        self._journal.write(event)
        self._view.show(event)

    async def tick(self) -> None:
        """Keep clocks and signs of life going, until it is cancelled."""
        while True:
            self._view.refresh()
            await asyncio.sleep(_PAUSE)

    def paused(self) -> contextlib.AbstractContextManager[None]:
        """Nothing is drawn meanwhile, so that a person can be asked; from any thread."""
        return self._view.paused()

    async def __aenter__(self) -> Self:
        self._view.show(self._journal.started)
        self._task = asyncio.create_task(self.tick())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._task is not None
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        self._journal.close()
        self._view.end()


class RunView:
    """A run on standard output and error, event by event; it writes no journal."""

    def __init__(self, form: Form, *, foot: str = run_screen.SAFE) -> None:
        self._foot = foot
        self.state = run_state.RunState(is_alive=True)
        self._form = form
        self._live = form == "text" and screen.is_live(sys.stderr)
        self._screen = screen.Screen()
        self._plain = run_lines.RunLog()
        self._lock = threading.Lock()
        self._is_paused = False
        self._held: list[str] = []
        self._is_new = True
        self._drawn = 0.0

    def show(self, event: Event) -> None:
        """Take an event; a screen follows with the next refresh."""
        self.state = run_state.after(self.state, event)
        self._is_new = True
        if self._form == "json":
            sys.stdout.write(safe.escaped(event_lines.event_line(event)))
            sys.stdout.flush()
        elif not self._live:
            self._print(self._plain.after(event))

    def refresh(self) -> None:
        """Draw what is new, and every second what time changes."""
        if self._form == "json":
            return
        if not self._live:
            self._print(self._plain.beat(time.time()))
            return
        with self._lock:
            if not self._is_paused and (self._is_new or time.monotonic() - self._drawn >= _CLOCK):
                self._draw()

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Nothing is drawn or printed meanwhile."""
        with self._lock:
            self._is_paused = True
            self._screen.clear()
        try:
            yield
        finally:
            with self._lock:
                self._is_paused, self._is_new = False, True
            self._print([])

    def end(self, *, is_alive: bool | None = True) -> None:
        """The last word: a summary if the run has ended, else the screen as it was."""
        self.state = dataclasses.replace(self.state, is_alive=is_alive)
        if self._form == "json":
            return
        if self.state.outcome in ("running", "unknown"):
            if self._live and self.state.started is not None:
                self._draw()
            return
        self._screen.clear()
        print("\n".join(run_lines.summary(self.state, now=time.time(), columns=table.terminal_columns())), flush=True)

    def _draw(self) -> None:
        self._is_new, self._drawn = False, time.monotonic()
        size = shutil.get_terminal_size((100, 24))
        colour = "NO_COLOR" not in os.environ
        shown = run_screen.lines(
            self.state, now=time.time(), columns=size.columns, rows=size.lines - 1, foot=self._foot, colour=colour
        )
        self._screen.draw(shown)

    def _print(self, new: list[str]) -> None:
        with self._lock:
            self._held += new
            if self._is_paused or not self._held:
                return
            print("\n".join(self._held), file=sys.stderr, flush=True)
            self._held.clear()


# How a command walks its stages: alone on this computer, with a journal, a screen and questions.


async def follow_walk(walk: Walk, world: World, means: Means, *, yes: bool, form: "Form") -> RunResult:
    """Carry a walk out; ``up.exit_code`` says what its result means to a shell.

    Raises:
        errors.Refused: Another run works on this cluster.
    """
    begun = execute_walk.started(walk, means)
    with execute_walk.alone(walk.cluster, means, who=begun.who):
        async with RunFollower(journal_writer.Journal.start(means.state, begun), form) as progress:

            def confirm(danger: str) -> bool:
                if yes:
                    return True
                with progress.paused():
                    return screen.agreed(danger)

            return await execute_walk.run(walk, world, means, begun=begun, tell=progress.tell, confirm=confirm)
