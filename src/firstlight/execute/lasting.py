"""Files that are there whole or not at all, also after a power loss, and readable for their owner only."""

import contextlib
import os
import tempfile
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Put a file in the place of the one that is there, if any; nothing is left behind where that fails.

    Raises:
        OSError: It cannot be written.
    """
    fd, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
