"""``firstlight demo``: bare machines made a cluster, used, broken and shown, in one go."""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstlight import errors
from firstlight.cli import screen

if TYPE_CHECKING:
    from firstlight.clients import kube
    from firstlight.lab.commission import Commission
    from firstlight.lab.lab import Lab

NAME = "demo"
TIMEOUT = 120
CONTROL_PLANE = """
cluster:
  allowSchedulingOnControlPlanes: true
  network: {cni: {name: none}}
  proxy: {disabled: true}
  inlineManifests:
    - name: greeting
      contents: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: greeting, namespace: default}
        data: {from: the machine config}
"""


@click.command()
@click.option("--keep", is_flag=True, help="Leave the lab running, to look around in it.")
def demo(keep: bool) -> None:
    """Make bare machines a cluster on this computer, break it and see it survive."""
    asyncio.run(_demo(keep=keep))


async def _demo(*, keep: bool) -> None:
    from firstlight.cli import installing
    from firstlight.cli import lab as lab_command
    from firstlight.lab import control_plane, machines, settings
    from firstlight.lab import lab as labs

    one = labs.named(NAME)
    if one.is_running():
        raise errors.Refused(
            f"a lab named {NAME} runs already", hint=f"Look at it, or take it down: firstlight lab down -n {NAME}"
        )
    await one.down()
    wanted = settings.with_machines(settings.Settings(), control_planes=3, workers=1)
    programs = await installing.ensure([*control_plane.COMPONENTS, machines.PROGRAM, "talosctl"])
    begun = time.monotonic()
    _step("Four machines without a config: Talos's own API, played by a program on loopback")
    try:
        await lab_command.bring_up(one, wanted, owner=0 if keep else os.getpid())
        _say(f"up in {time.monotonic() - begun:.1f} s, in maintenance mode")
        cluster = await _commission(one, programs["talosctl"])
        await _show(one, cluster)
        if keep:
            _step("The lab stays")
            print(f"  export KUBECONFIG=$(firstlight lab kubeconfig -n {NAME})")
            print(f"  export TALOSCONFIG=$(firstlight lab talosconfig -n {NAME})")
            print(f"  firstlight lab down -n {NAME}")
    finally:
        if not keep:
            await one.down()
            seconds = time.monotonic() - begun
            print(f"\nThe lab is gone again, after {seconds:.0f} s in all; to keep it: firstlight demo --keep")


async def _commission(one: "Lab", program: Path) -> "Commission":
    """What an engineer types: secrets, configs, apply, bootstrap."""
    from firstlight.clients import talosctl
    from firstlight.lab import commission
    from firstlight.model.secret import Secret

    status = await one.status()
    tool = talosctl.Talosctl(program)
    secrets = await tool.gen_secrets()
    endpoint = f"https://{status.loopback}:6443"
    talosconfig = await tool.gen_config("talosconfig", cluster=NAME, endpoint=endpoint, secrets=secrets)
    cluster = commission.Commission(one, program, talosconfig, commission.machines_of(status), report=_say)
    cluster.write_talosconfig([name for name in cluster.machines if name.startswith("cp")])

    _step("The unmodified talosctl gives each its config, over its maintenance API")
    configs = {}
    for name in cluster.machines:
        patches = [_host(name)] if name.startswith("worker") else [_host(name), CONTROL_PLANE]
        configs[name] = await tool.gen_config(
            "worker" if name.startswith("worker") else "controlplane", cluster=NAME, endpoint=endpoint,
            secrets=secrets, patches=[Secret(patch.encode()) for patch in patches],
        )  # fmt: skip
    await cluster.configure(configs)

    _step("talosctl bootstrap: etcd on the first machine, the others join; the control plane follows")
    begun = time.monotonic()
    await cluster.bootstrap("cp-1")
    _say(f"kube-apiserver answers after {time.monotonic() - begun:.1f} s")
    return cluster


async def _show(one: "Lab", cluster: "Commission") -> None:
    from firstlight.cli import lab as lab_command
    from firstlight.clients import kube
    from firstlight.lab import nodes

    async with kube.Client(kube.load(one.kubeconfig)) as client:
        _step("The machines are nodes, and not ready: they have no network yet")
        await _wait(
            client, "v1", "Node", lambda found: len(found) == 4 and all(nodes.summary(n)["why"] for n in found)
        )  # fmt: skip
        await _print_nodes(client)

        _step("An inline manifest of the machine config, applied by the machines themselves: its owner is talos")
        (greeting,) = await _wait(
            client, "v1", "ConfigMap", lambda found: bool(found), "default", name="greeting"
        )  # fmt: skip
        entry = greeting["metadata"]["managedFields"][0]
        _say(f"configmap/greeting   {entry['manager']}, {entry['operation']}   from: {greeting['data']['from']}")

        _step("A CNI DaemonSet makes the nodes ready, as on real machines")
        for obj in _example("network.yaml"):
            await client.apply(obj, manager="demo")
        await _wait(client, "v1", "Node", lambda found: all(nodes.summary(node)["ready"] for node in found))
        await _print_nodes(client)

        _step("A workload: the real scheduler places it, the service gets an address")
        for obj in _example("workload.yaml"):
            await client.apply(obj, manager="demo")
        pods = await _wait(client, "v1", "Pod", lambda found: len(found) == 2 and all(map(_is_ready, found)), "default")
        for pod in pods:
            _say(f"{pod['metadata']['name']:28} ready on {pod['spec']['nodeName']:10} {pod['status']['podIP']}")
        services = await _wait(client, "v1", "Service", lambda found: any(map(_address, found)), namespace="default")
        _say(f"{'service hello':28} at {next(filter(None, map(_address, services)))}")

    _step("talosctl health, with Talos's own checks")
    health = await cluster.admin.health(cluster.target("cp-1"), wait=TIMEOUT)
    passed = sum(check.state == "passed" for check in health.checks)
    _say(f"healthy: {passed} checks passed" if health.is_healthy else f"not healthy: {health.reason}")

    _step("Faults: one request in seven is refused, one write in seven loses its answer; nothing is lost")
    await _survive(one)

    _step("A machine loses its power: etcd goes on with two of three, the API server moves to the next machine")
    await _pull_the_plug(one)

    _step("What is real, what is simulated")
    state, summaries = await lab_command.look(one)
    print("\n".join(lab_command.status_lines(one, state, summaries)))


async def _pull_the_plug(one: "Lab") -> None:
    from firstlight.clients import kube

    begun = time.monotonic()
    await one.machine("cp-1", "off")
    async with asyncio.timeout(TIMEOUT):
        while True:
            with contextlib.suppress(errors.ClientError, TimeoutError):
                async with asyncio.timeout(2), kube.Client(kube.load(one.kubeconfig)) as client:
                    entry = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"without": "cp-1"}}
                    await client.apply({**entry, "metadata": {"name": "after", "namespace": "default"}}, manager="demo")
                    break
            await asyncio.sleep(0.2)
    _say(f"cp-1 is off; {time.monotonic() - begun:.1f} s later a write went through")
    await one.machine("cp-1", "on")
    await one.wait_ready()
    _say("cp-1 is on again, and has rejoined by itself")


async def _survive(one: "Lab") -> None:
    from firstlight.clients import kube

    await one.faults.seed(7)
    await one.faults.add("status", code=503, retryAfter=0, rate=0.15)
    await one.faults.add("reset-after", rate=0.15, match={"classes": ["update"]})
    try:
        async with kube.Client(kube.load(one.home.kubeconfig_faults)) as client:
            for number in range(20):
                entry = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"number": str(number)}}
                entry["metadata"] = {"name": f"survivor-{number}", "namespace": "default"}
                await client.apply(entry, manager="demo")
            found = (await client.list("v1", "ConfigMap", namespace="default")).items
        active = await one.faults.active()
    finally:
        await one.faults.clear()
    written = sum(each["metadata"]["name"].startswith("survivor-") for each in found)
    struck = ", ".join(f"{each.rule['fault']} {each.hits}×" for each in active)
    _say(f"{written} of 20 objects written; faults that struck: {struck}")


def _host(name: str) -> str:
    return f"apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {name}\nauto: off\n"


async def _wait(
    client: "kube.Client", api_version: str, kind: str, is_done: Callable[[list[dict[str, Any]]], bool],
    namespace: str | None = None, *, name: str = "",
) -> list[dict[str, Any]]:  # fmt: skip
    """Watch until the objects are as they should be; only the one with a name if that is given."""
    from firstlight.clients import kube

    found: dict[str, dict[str, Any]] = {}
    watch = client.watch(api_version, kind, namespace=namespace)
    try:
        async with asyncio.timeout(TIMEOUT), contextlib.aclosing(watch) as events:
            async for event in events:
                match event:
                    case kube.Added(obj) | kube.Modified(obj) if name in {"", obj["metadata"]["name"]}:
                        found[obj["metadata"]["name"]] = obj
                    case kube.Deleted(obj):
                        found.pop(obj["metadata"]["name"], None)
                if is_done(list(found.values())):
                    break
    except TimeoutError as error:
        raise errors.LabError(
            f"{kind}s of the lab are not as they should be after {TIMEOUT} s",
            hint="On a very busy machine, try again; else: firstlight demo --keep, and firstlight lab logs",
        ) from error
    return [found[name] for name in sorted(found)]


async def _print_nodes(client: "kube.Client") -> None:
    from firstlight.lab import nodes
    from firstlight.report import table

    summaries = [nodes.summary(node) for node in (await client.list("v1", "Node")).items]
    rows = [
        [node["name"], node["address"], "ready" if node["ready"] else "not ready", node["why"]] for node in summaries
    ]
    print("\n".join(table.render(rows, indent="  ", columns=table.terminal_columns())))


def _example(name: str) -> list[dict[str, Any]]:
    import yaml

    from firstlight.lab import lab

    text = (Path(lab.__file__).parent / "examples" / name).read_text()
    return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod.get("status", {}).get("conditions") or ()
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _address(service: dict[str, Any]) -> str:
    entries = service.get("status", {}).get("loadBalancer", {}).get("ingress") or ()
    return str(entries[0]["ip"]) if entries else ""


def _step(text: str) -> None:
    print("\n" + screen.styled(text, screen.BOLD), flush=True)


def _say(text: str) -> None:
    print("  " + text, flush=True)
