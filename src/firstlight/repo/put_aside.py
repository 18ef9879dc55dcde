"""Files that show something, test something or were put away: nobody deploys them unless something leads there."""

import posixpath
import re
from collections.abc import Callable

_AWAY = re.compile(
    r"[._-]*(archive|archived|archives|attic|disabled|deprecated|obsolete|graveyard|trash)_*|[._-]+(old|unused|backup)_*"
)
"""Names of directories with what was put away."""
_SHOWN = re.compile(r"_*(examples?|samples?|skeleton|testdata|fixtures|e2e|benchmarks?|tests|testing)")
"""Names of directories with what only shows or tests something."""
_FILE = re.compile(r".+[.-](examples?|samples?|disabled|bak|orig)\.(ya?ml|json|gotmpl|j2|just|sh)", re.IGNORECASE)
_TEST = "test"
_ENVIRONMENTS = frozenset({
    "prod", "production", "staging", "stage", "stg", "dev", "development", "main", "live", "qa", "lab", "preview",
    "uat",
})  # fmt: skip
_HOMES = frozenset({"cluster", "clusters", "environment", "environments", "env", "envs", "overlays", "sites", "talos"})
"""Directories whose directories are environments or clusters, whatever they are called."""


def directory(path: str, is_dir: Callable[[str], bool] = lambda _: False) -> str:
    """Return the directory that puts a file aside, or the file itself; empty if nothing does.

    Args:
        path: The file.
        is_dir: Whether the repo has such a directory: beside ``prod``, ``test`` is an environment.
    """
    parts = path.split("/")
    for number, part in enumerate(parts[:-1]):
        name, above = part.lower(), parts[number - 1].lower() if number else ""
        if above in _HOMES:
            continue
        here = "/".join(parts[: number + 1])
        if _AWAY.fullmatch(name) or _SHOWN.fullmatch(name):
            return here
        if name == _TEST and not any(is_dir(posixpath.join(*parts[:number], each)) for each in _ENVIRONMENTS):
            return here
    return path if _FILE.fullmatch(parts[-1]) else ""
