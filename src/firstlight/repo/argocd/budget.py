"""How much work a repo may cost: hostile ones multiply patterns, templates and files with each other."""

import contextlib
import time
from collections.abc import Iterator

from firstlight.repo.argocd.problem import NotKnown

WORK = 20_000_000
"""Microseconds: a repo of five thousand files takes three seconds in all."""
COMPARISON = 20
"""What it costs to compare a path with a pattern."""


class Budget:
    """Work that is left."""

    def __init__(self, work: int = WORK) -> None:
        self._left = work

    def spend(self, work: int) -> None:
        """Take from what is left.

        Raises:
            NotKnown: There is nothing left.
        """
        self._left -= work
        if self._left < 0:
            raise NotKnown("reading the Applications of this repo takes too long, and was given up")

    @contextlib.contextmanager
    def measured(self) -> Iterator[None]:
        """Take as much as what is done inside costs; refuse to begin where there is nothing left."""
        self.spend(0)
        begun = time.process_time()
        try:
            yield
        finally:
            self._left -= int((time.process_time() - begun) * 1_000_000)
