"""``up`` while its way to the API fails: whatever is lost on the way, a run ends where an undisturbed one does."""

import asyncio
import collections
import contextlib
import dataclasses
import re
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from firstlight.clients import kube as clients_kube
from firstlight.execute import loop
from firstlight.journal import journal_reader
from firstlight.model.component import Phase
from firstlight.model.event import Event, StepEnded, StepStarted, Told, Writing
from firstlight.model.verdict import Failed, Passed
from firstlight.observe import audit_log
from tests import runs, stuck_crds
from tests.conftest import sample
from tests.faults.test_every_fault import ANYWHERE, SOMEWHERE
from tests.labs import until

CLASSES = ("discovery", "get", "list", "watch", "create", "update")
POSITIONS = {"first": 0.0, "middle": 0.5, "last": 0.75}
"""Which request of a class is hit, as a share of those of an undisturbed run: their number is not always the same."""
FAULTS = {name: rule for name, rule in ANYWHERE.items() if name not in ("latency", "slow")}
CELLS = [
    *(
        (name, where, position)
        for name in FAULTS
        for where in CLASSES
        for position in POSITIONS
        # A stranger's first words answered by 401 are an answer: only a client that was welcome asks again.
        if (name, where, position) != ("401", "discovery", "first")
    ),
    # Only the lease is deleted, once.
    *((name, "delete", "first") for name in FAULTS),
    *((name, where, position) for name, where in SOMEWHERE for position in POSITIONS),
]
SAMPLE = 4
ONLY = ("secrets", "greeter", "flux")
"""What a cell is about: namespaces, a Secret, CRDs, a Helm release and the objects of the engine, with their gates."""
WROTE = {"core:secret/greeter/greeter-token", "crds/flux", "core/greeter", "engine/flux"}
GONE = (
    ("v1", "Secret", "greeter", "greeter-token"),
    ("v1", "ConfigMap", "greeter", "greeter"),
    ("apps/v1", "Deployment", "greeter", "greeter"),
    ("apps/v1", "Deployment", "flux-system", "notification-controller"),
    ("v1", "Service", "flux-system", "webhook-receiver"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "receivers.notification.toolkit.fluxcd.io"),
)
"""What somebody deletes before each cell, besides the release itself."""


@dataclasses.dataclass
class Worn:
    """A cluster up to its engine, from which something is taken again and again."""

    stage: runs.Stage
    kube: clients_kube.Client
    state: Mapping[str, Any]
    requests: Mapping[str, int]
    """How many of each class an undisturbed run sends when everything is to be written again."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        cells = sample(metafunc.config, "faults of up", CELLS, SAMPLE)
        metafunc.parametrize("cell", cells, ids=["-".join(cell) for cell in cells])
    if "blow" in metafunc.fixturenames:
        blows = sample(metafunc.config, "blows to up", [(name, at) for name in BLOWS for at in MOMENTS], 1)
        metafunc.parametrize("blow", blows, ids=["-".join(blow).replace("/", "-") for blow in blows])


@pytest_asyncio.fixture(scope="module")
async def worn(to_engine: runs.Stage) -> AsyncIterator[Worn]:
    """A cluster up to its engine, reached through the proxy with faults."""
    stage = to_engine
    through = clients_kube.load(stage.lab.home.kubeconfig_faults).server
    stage = dataclasses.replace(stage, place=msgspec.structs.replace(stage.place, api=through))
    async with clients_kube.Client(clients_kube.load(stage.lab.kubeconfig)) as client:
        one = Worn(stage, client, {}, {})
        await take(one)
        last = await newest(stage)
        told: list[Event] = []
        result = await stage.up(until=Phase.ENGINE, only=ONLY, tell=told.append)
        assert result.is_complete, result.outcomes
        assert {each.step for each in told if isinstance(each, Writing)} == WROTE
        sent = collections.Counter(each.class_ for each in await stage.lab.faults.requests(last))
        yield dataclasses.replace(one, state=await state(one), requests=sent)


async def newest(stage: runs.Stage) -> int:
    """The number of the last request that passed the proxy."""
    return max((each.number for each in await stage.lab.faults.requests()), default=0)


async def take(worn: Worn) -> None:
    """Delete what the next run has to write again, and wait until it is gone."""
    releases = await worn.kube.list("v1", "Secret", namespace="greeter", labels="owner=helm")
    wanted = [*GONE, *(("v1", "Secret", "greeter", each["metadata"]["name"]) for each in releases.items)]

    async def is_gone(api_version: str, kind: str, namespace: str, name: str) -> bool:
        try:
            await worn.kube.get(api_version, kind, name, namespace=namespace or None)
        except clients_kube.NotFound:
            return True
        return False

    for api_version, kind, namespace, name in wanted:
        with contextlib.suppress(clients_kube.NotFound):
            await worn.kube.delete(api_version, kind, name, namespace=namespace or None)
    for each in wanted:
        await until(lambda each=each: is_gone(*each), f"{each} to be gone")  # type: ignore[misc]


async def _deployed(worn: Worn) -> int:
    """How many releases are deployed; helm-controller may just replace one, and for a moment there is none."""
    counts: list[int] = []

    async def is_settled() -> bool:
        releases = (await worn.kube.list("v1", "Secret", namespace="greeter", labels="owner=helm")).items
        states = [each["metadata"]["labels"].get("status", "") for each in releases]
        counts.append(states.count("deployed"))
        return bool(counts[-1]) and not any(each.startswith("pending") for each in states)

    with contextlib.suppress(AssertionError):  # then the count says what is wrong
        await until(is_settled, "releases to settle", timeout=20)
    return counts[-1]


async def state(worn: Worn) -> Mapping[str, Any]:
    """Who owns what in the cluster, and what the application and the run have in it."""
    found = {name: each for name, each in (await runs.state(worn.stage)).items() if "sh.helm.release" not in name}
    for kind in ("Secret", "ConfigMap"):
        for each in (await worn.kube.list("v1", kind, namespace="greeter")).items:
            if each.get("type") != "helm.sh/release.v1":
                found[f"content of {kind} {each['metadata']['name']}"] = each.get("data")
    found["deployed releases"] = await _deployed(worn)
    found["leases"] = [
        each["metadata"]["name"]
        for each in (await worn.kube.list("coordination.k8s.io/v1", "Lease", namespace="kube-system")).items
        if each["metadata"]["name"] == "firstlight"
    ]
    return found


async def revisions(worn: Worn) -> list[str]:
    """The revisions that Helm has of the release, with what became of them."""
    found = (await worn.kube.list("v1", "Secret", namespace="greeter", labels="owner=helm")).items
    return sorted(f"{each['metadata']['labels']['version']} {each['metadata']['labels']['status']}" for each in found)


async def test_a_run_ends_where_an_undisturbed_one_does(worn: Worn, cell: tuple[str, str, str]) -> None:
    name, where, position = cell
    rule = FAULTS.get(name) or SOMEWHERE[name, where]
    await take(worn)
    skip = int(POSITIONS[position] * worn.requests[where])
    await worn.stage.lab.faults.add(**rule, match={"classes": [where]}, skip=skip, times=1)
    told: list[Event] = []
    try:
        result = await worn.stage.up(until=Phase.ENGINE, only=ONLY, tell=told.append)
        (active,) = await worn.stage.lab.faults.active()
    finally:
        await worn.stage.lab.faults.clear()

    assert result.is_complete, result.outcomes
    assert active.hits == 1, f"the fault never struck: {active.matched} requests matched, {skip} were spared"
    assert await state(worn) == worn.state
    assert await revisions(worn) in (["1 deployed"], ["1 failed", "2 deployed"], ["1 superseded", "2 deployed"])


async def test_a_tenth_of_all_requests_may_fail_and_little_is_sent_twice(worn: Worn) -> None:
    """Without Helm, which gives up at the first lost connection, so that all of its requests are sent again."""
    own = ("secrets", "flux")
    await take(worn)
    last = await newest(worn.stage)
    assert (await worn.stage.up(until=Phase.ENGINE, only=own)).is_complete
    usual = len(await worn.stage.lab.faults.requests(last))
    await take(worn)
    await worn.stage.lab.faults.seed(7)
    await worn.stage.lab.faults.add("status", code=503, rate=0.05)
    await worn.stage.lab.faults.add("reset-after", rate=0.05)
    last = await newest(worn.stage)
    try:
        result = await worn.stage.up(until=Phase.ENGINE, only=own)
        sent = await worn.stage.lab.faults.requests(last)
    finally:
        await worn.stage.lab.faults.clear()

    assert result.is_complete, result.outcomes
    assert len([each for each in sent if each.faults]) >= usual // 20
    assert len(sent) <= 1.5 * usual
    assert (await worn.stage.up(until=Phase.ENGINE, only=ONLY)).is_complete
    assert await state(worn) == worn.state


async def kill_api(worn: Worn) -> None:
    await worn.stage.lab.process("kube-apiserver", "kill")


async def stop_etcd(worn: Worn) -> None:
    await worn.stage.lab.process("cp-1", "stop")
    try:
        await asyncio.sleep(5)
    finally:
        await worn.stage.lab.process("cp-1", "continue")


async def lose_network(worn: Worn) -> None:
    rule = await worn.stage.lab.faults.add("blackhole", milliseconds=60_000)
    await worn.stage.lab.faults.cut_watches()
    await asyncio.sleep(10)
    await worn.stage.lab.faults.clear(rule)


BLOWS: Mapping[str, Callable[[Worn], Coroutine[Any, Any, None]]] = {
    "api-killed": kill_api, "etcd-stopped": stop_etcd, "network-lost": lose_network,
}  # fmt: skip
MOMENTS = ["machine:kubeconfig", *sorted(WROTE)]
"""The steps at whose beginning a blow falls."""


async def test_a_control_plane_that_goes_away_for_a_while_is_waited_for(worn: Worn, blow: tuple[str, str]) -> None:
    name, moment = blow
    await take(worn)
    falling: list[asyncio.Task[None]] = []

    def tell(event: Event) -> None:
        if isinstance(event, StepStarted) and event.step == moment:
            falling.append(asyncio.create_task(BLOWS[name](worn)))

    result = await asyncio.wait_for(worn.stage.up(until=Phase.ENGINE, only=ONLY, tell=tell), 240)
    await asyncio.gather(*falling)
    await worn.stage.lab.wait_ready()

    assert len(falling) == 1
    assert result.is_complete, result.outcomes
    assert await state(worn) == worn.state


async def test_a_crd_that_the_api_server_forgot_when_it_died_is_woken_once(worn: Worn) -> None:
    """By itself the API server comes to it after five minutes."""
    name = "receivers.notification.toolkit.fluxcd.io"
    await take(worn)
    told: list[Event] = []
    async with asyncio.timeout(120):
        async with stuck_crds.kept_from_establishing(worn.kube):
            running = asyncio.create_task(worn.stage.up(until=Phase.ENGINE, only=ONLY, tell=told.append))
            await stuck_crds.leave_stuck(worn.stage.lab, worn.kube, name)
        result = await running

    assert result.is_complete, result.outcomes
    assert [each.text for each in told if isinstance(each, Told) and "waking" in each.text] == [
        f"waking CRD {name}: in Installing for more than 10 s; "
        "the API server was restarted before it finished installing it"
    ]
    assert await state(worn) == worn.state
    assert (await worn.stage.up(until=Phase.ENGINE, only=ONLY)).writes == 0


def webhook(*, resource: str, namespace: str) -> dict[str, Any]:
    """A webhook that nobody answers, and without which nothing of a kind can be written to a namespace."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "blocks"},
        "webhooks": [
            {
                "name": "blocks.example.org",
                "clientConfig": {"service": {"name": "nobody", "namespace": "default", "path": "/"}},
                "rules": [
                    {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": [resource]}
                ],
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "timeoutSeconds": 2,
            }
        ],
    }


@contextlib.asynccontextmanager
async def blocked(worn: Worn, *, resource: str, namespace: str) -> AsyncIterator[Callable[[], Awaitable[None]]]:
    """While something cannot be written; gives the way to end that earlier."""
    await worn.kube.create(webhook(resource=resource, namespace=namespace), manager="tests")

    async def release() -> None:
        with contextlib.suppress(clients_kube.NotFound):
            await worn.kube.delete("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "blocks")

    try:
        yield release
    finally:
        await release()


async def test_a_webhook_that_blocks_is_named_with_the_object_and_other_branches_go_on(worn: Worn) -> None:
    await take(worn)
    told: list[Event] = []

    async def is_named() -> bool:
        texts = [each.text for each in told if isinstance(each, Told) and each.step == "engine/flux"]
        ended = {each.step for each in told if isinstance(each, StepEnded)}
        assert "engine/flux" not in ended
        named = [text for text in texts if "blocks.example.org" in text and "Service flux-system/webhook-rec" in text]
        return bool(named) and {"core/greeter", "crds/flux", "core:secret/greeter/greeter-token"} <= ended

    async with blocked(worn, resource="services", namespace="flux-system") as release:
        running = asyncio.create_task(worn.stage.up(until=Phase.ENGINE, only=ONLY, tell=told.append))
        try:
            await until(is_named, "the webhook to be named, and the others to be done", timeout=35)
        finally:
            await release()
            result = await running

    assert result.is_complete, result.outcomes
    assert await state(worn) == worn.state


async def test_a_webhook_that_blocks_helm_is_named_with_the_object(worn: Worn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "PAUSES", (0.1,))
    await take(worn)

    async with blocked(worn, resource="configmaps", namespace="greeter"):
        result = await worn.stage.up(until=Phase.ENGINE, only=ONLY)

    outcome = result.outcomes["core/greeter"]
    assert isinstance(outcome, Failed)
    assert "blocks.example.org" in outcome.reason
    assert re.search("greeter/greeter.*ConfigMap", outcome.reason)
    assert isinstance(result.outcomes["engine/flux"], Passed)
    again = await worn.stage.up(until=Phase.ENGINE, only=ONLY)
    assert again.is_complete, again.outcomes


@pytest.mark.long
async def test_a_holder_that_was_stopped_beyond_its_lease_writes_no_more(worn: Worn, tmp_path: Path) -> None:
    await take(worn)
    at = runs.Killed("engine/flux", "before", signal.SIGSTOP)
    program = worn.stage.program(at, runs.Limits(until=Phase.ENGINE, only=ONLY, lease_seconds=2))
    # Another computer: it knows nothing of the first one's lock.
    place = msgspec.structs.replace(worn.stage.place, state=str(tmp_path / "state"))
    stopped = await asyncio.create_subprocess_exec(*program, stderr=asyncio.subprocess.PIPE)
    try:
        await until(lambda: is_stopped(stopped.pid), "the run to be stopped")
        result = await runs.Stage(lab=worn.stage.lab, place=place).up(until=Phase.ENGINE, only=ONLY)
        over = time.time()
        stopped.send_signal(signal.SIGCONT)
        _, said = await asyncio.wait_for(stopped.communicate(), 60)
    finally:
        with contextlib.suppress(ProcessLookupError):
            stopped.kill()

    (run,) = [
        each for each in journal_reader.paths(Path(worn.stage.place.state)) if f":{stopped.pid}:" in each.read_text()
    ]
    written = audit_log.writes(
        worn.stage.lab.home.audit_log, since=over, until=time.time(), is_asked=lambda _, agent: run.stem in agent
    )
    assert result.is_complete, result.outcomes
    assert stopped.returncode == 1
    assert "has taken this cluster over meanwhile" in said.decode() or "works on this cluster" in said.decode()
    assert [each for each in written if each.code < 400] == []
    assert await state(worn) == worn.state


async def is_stopped(process: int) -> bool:
    """Whether a process is stopped, as its state says."""
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "T"
