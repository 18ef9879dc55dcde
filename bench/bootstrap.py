"""The whole bootstrap of a small platform, against a script of talosctl, kubectl and helmfile that does the same."""

import asyncio
import os
import tempfile
import time
from pathlib import Path

from bench import measure
from firstlight.clients import command
from firstlight.lab.machines import machine_settings
from firstlight.tools import content, install
from tests import runs

ROUNDS = 4
MACHINES = (machine_settings.VirtualMachine(name="cp-1", address="10.9.0.11"),)
SCRIPT = Path(__file__).with_name("bootstrap.sh")
TIMEOUT = 600.0
NEEDED = (
    "helmfile",
    "kubectl",
    "lab-machine",
    "talosctl",
    "source-controller",
    "kustomize-controller",
    "helm-controller",
    "kustomize",
)


def run(programs: dict[str, Path]) -> list[str]:
    """Both, one after the other and the other way round, each in a lab of its own."""
    programs = programs | asyncio.run(install.ensure(NEEDED))
    ours, again, theirs = [], [], []
    for number in range(ROUNDS):
        turns = ["script", "firstlight"] if number % 2 == 0 else ["firstlight", "script"]
        states = {}
        for turn in turns:
            with tempfile.TemporaryDirectory() as folder:
                if turn == "firstlight":
                    first, second, states[turn] = asyncio.run(_ours(Path(folder), programs))
                    ours.append(first)
                    again.append(second)
                else:
                    seconds, states[turn] = asyncio.run(_theirs(Path(folder), programs))
                    theirs.append(seconds)
        missing = states["script"] ^ states["firstlight"]
        assert not missing, f"the clusters differ: {sorted(missing)[:10]}"
    samples = [
        measure.Sample("firstlight up", tuple(ours)),
        measure.Sample("talosctl, kubectl, helmfile", tuple(theirs)),
        measure.Sample("firstlight up again (nothing to do)", tuple(again)),
    ]
    return [
        f"from a bare machine to everything that Git brings, {ROUNDS} rounds; the same objects in the end",
        *measure.table(samples, against="firstlight up"),
    ]


async def _stage(folder: Path, programs: dict[str, Path]) -> runs.Stage:
    manifests = (await content.ensure(["flux-manifests"]))["flux-manifests"]
    return await runs.stage(
        folder, programs, machines=MACHINES,
        manifests={"cluster/flux-system/gotk-components.yaml": manifests / "install.yaml"},
    )  # fmt: skip


async def _ours(folder: Path, programs: dict[str, Path]) -> tuple[float, float, set[str]]:
    stage = await _stage(folder, programs)
    try:
        seconds = []
        for _ in range(2):
            begun = time.perf_counter()
            assert (await stage.up()).is_complete
            seconds.append(time.perf_counter() - begun)
        return seconds[0], seconds[1], set(await runs.state(stage))
    finally:
        await stage.lab.down()


async def _theirs(folder: Path, programs: dict[str, Path]) -> tuple[float, set[str]]:
    stage = await _stage(folder, programs)
    work = folder / "work"
    work.mkdir()
    ((_, endpoint),) = stage.place.reach.items()
    path = os.pathsep.join(str(programs[name].parent) for name in ("talosctl", "kubectl", "helm", "helmfile"))
    env = {
        **os.environ, "PATH": f"{path}{os.pathsep}{os.environ['PATH']}", "REPO": stage.place.root, "WORK": str(work),
        "ENDPOINT": endpoint, "API": stage.place.api, "TOKEN": runs.TOKEN, "HOME": str(work),
    }  # fmt: skip
    try:
        begun = time.perf_counter()
        await command.run(["bash", str(SCRIPT)], env=env, timeout=TIMEOUT)
        return time.perf_counter() - begun, set(await runs.state(stage))
    finally:
        await stage.lab.down()
