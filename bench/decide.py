"""How long ``firstlight decide`` takes for a diff of 50 files in a repo of 5,000, against what it cannot do without.

Nothing is kept between runs: cold is a process of its own, as CI has it, and warm is asked again in one that goes on.
The floor is Git's diff of the same range, and PyYAML's C loader on those 50 files as they were and as they are: it
does not know to what a file belongs, who owns that, or who needs it.
"""

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench import measure, reading
from firstlight.tools import install

ROUNDS = 5
FILES = 50
RANGE = "main...HEAD"
FLOOR = """
import subprocess, sys, yaml
git = ["git", "-C", sys.argv[1]]
base = subprocess.run([*git, "merge-base", "main", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
names = subprocess.run([*git, "diff", "--name-only", base, "HEAD"], capture_output=True, text=True, check=True)
wanted = [f"{side}:{name}" for name in names.stdout.splitlines() for side in (base, "HEAD")]
asked = "\\n".join(wanted).encode()
found = subprocess.run([*git, "cat-file", "--batch"], input=asked, capture_output=True, check=True)
rest = found.stdout
while rest:
    head, _, rest = rest.partition(b"\\n")
    size = int(head.split()[2])
    list(yaml.load_all(rest[:size], Loader=yaml.CSafeLoader))
    rest = rest[size + 1:]
"""
BUILD = 'cd "$1"; shift; kustomize=$1; shift; printf "%s\\n" "$@" | xargs -P2 -n1 "$kustomize" build'
WARM = """
import asyncio, shutil, sys, time
from pathlib import Path
from firstlight.commands.decide import change_source, decide as room
git = Path(shutil.which("git"))
async def decide():  # a result would be printed by asyncio, for an error that nobody sees
    await room.decide(Path(sys.argv[1]), change_source.between("main...HEAD"), git=git)
for _ in range(int(sys.argv[2])):
    begun = time.perf_counter()
    asyncio.run(decide())
    print(time.perf_counter() - begun)
"""


def run(programs: dict[str, Path]) -> list[str]:
    kustomize = (asyncio.run(install.ensure(["kustomize"])) | programs)["kustomize"]
    with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
        root = Path(made) / "fleet"
        files, _ = reading.generate(root)
        directories = change(root)
        return _run(root, files, directories, kustomize)


def _run(root: Path, files: int, directories: Sequence[str], kustomize: Path) -> list[str]:
    firstlight = str(Path(sys.executable).parent / "firstlight")
    decide = [firstlight, "decide", "--diff", RANGE, "--no-render", "--repo", str(root), "--output", "json"]
    build = ["sh", "-c", BUILD, "sh", str(root), str(kustomize), *directories]
    first, said = _first(decide)
    samples = measure.interleave(
        {
            "decide": decide,
            "git diff and PyYAML's C loader": [sys.executable, "-c", FLOOR, str(root)],
            "git diff alone": ["git", "-C", str(root), "diff", "--stat", RANGE],
            "inventory": [firstlight, "inventory", "--repo", str(root), "--output", "json"],
            f"kustomize build, {len(directories)} directories": build,
        },
        rounds=ROUNDS,
    )
    answers = subprocess.run(
        [sys.executable, "-c", WARM, str(root), str(ROUNDS + 1)], check=True, capture_output=True, text=True
    )
    _, *again = map(float, answers.stdout.split())
    samples.insert(1, measure.Sample("decide, asked again (warm)", tuple(again)))
    head = f"deciding upon {FILES} of {files} files, {ROUNDS} rounds; the very first took {first:.1f} s: {said}"
    lines = [head, *measure.table(samples, against="decide")]
    middle, low, high = measure.ratio(samples[1], samples[2])
    return [*lines, f"  warm it takes {middle:.2f} times as long as the floor ({low:.2f} to {high:.2f})"]


def _first(command: Sequence[str]) -> tuple[float, str]:
    """Seconds of the first one, and its answer: that it saw all of the files is checked here."""
    begun = time.perf_counter()
    done = subprocess.run(command, check=True, capture_output=True)
    took = time.perf_counter() - begun
    found = msgspec.json.decode(done.stdout)
    assert len({each["path"] for each in found["items"]}) == FILES, len(found["items"])
    return took, f"{found['side']}, {found['risk']} risk"


def change(root: Path) -> list[str]:
    """Make it a Git repo with a branch as update bots and people make them; the directories that it touches."""
    git = [shutil.which("git") or "git", "-C", str(root), "-c", "user.name=bench", "-c", "user.email=bench@example.org"]
    commands = (["init", "--quiet", "--initial-branch=main"], ["add", "--all"], ["commit", "--quiet", "-m", "all"])
    for each in (*commands, ["switch", "--quiet", "--create", "change"]):
        subprocess.run([*git, *each], check=True)
    touched = []
    for number in range(FILES):
        app = number * 19
        directory = f"kubernetes/apps/ns-{app // 10}/app-{app}/app"
        name, old, new = CHANGES[number % len(CHANGES)]
        file = root / directory / name
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))
        touched.append(directory)
    subprocess.run([*git, "commit", "--quiet", "--all", "-m", "change"], check=True)
    return touched


CHANGES = (
    ("helmrelease.yaml", "tag: v1.", "tag: v2."),
    ("ocirepository.yaml", "tag: 4.", "tag: 5."),
    ("helmrelease.yaml", "memory: 256Mi", "memory: 512Mi"),
    ("helmrelease.yaml", "replicas: 2", "replicas: 3"),
    ("externalsecret.yaml", "name: vault", "name: onepassword"),
)
