"""Who owns 2,000 and 10,000 objects: firstlight against ``kubectl get`` of the same kinds with their managedFields.

kubectl only fetches and prints; it says nothing of owners, so it is the floor of what anybody must wait for who asks a
cluster. The objects have owners of several sorts, stale co-owners among them.
"""

import asyncio
import itertools
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from bench import apply_objects, measure
from firstlight.clients import kube
from firstlight.lab import lab_directory, lab_settings, running_lab
from firstlight.observe import owned_objects
from firstlight.tools import install

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
SIZES = (2_000, 10_000)
_FLUX = "kustomize.toolkit.fluxcd.io"


def run(programs: dict[str, Path]) -> list[str]:
    tools = asyncio.run(install.ensure(["kubectl"])) | programs
    with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
        return asyncio.run(_run(Path(made), tools))


async def _run(folder: Path, tools: dict[str, Path]) -> list[str]:
    one = running_lab.Lab(lab_directory.LabDirectory(folder / "lab"))
    await one.up(tools, settings=lab_settings.DEFAULT, owner=os.getpid())
    lines: list[str] = []
    try:
        async with kube.Client(kube.load(one.kubeconfig)) as client:
            for each in apply_objects.definitions():
                await client.apply(each, manager="bench")
            spaces = itertools.count()
            for size in SIZES:
                wanted = int(size * apply_objects.PART)
                while (there := await _count(client)) < wanted:
                    await _fill(client, f"bench-{next(spaces)}", wanted - there)
                lines += await asyncio.to_thread(_measured, await _kinds(client), there, one.kubeconfig, folder, tools)
    finally:
        await one.down()
    return lines


async def _fill(client: kube.Client, space: str, most: int) -> None:
    """A namespace with objects of all sorts."""
    await client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}, manager="bench")
    await asyncio.gather(*(_apply(client, *each) for each in itertools.islice(_objects(space), most)))


def _objects(space: str) -> Iterator[tuple[dict[str, Any], str]]:
    labels = {f"{_FLUX}/name": space, f"{_FLUX}/namespace": "flux-system"}
    managers = itertools.cycle(("kustomize-controller", "kustomize-controller", "firstlight", "talos", "kubectl"))
    for each, manager in zip(apply_objects.others(), managers, strict=False):
        metadata = {**each["metadata"], "namespace": space}
        if manager == "kustomize-controller":
            metadata["labels"] = {**(metadata.get("labels") or {}), **labels}
        if each["kind"] == "Deployment":
            each["spec"]["replicas"] = 0
        yield {**each, "metadata": metadata}, manager


async def _apply(client: kube.Client, obj: Mapping[str, Any], manager: str) -> None:
    await client.apply(obj, manager=manager)
    if manager == "kustomize-controller" and obj["metadata"]["name"].endswith("7"):
        await client.apply(obj, manager="talos")  # equal values, so both own them


async def _count(client: kube.Client) -> int:
    return len((await owned_objects.look(client)).objects)


async def _kinds(client: kube.Client) -> list[str]:
    """What firstlight lists, as kubectl names it."""
    found = owned_objects.kinds(await client.catalog())
    return [f"{each.plural}.{each.version}.{each.group}" if each.group else each.plural for each in found]


def _measured(kinds: list[str], count: int, kubeconfig: Path, folder: Path, tools: Mapping[str, Path]) -> list[str]:
    own = [sys.executable, "-m", "firstlight", "owners", "--kubeconfig", str(kubeconfig), "--no-render"]
    get = [str(tools["kubectl"]), f"--kubeconfig={kubeconfig}", "get", "-A", "-o", "json", "--show-managed-fields"]
    parallel = f"printf '%s\\n' {' '.join(kinds)} | xargs -P 16 -n 1 {shlex.join(get)}"
    commands = {
        "firstlight": [*own, "--all", "-o", "json"],
        "firstlight, a page of text": own,
        "kubectl get, one by one": [*get, ",".join(kinds)],
        "kubectl get, 16 at once": ["sh", "-c", parallel],
    }
    before = os.getcwd()
    os.chdir(folder)  # where no repo is
    try:
        samples = measure.interleave(commands, rounds=ROUNDS)
    finally:
        os.chdir(before)
    about = f"owners of {count:,} objects of {len(kinds)} kinds, {ROUNDS} rounds"
    return [about, *measure.table(samples, against="firstlight")]
