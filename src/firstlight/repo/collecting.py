"""Python's own housekeeping, while a repo is read."""

import contextlib
import gc
from collections.abc import Iterator

_OBJECTS = 200_000
"""After how many new ones Python looks for those that nobody needs."""


@contextlib.contextmanager
def seldom() -> Iterator[None]:
    """Reading makes many small objects that stay; to look through them again and again takes a fifth of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(max(usual[0], _OBJECTS) if usual[0] else 0, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)
