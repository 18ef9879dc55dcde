"""Every fault of the proxy, on every class of request: seen by kubectl, survived by our own client."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from firstlight.clients import command
from firstlight.clients import kube as clients_kube
from firstlight.clients.kube import Client
from firstlight.lab.running_lab import Lab
from tests.conftest import sample
from tests.labs import until

CLASSES = ("discovery", "get", "list", "watch", "create", "update", "delete")
POSITIONS = {"first": 0, "middle": 1, "last": 2}
"""Which of the three requests of a class is hit."""

STATUS = {f"{code}": {"fault": "status", "code": code} for code in (401, 500, 503, 504)}
ANYWHERE: dict[str, dict[str, Any]] = {
    **STATUS,
    "429": {"fault": "status", "code": 429, "retryAfter": 1},
    "latency": {"fault": "latency", "milliseconds": 50},
    "reset-before": {"fault": "reset-before"},
    "reset-after": {"fault": "reset-after"},
    "truncate": {"fault": "truncate"},
    "blackhole": {"fault": "blackhole", "milliseconds": 500},
    "slow": {"fault": "slow", "bytesPerSecond": 20_000},
    "tls-close": {"fault": "tls-close"},
}
SOMEWHERE: dict[tuple[str, str], dict[str, Any]] = {
    ("409", "update"): {"fault": "status", "code": 409},
    ("watch-cut", "watch"): {"fault": "watch-cut", "afterEvents": 1},
    ("watch-reset", "watch"): {"fault": "watch-cut", "afterEvents": 1, "reset": True},
    ("watch-gone", "watch"): {"fault": "watch-gone"},
    ("watch-gone-later", "watch"): {"fault": "watch-gone", "as": "event", "afterEvents": 1},
    ("duplicate-event", "watch"): {"fault": "duplicate-event"},
    ("stale-list", "list"): {"fault": "stale-list"},
}
CELLS = [
    *(
        (name, where, position)
        for name in ANYWHERE
        for where in CLASSES
        for position in POSITIONS
        # A stranger's first words answered by 401 are an answer: only a client that was welcome asks again.
        if (name, where) != ("401", "discovery")
    ),
    *((name, where, position) for name, where in SOMEWHERE for position in POSITIONS),
]
SAMPLE = 60
TIMED_OUT = "Client.Timeout|deadline exceeded"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        cells = sample(metafunc.config, "faults", CELLS, SAMPLE)
        metafunc.parametrize("cell", cells, ids=["-".join(cell) for cell in cells])


async def test_our_client_survives(lab: Lab, kube: Client, namespace: str, cell: tuple[str, str, str]) -> None:
    name, where, position = cell
    rule = ANYWHERE.get(name) or SOMEWHERE[name, where]
    match = (
        {"classes": [where]}
        if where == "discovery"
        else {"classes": [where], "path": f"/api/v1/namespaces/{namespace}/"}
    )
    await lab.faults.clear()
    await lab.faults.add(**rule, match=match, skip=POSITIONS[position], times=1)
    try:
        seen = await asyncio.wait_for(_work(lab, namespace), 60)
        (active,) = await lab.faults.active()
    finally:
        await lab.faults.clear()

    live = {each["metadata"]["name"]: each["data"] for each in await _config_maps(kube, namespace)}
    assert live == {"b": {"step": "2"}, "c": {"step": "2"}}
    assert seen == live
    assert active.hits == 1, f"the fault never struck: {active.matched} requests matched"


async def _work(lab: Lab, namespace: str) -> dict[str, dict[str, str]]:
    """Three requests of each class; what a watch has told at the end."""
    told: dict[str, dict[str, str]] = {}
    for _ in range(2):  # discovery is two requests a client; the third comes with the client below
        async with clients_kube.Client(clients_kube.load(lab.home.kubeconfig_faults)) as client:
            await client.resource("v1", "ConfigMap")
    async with clients_kube.Client(clients_kube.load(lab.home.kubeconfig_faults)) as client:
        for name in ("a", "b", "c"):
            await client.create(_config_map(name, namespace, "1"), manager="tests")
        for name in ("a", "b", "c"):
            live = await client.get("v1", "ConfigMap", name, namespace=namespace)
            assert live["data"] == {"step": "1"}
        await client.list("v1", "ConfigMap", namespace=namespace, labels="kept=yes")
        watching = asyncio.create_task(_watch(client, namespace, told))
        others = [asyncio.create_task(_watch(client, namespace, {})) for _ in range(2)]
        for name in ("a", "b", "c"):
            await client.apply(_config_map(name, namespace, "2"), manager="tests", force=True)
        for _ in range(3):
            await client.list("v1", "ConfigMap", namespace=namespace, labels="kept=yes")
        await client.delete("v1", "ConfigMap", "a", namespace=namespace)
        for kind in ("x", "y"):
            await client.create(_config_map(kind, namespace, "0", kept="no"), manager="tests")
            await client.delete("v1", "ConfigMap", kind, namespace=namespace)
        await asyncio.gather(watching, *others)
    return told


async def _watch(client: Client, namespace: str, told: dict[str, dict[str, str]]) -> None:
    watch = client.watch("v1", "ConfigMap", namespace=namespace, labels="kept=yes", idle_timeout=5)
    async with contextlib.aclosing(watch) as events:
        async for event in events:
            match event:
                case clients_kube.Added(obj) | clients_kube.Modified(obj):
                    told[obj["metadata"]["name"]] = obj["data"]
                case clients_kube.Deleted(obj):
                    told.pop(obj["metadata"]["name"], None)
            if told == {"b": {"step": "2"}, "c": {"step": "2"}}:
                return


def _config_map(name: str, namespace: str, step: str, kept: str = "yes") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "labels": {"kept": kept}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"step": step}}


async def _config_maps(kube: Client, namespace: str) -> list[dict[str, Any]]:
    found = (await kube.list("v1", "ConfigMap", namespace=namespace)).items
    return [each for each in found if each["metadata"]["name"] != "kube-root-ca.crt"]


@pytest.fixture
async def kubectl(lab: Lab, programs: dict[str, Path], tmp_path: Path) -> AsyncIterator[list[str]]:
    """kubectl through the proxy, with no cache of its own."""
    await lab.faults.clear()
    access = ["--kubeconfig", str(lab.home.kubeconfig_faults), "--cache-dir", str(tmp_path)]
    yield [str(programs["kubectl"]), *access]
    await lab.faults.clear()


async def hits(lab: Lab) -> int:
    return sum(each.hits for each in await lab.faults.active())


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"fault": "status", "code": 401}, "Unauthorized"),
        ({"fault": "status", "code": 403}, "Forbidden"),
        ({"fault": "status", "code": 409}, "Conflict"),
        ({"fault": "status", "code": 500}, "InternalError"),
        ({"fault": "status", "code": 503}, "ServiceUnavailable"),
        ({"fault": "status", "code": 504}, "Timeout"),
        ({"fault": "reset-before"}, "connection reset by peer"),
        ({"fault": "reset-after"}, "connection reset by peer"),
        ({"fault": "truncate"}, "unexpected EOF"),
        ({"fault": "blackhole"}, TIMED_OUT),
        ({"fault": "slow", "bytesPerSecond": 100}, TIMED_OUT),
        ({"fault": "tls-close"}, "EOF"),
    ],
    ids=lambda value: "-".join(str(part) for part in value.values()) if isinstance(value, dict) else "",
)
async def test_kubectl_sees_the_fault(lab: Lab, kubectl: list[str], rule: dict[str, Any], words: str) -> None:
    await lab.faults.add(**rule, match={"classes": ["list"]})

    done = await command.run([*kubectl, "get", "nodes", "--request-timeout=2s"], check=False)

    assert done.code != 0, f"{await hits(lab)} requests met the fault"
    assert re.search(words, done.stderr)


async def test_kubectl_comes_again_after_a_429_when_it_was_told_to(lab: Lab, kubectl: list[str]) -> None:
    await lab.faults.add("status", code=429, retryAfter=1, match={"classes": ["list"]}, times=1)
    before = max((request.number for request in await lab.faults.requests()), default=0)

    await command.run([*kubectl, "get", "nodes"])

    lists = [request.status for request in await lab.faults.requests(before) if request.class_ == "list"]
    assert lists == [429, 200]


async def test_kubectl_waits_through_latency(lab: Lab, kubectl: list[str]) -> None:
    await lab.faults.add("latency", milliseconds=700, match={"classes": ["list"]})
    before = max((request.number for request in await lab.faults.requests()), default=0)

    await command.run([*kubectl, "get", "nodes"])

    (slow,) = [request for request in await lab.faults.requests(before) if request.class_ == "list"]
    assert slow.milliseconds >= 700


async def test_kubectl_sees_watches_end_and_go(lab: Lab, kubectl: list[str]) -> None:
    watch = [*kubectl, "get", "nodes", "--watch", "--output-watch-events", "--request-timeout=60s"]
    for rule, seen in (
        ({"fault": "watch-cut", "afterEvents": 0}, ""),
        ({"fault": "watch-cut", "afterEvents": 0, "reset": True}, ""),
        ({"fault": "watch-gone"}, "Expired|too old"),
        ({"fault": "watch-gone", "as": "event"}, "ERROR|Expired|too old"),
    ):
        await lab.faults.clear()
        await lab.faults.add(**rule)
        done = await asyncio.wait_for(command.run(watch, check=False), 30)  # half of what it would watch by itself

        assert done.stdout.count(b"ADDED") == 3
        assert re.search(seen, done.stdout.decode() + done.stderr)
        assert await hits(lab) >= 1


async def test_kubectl_sees_events_twice_and_lists_of_yesterday(
    lab: Lab, kube: Client, namespace: str, kubectl: list[str], tmp_path: Path
) -> None:
    stale = [*kubectl, "get", "configmaps", "-n", namespace, "-o", "name"]
    await command.run(stale)
    await lab.faults.add("stale-list", match={"resources": ["configmaps"]})
    await kube.create(_config_map("new", namespace, "1"), manager="tests")
    old = await command.run(stale)
    await lab.faults.clear()
    fresh = await command.run(stale)

    await lab.faults.add("duplicate-event", match={"resources": ["configmaps"]})
    log = tmp_path / "watch.log"
    watch = [*kubectl, "get", "configmaps", "-n", namespace, "--watch-only", "--output-watch-events", "-o", "name"]
    watching = await command.spawn(watch, log=log)

    async def is_watching() -> bool:
        return any(each.matched for each in await lab.faults.active())

    async def lines() -> list[str]:
        found = log.read_text().splitlines()
        return found if len(found) >= 2 else []

    await until(is_watching, "kubectl to watch")
    await kube.apply(_config_map("new", namespace, "2"), manager="tests", force=True)
    events = await until(lines, "the event to come twice")
    watching.kill()
    await watching.wait()

    assert b"configmap/new" not in old.stdout
    assert b"configmap/new" in fresh.stdout
    assert events[0] == events[1]


async def test_a_tenth_of_all_requests_may_fail_and_nothing_is_lost(
    lab: Lab, kube: Client, faulty: Client, namespace: str
) -> None:
    await lab.faults.seed(11)
    await lab.faults.add("status", code=503, rate=0.05)
    await lab.faults.add("reset-after", rate=0.05)
    last = max((request.number for request in await lab.faults.requests()), default=0)
    async with asyncio.TaskGroup() as tasks:
        for number in range(200):
            tasks.create_task(faulty.apply(_config_map(f"n{number}", namespace, "1"), manager="tests"))
    struck = await hits(lab)

    sent = [request for request in await lab.faults.requests(last) if request.class_ == "update"]
    assert struck >= 5
    assert len(await _config_maps(kube, namespace)) == 200
    assert len(sent) <= 300, "more than one and a half times the requests"
