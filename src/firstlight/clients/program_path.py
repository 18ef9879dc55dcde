"""Looking programs up: the absolute directories of PATH, and nothing else.

An empty entry, ``.`` or ``bin`` means the working directory to a shell, to Go and to Python alike: a file of whatever
repo somebody stands in would be run as ``git``. Programs are found here, and every child gets such a PATH only.
"""

import os
import shutil
from collections.abc import Mapping

NOWHERE = "/nonexistent"
"""PATH where no entry is left. An empty one would not do: that is the working directory, too."""


def clean(path: str) -> str:
    """Return a PATH with its absolute entries only."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry)) or NOWHERE


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a child; one without a PATH stays without."""
    return {**environ, "PATH": clean(environ["PATH"])} if "PATH" in environ else dict(environ)


def find(program: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the absolute path of a program; None if PATH does not have it.

    Args:
        program: Its name; a path is not looked up.
        environ: Where PATH is; this process's own if it is not given.
    """
    if os.sep in program:
        return None
    path = os.environ.get("PATH", os.defpath) if environ is None else environ.get("PATH", "")
    return shutil.which(program, path=clean(path))
