"""A directory for what may hold Secrets: ours alone, on no disk if possible, and gone when it is done."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from firstlight.clients import scratch

swept = scratch.swept


@contextlib.contextmanager
def made(purpose: str, *, memory: Path = scratch.MEMORY) -> Iterator[Path]:
    """A directory on no disk if possible, since there may be Secrets in it.

    Args:
        purpose: What it is for, in its name.
        memory: Where it is made, if that can be written.
    """
    place = memory if os.access(memory, os.W_OK) else Path(tempfile.gettempdir())
    with scratch.directory(purpose, place=place) as root:
        yield root
