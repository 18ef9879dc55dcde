"""Repos of others that tests may read where they are at hand; nothing of them is part of the project."""

import os
from pathlib import Path

import pytest

_TOP = Path(__file__).parents[1]
PLACES = [Path(each) for each in os.environ.get("FIRSTLIGHT_REPOS", str(_TOP.parent / "shared")).split(":")]
"""Directories that may have them, in ``corpus`` and ``strangers``."""
REPOS = sorted(
    repo
    for place in PLACES
    for folder in ("corpus", "strangers")
    if (place / folder).is_dir()
    for repo in (place / folder).iterdir()
    if repo.is_dir()
)
NONE = pytest.param(
    None, marks=pytest.mark.skip(f"no repos of others in {', '.join(map(str, PLACES))}; set FIRSTLIGHT_REPOS")
)
"""In the place of a repo where there is none, so that the summary says it."""
EACH = [*(pytest.param(repo, id=f"other-{number}") for number, repo in enumerate(REPOS, 1))] or [NONE]
