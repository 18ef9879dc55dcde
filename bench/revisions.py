"""Time, CPU and memory of common commands, now and at an earlier revision, in one run.

Not one of the benchmarks that ``make bench`` runs: ``python -m bench.revisions REVISION``.
"""

import dataclasses
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import decide, measure, reading

ROUNDS = 7
TREE = Path(__file__).parents[1]
NOW = "now"


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one call took."""

    seconds: float
    cpu: float
    megabytes: float


def main() -> None:
    revision = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
        earlier, root = Path(made) / "earlier", Path(made) / "fleet"
        subprocess.run(["git", "-C", TREE, "worktree", "add", "--quiet", "--detach", earlier, revision], check=True)
        try:
            reading.generate(root)
            decide.change(root)
            print("\n".join(compare({NOW: TREE, revision: earlier}, root)))
        finally:
            subprocess.run(["git", "-C", TREE, "worktree", "remove", "--force", earlier], check=True)


def compare(trees: Mapping[str, Path], root: Path) -> list[str]:
    """Return a line for each command and tree; the trees take turns."""
    commands: dict[str, Sequence[str]] = {
        "--help": ["--help"],
        "plan --help": ["plan", "--help"],
        "inventory": ["inventory", "--repo", str(root), "--output", "json"],
        "plan": ["plan", "--offline", "--repo", str(root), "--output", "json"],
        "audit": ["audit", "--no-cache", "--repo", str(root), "--output", "json"],
        "decide": ["decide", "--diff", decide.RANGE, "--no-render", "--repo", str(root), "--output", "json"],
    }
    lines = []
    for name, words in commands.items():
        costs: dict[str, list[Cost]] = {tree: [] for tree in trees}
        for number in range(ROUNDS + 1):
            for tree in list(trees) if number % 2 else list(trees)[::-1]:
                cost = _call(words, trees[tree])
                if number:  # the first round fills the page cache
                    costs[tree].append(cost)
        samples = {tree: measure.Sample(tree, tuple(each.seconds for each in costs[tree])) for tree in trees}
        for tree, taken in costs.items():
            cpu = statistics.median(each.cpu for each in taken)
            memory = max(each.megabytes for each in taken)
            line = f"  {name:12} {tree:12} {samples[tree].median:7.2f} s  {cpu:6.2f} s CPU  {memory:6.0f} MB"
            if tree != NOW:
                middle, low, high = measure.ratio(samples[NOW], samples[tree])
                line += f"   now takes {middle:.2f} times as long ({low:.2f} to {high:.2f})"
            lines.append(line)
    return lines


def _call(words: Sequence[str], tree: Path) -> Cost:
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": ""}
    begun = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "firstlight", *words],
        cwd="/", env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as child:  # fmt: skip
        _, _, usage = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - begun
        child.returncode = 0
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)


if __name__ == "__main__":
    main()
