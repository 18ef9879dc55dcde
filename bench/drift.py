"""Benchmark 3: 20 changes among 2,000 and 10,000 objects, 30 of which come back in another way than they are written.

firstlight against ``kubectl diff`` of the same objects, with 1 and with 16 at once; both are held against a dry run of
each object.
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import drift_objects, measure
from firstlight.clients import kube
from firstlight.execute.apply.object_survey import survey
from firstlight.execute.apply.server_side_apply import apply
from firstlight.lab import lab_directory, lab_settings, running_lab
from firstlight.model.rendition import Object
from firstlight.tools import install

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
NAMES = ("firstlight", "kubectl diff, 16 at once", "kubectl diff, 1 at once")
_DIFFERS = re.compile(r"^diff -u -N \S+/LIVE-\d+/(\S+)", re.MULTILINE)


def run(programs: dict[str, Path]) -> list[str]:
    tools = asyncio.run(install.ensure(["kubectl"])) | programs
    lines: list[str] = []
    for size in drift_objects.SIZES:
        with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
            lines += asyncio.run(_run(Path(made), tools, size))
    return lines


async def _run(folder: Path, tools: dict[str, Path], size: int) -> list[str]:
    objects = drift_objects.objects(size)
    (folder / "objects.json").write_text(json.dumps(objects))
    items = [drift_objects.marked(each) for each in objects]
    (folder / "list.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    one = running_lab.Lab(lab_directory.LabDirectory(folder / "lab"))
    await one.up(tools, settings=lab_settings.DEFAULT, owner=os.getpid())
    try:
        async with kube.Client(kube.load(one.kubeconfig)) as client:
            await _prepared(client, items, size)
        told = _names(_called(_client("oracle", folder, one.kubeconfig), folder)[1])
        assert len(told) == drift_objects.CHANGES, told
        times: dict[str, list[float]] = {name: [] for name in NAMES}
        found: dict[str, set[str]] = {}
        requests: dict[str, int] = {}
        for number in range(ROUNDS):
            for name in NAMES if number % 2 == 0 else NAMES[::-1]:
                before = _count(one, name)
                seconds, printed = _called(_command(name, folder, one.kubeconfig, tools), folder)
                times[name].append(seconds)
                found[name] = _names(printed) if name == "firstlight" else _diffed(printed)
                requests[name] = _count(one, name) - before
    finally:
        await one.down()
    samples = [measure.Sample(name, tuple(seconds)) for name, seconds in times.items()]
    lines = measure.table(samples, against="firstlight")
    return [
        f"{drift_objects.CHANGES} changes among {size} objects, 30 of them traps, {ROUNDS} rounds",
        *(
            f"{line}   {requests[name]} requests, {_score(found[name], told, name)}"
            for line, name in zip(lines, NAMES, strict=True)
        ),
    ]


async def _prepared(client: kube.Client, items: Sequence[dict[str, Any]], size: int) -> None:
    """Everything applied as Flux does it, then changed as somebody would."""
    for name in (drift_objects.NAMESPACE, drift_objects.LIMITED):
        await client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, manager="bench")
    wanted = await survey(map(Object, items), client, manager=drift_objects.MANAGER)
    await apply([each for each in wanted if each.mark is None], client)
    for value, patch in drift_objects.edits(size):
        at = (value["apiVersion"], value["kind"], value["metadata"]["name"])
        if patch is None:
            await client.delete(*at, namespace=value["metadata"]["namespace"])
        else:
            await client.patch(*at, patch, manager="kubectl-edit", namespace=value["metadata"]["namespace"])


def _client(what: str, folder: Path, kubeconfig: Path) -> list[str]:
    return [sys.executable, "-m", "bench.drift_client", what, str(folder / "objects.json"), str(kubeconfig)]


def _command(name: str, folder: Path, kubeconfig: Path, tools: dict[str, Path]) -> list[str]:
    if name == "firstlight":
        return _client("firstlight", folder, kubeconfig)
    many = "16" if "16" in name else "1"
    return [
        str(tools["kubectl"]), f"--kubeconfig={kubeconfig}", "diff", "--server-side", "--force-conflicts",
        f"--field-manager={drift_objects.MANAGER}", f"--concurrency={many}", "-f", str(folder / "list.json"),
    ]  # fmt: skip


def _called(command: Sequence[str], folder: Path) -> tuple[float, str]:
    environment = {**os.environ, "HOME": str(folder), "KUBECACHEDIR": str(folder / "kube")}
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    seconds = time.perf_counter() - begun
    assert not done.stderr, f"{command}: {done.stderr[-2000:]}"
    assert done.returncode in (0, 1), command
    return seconds, done.stdout


def _names(printed: str) -> set[str]:
    return {line for line in printed.splitlines() if line}


def _diffed(printed: str) -> set[str]:
    """Files of ``kubectl diff`` are called ``apps.v1.Deployment.bench.web``."""
    found = set()
    for each in _DIFFERS.findall(printed):
        _, _, rest = re.sub(r"^(?:[a-z0-9.-]+\.)?(v\d\w*)\.", r"\1 ", each).partition(" ")
        kind, _, name = rest.partition(".")
        found.add(f"{kind}/{name.partition('.')[2]}")
    return found


def _score(found: set[str], told: set[str], name: str) -> str:
    missed, false = told - found, found - told
    if name == "firstlight":
        assert not missed | false, (missed, false)
    return f"{len(told & found)} of {len(told)} found, {len(false)} false"


def _count(one: running_lab.Lab, name: str) -> int:
    """Requests of a contestant so far, from the audit log."""
    agent = b"firstlight" if name == "firstlight" else b"kubectl"
    lines = one.home.audit_log.read_bytes().splitlines() if one.home.audit_log.exists() else []
    return sum(b'"username":"admin"' in line and b'"userAgent":"' + agent in line for line in lines)
