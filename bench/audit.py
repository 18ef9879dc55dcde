"""How long ``firstlight audit`` takes for 5,000 YAML files of 25 MB: cold, again, and after one file has changed.

The floor of a cold one is PyYAML's C loader on the same bytes, on two cores; that of a warm one is a look at every file
and a hash of its bytes. kustomize builds every directory, two at once, and knows nothing of what it builds. With
``--watch`` all stays in memory, and a change is told from a second look at every file's time.
"""

import asyncio
import contextlib
import datetime
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import measure, reading
from firstlight.commands.audit import watch
from firstlight.commands.audit.audit import AuditMeans
from firstlight.commands.audit.audit_request import AuditRequest
from firstlight.repo.work_tree import WorkTree
from firstlight.tools import install

ROUNDS = 5
APPS = 830
LOADER = """
import concurrent.futures, pathlib, sys, yaml
def load(paths):
    for path in paths:
        list(yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader))
paths = sorted(pathlib.Path(sys.argv[1]).rglob("*.yaml"))
with concurrent.futures.ProcessPoolExecutor(2) as pool:
    list(pool.map(load, [paths[::2], paths[1::2]]))
"""
HASHES = """
import hashlib, os, pathlib, sys
for path in pathlib.Path(sys.argv[1]).rglob("*.yaml"):
    os.stat(path)
    hashlib.sha256(path.read_bytes()).digest()
"""
BUILD = 'cd "$1"; find . -name kustomization.yaml -path "*/app/*" | xargs -n1 dirname | xargs -P2 -n1 "$2" build'
PANEL = (
    '      {{"title": "panel %d", "type": "timeseries", "targets": [{{"expr": "sum(rate(requests_total[5m]))"}}]}},\n'
)
DASHBOARD = (
    "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: dashboard-{app}\ndata:\n  dashboard.json: |\n"
    + "".join(PANEL % n for n in range(240))
)


def run(programs: dict[str, Path]) -> list[str]:
    kustomize = (asyncio.run(install.ensure(["kustomize"])) | programs)["kustomize"]
    with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
        root = Path(made) / "fleet"
        files, size = reading.generate(root, apps=APPS, more={"app/dashboard.yaml": DASHBOARD})
        # As it is once installed: modules are compiled once, not for every run.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        own = {"XDG_CACHE_HOME": f"{made}/cache", "PYTHONPYCACHEPREFIX": f"{made}/compiled"}
        return _run(root, files, size, kustomize, environment=inherited | own)


def _run(root: Path, files: int, size: int, kustomize: Path, *, environment: dict[str, str]) -> list[str]:
    firstlight = str(Path(sys.executable).parent / "firstlight")
    audit = [firstlight, "audit", "--repo", str(root), "--output", "json", "--fail-on", "critical"]
    changed = root / "kubernetes/apps/ns-1/app-11/app/helmrelease.yaml"
    text = changed.read_text()

    def change(number: int) -> None:
        changed.write_text(text.replace("replicas: 2", f"replicas: {number + 3}"))

    contestants: dict[str, tuple[list[str], Callable[[int], None] | None]] = {
        "audit, cold": ([*audit, "--no-cache"], None),
        "audit, nothing changed": (audit, None),
        "audit, one file changed": (audit, change),
        "PyYAML's C loader, two processes": ([sys.executable, "-c", LOADER, str(root)], None),
        "stat and hash": ([sys.executable, "-c", HASHES, str(root)], None),
        "kustomize build, two at once": (["sh", "-c", BUILD, "sh", str(root), str(kustomize)], None),
    }
    first = _timed(audit, environment)
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(ROUNDS):
        for name in list(contestants) if number % 2 else list(contestants)[::-1]:
            command, before = contestants[name]
            if name == "audit, nothing changed":
                _timed(audit, environment)
            if before:
                before(number)
            times[name].append(_timed(command, environment))
    samples = {name: measure.Sample(name, tuple(seconds)) for name, seconds in times.items()}
    head = f"auditing {files} files, {size / 1e6:.1f} MB, {ROUNDS} rounds; the very first took {first:.1f} s"
    lines = [head, *measure.table(list(samples.values()), against="audit, cold")]
    for one, other in (
        ("audit, nothing changed", "stat and hash"),
        ("audit, one file changed", "PyYAML's C loader, two processes"),
    ):
        middle, low, high = measure.ratio(samples[one], samples[other])
        lines.append(f"  {one}: {middle:.2f} times {other} ({low:.2f} to {high:.2f})")
    watched = asyncio.run(_watched(root, change))
    lines.append(
        f"  --watch, from a change to its news: {watched.median * 1000:.0f} ms,"
        f" of which up to {watch.PAUSE * 1000:.0f} ms are the pause between two looks"
    )
    return lines


async def _watched(root: Path, change: Callable[[int], None]) -> measure.Sample:
    """How long it takes from a change to what is said of it, while somebody watches."""
    git = shutil.which("git")
    looks = watch.watch(
        WorkTree(root), AuditRequest(today=datetime.date.today()), AuditMeans(git=Path(git) if git else None)
    )  # fmt: skip
    seconds = []
    async with contextlib.aclosing(looks):
        await anext(looks)
        for number in range(ROUNDS):
            begun = time.perf_counter()
            change(ROUNDS + number)
            await anext(looks)
            seconds.append(time.perf_counter() - begun)
    return measure.Sample("watched", tuple(seconds))


def _timed(command: list[str], environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - begun
