"""The terminal: lines that are drawn over while work goes on, and plain lines where nobody watches."""

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from types import TracebackType
from typing import Self, TextIO

import click

from firstlight.drawing import table

BOLD = "1"


def is_live(stream: TextIO) -> bool:
    """Whether somebody watches: a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" and "CI" not in os.environ


def styled(text: str, code: str) -> str:
    """A text for standard output in bold or colour, where there is a terminal that wants it."""
    wanted = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    return f"\x1b[{code}m{text}\x1b[0m" if wanted else text


def agreed(danger: str) -> bool:
    """Ask a person at a terminal before something that cannot be undone; nobody there means no."""
    return sys.stdin.isatty() and click.confirm(f"{danger}\nGo on?", default=False, err=True)


@contextlib.contextmanager
def doing(*, is_shown: bool = True) -> Iterator[Callable[[str], None]]:
    """Says what is being done before there is anything to show: a line that is drawn over, or one each in a log."""
    screen = Screen()

    def say(text: str) -> None:
        if is_shown:
            screen.draw([f"{text} …"], news=[f"{text} …"])

    try:
        yield say
    finally:
        screen.clear()


class Screen:
    """Lines on standard error that ``draw`` replaces; where nobody watches, only those that are new are printed."""

    def __init__(self) -> None:
        self._live = is_live(sys.stderr)
        self._drawn: list[str] = []
        self._said: set[str] = set()

    def draw(self, lines: Sequence[str], *, news: Sequence[str] = ()) -> None:
        """Show the lines now; ``news`` is what a log without a terminal gets, each once."""
        if not self._live:
            for line in news:
                if line not in self._said:
                    self._said.add(line)
                    print(line, file=sys.stderr, flush=True)
            return
        columns = table.terminal_columns()
        # More lines than the terminal has could not be drawn over.
        shown = [table.cut(line, columns) for line in lines][: max(1, shutil.get_terminal_size().lines - 1)]
        # Ctrl-C leaves its sign, so that the cursor is not where it was.
        up = f"\r\x1b[{len(self._drawn)}A" if self._drawn else ""
        sys.stderr.write(up + "".join(f"\x1b[2K{line}\n" for line in shown) + "\x1b[J")
        sys.stderr.flush()
        self._drawn = shown

    def clear(self) -> None:
        """Take the lines away again: what follows says it better."""
        if self._drawn:
            sys.stderr.write(f"\r\x1b[{len(self._drawn)}A\x1b[J")
            sys.stderr.flush()
            self._drawn = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.clear()
