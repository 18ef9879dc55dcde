"""Writes docs/recover-drills.md: ``python -m tests.recover.table`` makes every failure, and notes how long it took."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from firstlight.commands.recover import drill
from firstlight.commands.recover.drill_context import DrillFault
from tests.recover.drills import TABLE

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "recover-drills.md"
TESTS = (
    "tests/integration/commands/recover/test_recover_machine.py", "tests/journeys/test_recover.py",
    "tests/journeys/test_etcd_recovery.py",
)  # fmt: skip
_HEAD = """# Recoveries that were practised

Each failure was made on the lab, with the real API server, controllers, Flux and talosctl, then assessed and repaired
by [`firstlight recover`](recover.md). Diagnosed is the time from the failure to the assessment that offers the option,
repaired the time from there until nothing of it is broken any more. Before and after, all objects, the contents of
Secrets and the volumes of claims are compared. Written by `make recover-table`; a test compares the rows with the
scenarios that there are.

"""


def row(fault: DrillFault, found: Mapping[str, Any]) -> str:
    """A line of the table."""
    lost = "; ".join(found["lost"]) or f"nothing of {found['compared']} objects"
    return (
        f"| {start(fault)} | `{found['option'].split()[0]}` | {found['diagnosed']:.1f} s | {found['repaired']:.1f} s "
        f"| {lost} |"
    )


def start(fault: DrillFault) -> str:
    """What of a line does not depend on the run."""
    return f"`{fault.id}` | {fault.what} | {fault.how}"


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, from what was noted by id."""
    lines = ["| scenario | failure | how it was made | option | diagnosed | repaired | lost |", "|---" * 7 + "|"]
    lines += [row(each, results[each.id]) for each in drill.FAULTS.values()]
    return _HEAD + "\n".join(lines) + "\n"


def read(lines: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What was noted, by id."""
    return {each["id"]: each for each in map(json.loads, lines)}


def main() -> int:
    """Make all failures, and write the page if each was repaired."""
    with tempfile.TemporaryDirectory() as home:
        notes = Path(home) / "notes.jsonl"
        argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "--everything", "-k", "not killed", *TESTS]
        done = subprocess.run(argv, cwd=ROOT, env={**os.environ, TABLE: str(notes)}, check=False)
        if done.returncode:
            return done.returncode
        PAGE.write_text(page(read(notes.read_text().splitlines())), encoding="utf-8")
    print(f"{PAGE.relative_to(ROOT)} is written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
