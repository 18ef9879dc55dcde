"""2,000 objects applied to an empty cluster, and applied again with nothing to do: firstlight, kubectl, Helm and kapp.

Each contestant begins with the same state of etcd; at the end the objects are compared, without what each of them adds.
The floor sends the same writes from a minimal client; for nothing to do it is one list a kind.
"""

import asyncio
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import apply_objects, measure
from firstlight.clients import kube
from firstlight.lab import lab_directory, lab_settings, running_lab
from firstlight.tools import install

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
NAMES = ("firstlight", "floor", "kubectl apply --server-side", "helm", "kapp, defaults", "kapp, 50 at once")
AGENTS = {"firstlight": "firstlight", "floor": "floor", "kubectl": "kubectl", "helm": "Helm", "kapp": "kapp"}


def run(programs: dict[str, Path]) -> list[str]:
    tools = asyncio.run(install.ensure(["helm", "kapp", "kubectl"])) | programs
    with tempfile.TemporaryDirectory(prefix="firstlight-bench-") as made:
        return asyncio.run(_run(Path(made), tools))


async def _run(folder: Path, tools: dict[str, Path]) -> list[str]:
    apply_objects.write(folder)
    one = running_lab.Lab(lab_directory.LabDirectory(folder / "lab"))
    await one.up(tools, settings=lab_settings.DEFAULT, owner=os.getpid())
    try:
        async with kube.Client(kube.load(one.kubeconfig)) as client:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": apply_objects.NAMESPACE}}
            await client.apply(space, manager="bench")
        await one.save("base")
        cold: dict[str, list[float]] = {name: [] for name in NAMES}
        again: dict[str, list[float]] = {name: [] for name in NAMES}
        requests: dict[str, tuple[int, int]] = {}
        ends: dict[str, str] = {}
        for number in range(ROUNDS):
            for name in NAMES if number % 2 == 0 else NAMES[::-1]:
                await one.restore("base")
                first, second = _commands(name, folder, one.kubeconfig, tools)
                before = _count(one, name)
                cold[name].append(_timed(first, folder))
                middle = _count(one, name)
                again[name].append(_timed(second, folder))
                requests[name] = (middle - before, _count(one, name) - middle)
                ends[name] = await _end(one)
    finally:
        await one.down()
    assert len(set(ends.values())) == 1, ends
    return [
        f"applying {sum(apply_objects.COUNTS.values()) + apply_objects.CUSTOM + apply_objects.DEFINITIONS} objects, "
        f"{apply_objects.DEFINITIONS} of them CRDs, {ROUNDS} rounds; the same end",
        *_table("cold", cold, requests, 0),
        *_table("nothing to do", again, requests, 1),
    ]


def _table(what: str, times: Mapping[str, list[float]], requests: Mapping[str, tuple[int, int]], at: int) -> list[str]:
    samples = [measure.Sample(name, tuple(seconds)) for name, seconds in times.items()]
    lines = measure.table(samples, against="firstlight")
    return [what, *(f"{line}   {requests[name][at]} requests" for line, name in zip(lines, times, strict=True))]


def _commands(
    name: str, folder: Path, kubeconfig: Path, tools: Mapping[str, Path]
) -> tuple[Sequence[Sequence[str]], Sequence[Sequence[str]]]:
    """What is run at first, and again."""
    way = f"--kubeconfig={kubeconfig}"
    everything = str(folder / "all.json")
    client = [sys.executable, "-m", "bench.apply_client"]
    match name:
        case "firstlight":
            command = [*client, "firstlight", everything, str(kubeconfig)]
            return [command], [command]
        case "floor":
            return [[*client, "floor", everything, str(kubeconfig)]], [[*client, "lists", everything, str(kubeconfig)]]
        case "kubectl apply --server-side":
            kubectl = [str(tools["kubectl"]), way]
            crds = str(folder / "crds.json")
            # Custom resources in the same call would be unknown kinds.
            commands = [
                [*kubectl, "apply", "--server-side", "-f", crds],
                [*kubectl, "wait", "--for=condition=Established", "-f", crds],
                [*kubectl, "apply", "--server-side", "-f", str(folder / "rest.json")],
            ]
            return commands, [commands[0], commands[2]]
        case "helm":
            helm = [str(tools["helm"]), way, f"--namespace={apply_objects.NAMESPACE}"]
            chart = str(folder / "chart")
            return [[*helm, "install", "bench", chart]], [[*helm, "upgrade", "bench", chart]]
    space = f"--namespace={apply_objects.NAMESPACE}"
    kapp = [str(tools["kapp"]), way, space, "deploy", "-a", "bench", "-y", "-f", everything]
    if "50" in name:
        kapp += ["--apply-concurrency=50", "--wait-concurrency=50", "--apply-check-interval=100ms",
                 "--wait-check-interval=100ms", "--kube-api-qps=1000", "--kube-api-burst=1000"]  # fmt: skip
    return [kapp], [kapp]


def _timed(commands: Sequence[Sequence[str]], folder: Path) -> float:
    environment = {**os.environ, "HOME": str(folder), "KUBECACHEDIR": str(folder / "kube")}
    begun = time.perf_counter()
    for command in commands:
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
    return time.perf_counter() - begun


def _count(one: running_lab.Lab, name: str) -> int:
    """Requests of a contestant so far, from the audit log; discovery and health are not in it."""
    agent = next(agent for key, agent in AGENTS.items() if name.startswith(key)).encode()
    lines = one.home.audit_log.read_bytes().splitlines() if one.home.audit_log.exists() else []
    return sum(b'"username":"admin"' in line and b'"userAgent":"' + agent in line for line in lines)


async def _end(one: running_lab.Lab) -> str:
    """A hash of all objects, without what a server or a contestant adds."""
    wanted = [*apply_objects.definitions(), *apply_objects.others()]
    kinds = sorted({(each["apiVersion"], each["kind"]) for each in wanted})
    made = hashlib.sha256()
    count = 0
    async with kube.Client(kube.load(one.kubeconfig)) as client:
        for api_version, kind in kinds:
            names = {each["metadata"]["name"] for each in wanted if each["kind"] == kind}
            listing = await client.list(api_version, kind)
            for each in sorted(listing.items, key=lambda item: str(item["metadata"]["name"])):
                if each["metadata"]["name"] in names:
                    count += 1
                    made.update(json.dumps(_essence(each), sort_keys=True).encode())
    assert count == len(wanted), (count, len(wanted))
    return made.hexdigest()


def _essence(value: Mapping[str, Any]) -> dict[str, Any]:
    """kapp puts a label of its own on selectors and templates as well, so only other labels and values are compared."""
    metadata = value["metadata"]
    labels = {name: each for name, each in (metadata.get("labels") or {}).items() if name == "app.kubernetes.io/name"}
    rest = {name: each for name, each in value.items() if name not in ("metadata", "status")}
    if value["kind"] in ("Deployment", "Service"):
        spec = dict(rest["spec"])
        spec.pop("selector", None)
        if "template" in spec:
            spec["template"] = spec["template"]["spec"]
        rest["spec"] = spec
    return {"name": metadata["name"], "labels": labels, **rest}
