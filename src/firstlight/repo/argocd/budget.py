"""How much work a repo may cost: hostile ones multiply patterns, templates and files with each other."""

import contextlib
import time
from collections.abc import Iterator

from firstlight.repo.argocd.problem import NotKnown

WORK = 20_000_000
"""Microseconds: a repo of five thousand files takes three seconds in all."""
LETTERS = 16_000_000
"""That templates may write in all; those of the largest repos seen write less than a million."""
COMPARISON = 20
"""What it costs to compare a path with a pattern."""


class Budget:
    """Work that is left."""

    def __init__(self, work: int = WORK, *, letters: int = LETTERS) -> None:
        self._left = work
        self._letters = letters

    def spend(self, work: int) -> None:
        """Take from what is left.

        Raises:
            NotKnown: There is nothing left.
        """
        self._left -= work
        if self._left < 0:
            raise NotKnown("reading the Applications of this repo takes too long, and was given up")

    def write(self, text: str) -> str:
        """A text that a template made, which is kept.

        Raises:
            NotKnown: There are too many of them.
        """
        self._letters -= len(text)
        if self._letters < 0:
            raise NotKnown(f"the templates of this repo write more than {LETTERS // 1_000_000} million letters")
        return text

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Take as much as what is done inside costs; refuse to begin where there is nothing left."""
        self.spend(0)
        begun = time.process_time()
        try:
            yield
        finally:
            self._left -= int((time.process_time() - begun) * 1_000_000)
