"""Writes docs/doctor-failures.md: ``python -m tests.doctor.table`` makes every failure and notes what was said."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.doctor import all_failures
from tests.doctor.failure import TABLE, Failure

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "doctor-failures.md"
TESTS = "tests/integration/commands/doctor"
_HEAD = """# Failures that the doctor has named

Each was made on the lab, with the real API server, controllers, Flux, Argo CD and talosctl, and is named by
[`firstlight doctor`](doctor.md) as the first cause: what was said is the sentence on top, and took is how long one look
at the whole cluster and its diagnosis needed. Written by `make doctor-table`; a test compares the rows with the
failures that there are.

"""
_MADE_UP = (
    (re.compile(r"test-[0-9a-f]{8}"), "shop"),
    (re.compile(r"127\.71\.\d+\.\d+"), "lab"),
    (re.compile(r"-[a-f0-9]{8,10}-[a-z0-9]{5}\b"), "-…"),
)
"""What is another one in every run."""


def row(stage: str, failure: Failure[Any], said: str, seconds: str) -> str:
    """A line of the table."""
    how = f"{failure.how} ({failure.simulated})" if failure.simulated else failure.how
    return f"| {stage} | {failure.what} | {how} | {said} | {seconds} |"


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, from what was noted by id."""
    lines = ["| on | failure | how it was made | what the doctor said | took |", "|---|---|---|---|---|"]
    for registry in all_failures.REGISTRIES:
        for each in registry.failures.values():
            found = results[each.id]
            explains = f" (explains {found['explains']} more)" if found["explains"] else ""
            said = f"{_told(str(found['says']))}{explains} `{found['code']}`"
            lines.append(row(registry.stage, each, said, f"{found['seconds']:.1f} s"))
    return _HEAD + "\n".join(lines) + "\n"


def _told(text: str) -> str:
    for pattern, instead in _MADE_UP:
        text = pattern.sub(instead, text)
    return text.replace("|", "\\|")


def read(lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What was noted, by id."""
    return {each["id"]: each for each in map(json.loads, lines)}


def main() -> int:
    """Make all failures, and write the page if each was named."""
    with tempfile.TemporaryDirectory() as home:
        notes = Path(home) / "notes.jsonl"
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "--everything", TESTS]
        done = subprocess.run(argv, cwd=ROOT, env={**os.environ, TABLE: str(notes)}, check=False)
        if done.returncode:
            return done.returncode
        PAGE.write_text(page(read(notes.read_text().splitlines())), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
