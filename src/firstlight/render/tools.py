"""The programs that render, how many of them run at once, and how long they take."""

import asyncio
import contextlib
import contextvars
import dataclasses
import os
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

from firstlight.clients.helm import Helm
from firstlight.clients.kustomize import Kustomize


@dataclasses.dataclass(frozen=True)
class Programs:
    """Where the programs are."""

    helm: Path
    kustomize: Path
    git: Path | None = None
    """Only for what comes from other repositories."""


@dataclasses.dataclass
class Spent:
    """Seconds that programs took for one rendering."""

    seconds: float = 0.0


spent: contextvars.ContextVar[Spent] = contextvars.ContextVar("spent")
"""Where the rendering that is under way counts its time."""


class Tools:
    """The programs, ready to run."""

    def __init__(self, programs: Programs, *, at_once: int = 0) -> None:
        """Prepare them.

        Args:
            programs: Where they are.
            at_once: How many run at the same time; as many as there are cores if it is not given.
        """
        self.helm = Helm(programs.helm)
        self.kustomize = Kustomize(programs.kustomize)
        self.kustomize_with_helm = Kustomize(programs.kustomize, helm=programs.helm)
        self._turns = asyncio.Semaphore(at_once or os.cpu_count() or 2)
        self.stamp = {name: _stamp(path) for name, path in (("helm", programs.helm), ("kustomize", programs.kustomize))}
        """What tells other versions of the programs from these, without starting them."""

    @contextlib.asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Held while a program runs, and never while something else is waited for."""
        async with self._turns:
            begun = time.perf_counter()
            try:
                yield
            finally:
                if (counted := spent.get(None)) is not None:
                    counted.seconds += time.perf_counter() - begun


def _stamp(path: Path) -> Mapping[str, str | int]:
    real = path.resolve()
    found = real.stat()
    return {"path": str(real), "size": found.st_size, "time": found.st_mtime_ns}
