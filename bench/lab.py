"""How long ``lab up`` takes with nothing to build, against the floor (a ready API server), and memory by part."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from bench import measure
from firstlight.lab import lab_directory, lab_settings, running_lab
from firstlight.lab.lab_status import LabStatus

ROUNDS = 7


def run(programs: dict[str, Path]) -> list[str]:
    whole, floor, again = [], [], []
    status: LabStatus | None = None
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            one = running_lab.Lab(lab_directory.LabDirectory(Path(folder) / "bench"))
            seconds, api, second, status = asyncio.run(_round(one, programs))
            whole.append(seconds)
            floor.append(api)
            again.append(second)
    assert status is not None
    samples = [
        measure.Sample("lab up", tuple(whole)),
        measure.Sample("API server ready (the floor)", tuple(floor)),
        measure.Sample("lab up of a running lab", tuple(again)),
    ]
    memory = {part.name: part.memory for part in status.parts}
    return [
        f"lab up with three nodes, nothing to build, {ROUNDS} rounds",
        *measure.table(samples, against="lab up"),
        f"  spread of lab up: {min(whole):.1f} to {max(whole):.1f} s",
        "memory by part, just after the start",
        *(f"  {name:34}{size / 2**20:9.1f} MB" for name, size in memory.items()),
        f"  {'in all':34}{sum(memory.values()) / 2**20:9.1f} MB",
    ]


async def _round(one: running_lab.Lab, programs: dict[str, Path]) -> tuple[float, float, float, LabStatus]:
    begun, wall = time.perf_counter(), time.time()
    status = await one.up(programs, settings=lab_settings.DEFAULT, owner=os.getpid())
    seconds = time.perf_counter() - begun
    api = next(part.since for part in status.parts if part.name == "kube-apiserver") - wall
    begun = time.perf_counter()
    status = await one.up(programs, owner=os.getpid())
    again = time.perf_counter() - begun
    await one.down()
    return seconds, api, again, status
