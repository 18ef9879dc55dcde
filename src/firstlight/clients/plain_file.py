"""Where a file may be put in its place by renaming: that replaces whatever is there, also a device."""

import os
import stat
from pathlib import Path

from firstlight import errors


def check(path: Path) -> None:
    """See that a path names a file, or nothing so far.

    Root that writes to ``/dev/null`` by renaming takes it away from everybody.

    Raises:
        errors.UsageError: It is a directory, a device, a pipe, or a link to one.
    """
    if not path.name:
        raise errors.UsageError(f"{path} is a directory", hint="Name a file.")
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return  # that it cannot be reached, writing will say
    if not stat.S_ISREG(mode):
        raise errors.UsageError(f"{path} is not a file", hint="Name a file, or leave the option out to print it.")
