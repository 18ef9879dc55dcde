"""The rules of a run broken on purpose: machines that come late or lose power, certificates, full disks, secrets."""

import asyncio
import base64
import contextlib
import dataclasses
import os
import re
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest
import pytest_asyncio
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from firstlight.clients import command, kube
from firstlight.execute.loop import RunResult
from firstlight.journal import journal_reader
from firstlight.lab import procfs
from firstlight.lab.machines import machine_settings
from firstlight.model.event import Event, Judged, StepEnded, Told, Writing
from firstlight.model.verdict import Failed
from firstlight.observe import audit_log
from firstlight.tools import content, install
from tests import runs
from tests.labs import until
from tests.unit.clients.kube import pki

WORKERS = "machine:workers"
MACHINES = (*runs.MACHINES, machine_settings.VirtualMachine(name="worker-1", address="10.9.0.12"))
WORKER = {"name": "worker-1", "address": "10.9.0.12", "role": "worker", "disk": "/dev/sda"}
OPERATOR = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator}
spec:
  replicas: 2
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: operator}}}
      containers: [{name: operator, image: "registry.example.org/operator:1.0.0"}]
"""
"""Two replicas that do not share a node: the second one comes with the worker."""


@dataclasses.dataclass
class Story:
    """A run in which a control plane lost its power while it installed, and the worker came when all else was done."""

    stage: runs.Stage
    result: RunResult
    told: list[Event]
    without_worker: dict[str, str]
    """The verdicts that there were when the worker was switched on."""
    alone: int
    """How many replicas of the operator were ready then."""
    boots: int
    """How often the control plane was switched on."""
    seen: set[bytes]
    """The command lines of all processes of this computer meanwhile."""


@pytest_asyncio.fixture(scope="module")
async def story(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Story]:
    found = programs | await install.ensure(runs.TOOLS)
    manifests = (await content.ensure(["flux-manifests"]))["flux-manifests"]
    home = tmp_path_factory.mktemp("up")
    declared = yaml.safe_load((runs.PLATFORMS / "light" / "firstlight.yaml").read_text())
    declared["clusters"]["light"]["machines"].append(WORKER)
    (home / "firstlight.yaml").write_text(yaml.safe_dump(declared))
    (home / "operator.yaml").write_text(OPERATOR)
    stage = await runs.stage(
        home / "late", found, machines=MACHINES,
        manifests={
            "cluster/flux-system/gotk-components.yaml": manifests / "install.yaml",
            "firstlight.yaml": home / "firstlight.yaml",
            "charts/greeter/templates/operator.yaml": home / "operator.yaml",
        },
    )  # fmt: skip
    await stage.lab.machine("worker-1", "off")
    yield await tell_story(stage)
    await stage.lab.down()
    assert procfs.processes_of(stage.lab.home.path) == (), "the lab left processes behind"


async def tell_story(stage: runs.Stage) -> Story:
    told: list[Event] = []
    installs = asyncio.Event()

    def tell(event: Event) -> None:
        told.append(event)
        if isinstance(event, Told) and event.text.startswith("cp-1: has its config"):
            installs.set()

    def ended() -> dict[str, str]:
        return {each.step: each.verdict for each in told if isinstance(each, StepEnded)}

    async def all_but_workers() -> bool:
        assert not running.done(), running.result().outcomes
        return "handover:root" in ended() and WORKERS not in ended()

    seen: set[bytes] = set()
    looking = asyncio.create_task(command_lines(seen))
    running = asyncio.create_task(stage.up(tell=tell))
    await asyncio.wait({asyncio.create_task(installs.wait()), running}, return_when=asyncio.FIRST_COMPLETED)
    await stage.lab.machine("cp-1", "off")
    await stage.lab.machine("cp-1", "on")
    await until(all_but_workers, "all but the worker to be there", timeout=180)
    without, alone = ended(), await operators(stage)
    await stage.lab.machine("worker-1", "on")
    result = await running
    looking.cancel()
    boots = next(each.boots for each in (await stage.lab.status()).machines if each.name == "cp-1")
    return Story(stage, result, told, without, alone, boots, seen)


async def command_lines(seen: set[bytes]) -> None:
    """Look at all processes again and again, until it is enough."""
    while True:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                seen.add(path.read_bytes())
        await asyncio.sleep(0.02)


async def operators(stage: runs.Stage) -> int:
    """How many replicas of the operator are ready."""
    async with kube.Client(kube.load(stage.lab.kubeconfig)) as client:
        found = await client.get("apps/v1", "Deployment", "operator", namespace="greeter")
    return int((found.get("status") or {}).get("readyReplicas") or 0)


def test_a_machine_that_loses_its_power_while_it_installs_is_brought_up_all_the_same(story: Story) -> None:
    assert story.boots >= 2
    assert story.without_worker["machine:control-planes"] == "passed"
    bootstraps = [each for each in story.told if isinstance(each, Writing) and each.step == "machine:etcd"]
    assert len(bootstraps) == 1


def test_a_worker_that_is_off_holds_nothing_up_and_is_said_to_be_waited_for(story: Story) -> None:
    assert set(story.without_worker.values()) <= {"passed", "skipped"}
    assert "handover:root" in story.without_worker
    assert story.alone == 1, "one node takes one replica, and the gate must not ask for more"
    waited = [each.reason for each in story.told if isinstance(each, Judged) and each.step == WORKERS]
    assert waited[0].startswith("worker-1 does not answer")


async def test_a_worker_that_comes_late_is_configured_and_the_second_replica_comes_by_itself(story: Story) -> None:
    async def both() -> bool:
        return await operators(story.stage) == 2

    assert story.result.is_complete, story.result.outcomes
    configured = [each.writes for each in story.told if isinstance(each, Writing) and each.step == WORKERS]
    assert configured == [("apply the config of worker-1: it installs, and boots",)]
    await until(both, "the second replica to come by itself")
    written = audit_log.writes(story.stage.lab.home.audit_log, since=0, until=time.time())
    assert not [each for each in written if "/scale" in each.what]


def test_no_secret_is_in_the_state_of_the_run_its_events_or_a_command_line(story: Story) -> None:
    kept = Path(story.stage.place.kept)
    needles = dict(needles_of(kept))
    assert len(needles) > 20
    places = {str(each): each.read_bytes() for each in files(Path(story.stage.place.state))}
    places |= {str(each): each.read_bytes() for each in files(kept.parent / "cache")}
    places["the events"] = repr(story.told).encode()
    places |= {f"a command line: {line[:60]!r}": line for line in story.seen}

    hits = [(what, place) for place, text in places.items() for needle, what in needles.items() if needle in text]

    assert hits == []
    assert any(b"talosctl" in line for line in story.seen), "no program was seen at work"
    assert [each for each in files(kept.parent) if next(iter(needles)) in each.read_bytes()], "the search finds nothing"


def needles_of(kept: Path) -> Iterator[tuple[bytes, str]]:
    """Everything that must not be seen, in the forms in which it could be, with its name."""

    def leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
        if isinstance(value, dict):
            for key, each in value.items():
                yield from leaves(each, f"{name}.{key}")
        elif isinstance(value, str) and not name.endswith(".crt") and not name.startswith(".cluster.id"):
            yield value, name

    for text, name in [*leaves(yaml.safe_load(kept.read_text()), ""), (runs.TOKEN, "token of the greeter")]:
        yield text.encode(), name
        yield base64.b64encode(text.encode()).rstrip(b"="), f"{name}, encoded"
        yield text.encode().hex().encode(), f"{name}, in hex"
        with contextlib.suppress(ValueError):
            key = base64.b64decode(text, validate=True)
            if b"PRIVATE KEY" in key:
                yield key.splitlines()[1], f"{name}, as PEM"


def files(root: Path) -> Iterator[Path]:
    """All files but those that are the ways to the cluster and its machines."""
    for path in root.rglob("*"):
        if path.is_file() and path.name not in ("kubeconfig", "talosconfig") and "lab" not in path.parts:
            yield path


async def test_a_certificate_that_is_not_good_is_named_and_nothing_is_written(story: Story) -> None:
    secrets = yaml.safe_load(Path(story.stage.place.kept).read_text())
    pem = {name: base64.b64decode(value) for name, value in secrets["certs"]["k8s"].items()}
    key = serialization.load_pem_private_key(pem["key"], None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    own = (x509.load_pem_x509_certificate(pem["crt"]), key)
    name = "10.9.0.11"
    cells = {
        "this cluster's authority did not sign": pki.issue("kubernetes", address=name),
        "has expired": pki.issue("kubernetes", issuer=own, days=(-30, -2), address=name),
        "is not valid yet": pki.issue("kubernetes", issuer=own, days=(2, 30), address=name),
        "is for another name": pki.issue("kubernetes", issuer=own, address="10.9.0.99"),
    }
    for what, pair in cells.items():
        server = await asyncio.start_server(
            lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=pki.server_context(pair)
        )
        port = server.sockets[0].getsockname()[1]
        misled = elsewhere(story.stage, api=f"https://127.0.0.1:{port}")
        begun = time.time()
        async with server:
            result = await misled.up(only=("secrets",))
        outcome = result.outcomes["machine:kubeconfig"]
        assert result.is_refused, what
        assert isinstance(outcome, Failed), what
        assert what in outcome.reason
        assert audit_log.writes(story.stage.lab.home.audit_log, since=begun, until=time.time()) == ()


def elsewhere(stage: runs.Stage, **changes: str) -> runs.Stage:
    """The same cluster, from a computer that knows nothing of it yet."""
    state = Path(stage.place.state).parent / f"state-{len(list(Path(stage.place.state).parent.glob('state-*')))}"
    state.mkdir()
    return dataclasses.replace(stage, place=msgspec.structs.replace(stage.place, state=str(state), **changes))


@pytest.mark.parametrize(
    "moment",
    [
        # The last one has the others' ways in it: a journal that is written, and the ways in that are kept.
        pytest.param(runs.Killed("", "start"), marks=pytest.mark.long),
        pytest.param(runs.Killed("machine:kubeconfig", "after"), marks=pytest.mark.long),
        runs.Killed("core:secret/greeter/greeter-token", "after"),
    ],
    ids=["at-the-start", "in-the-middle", "at-the-end"],
)
async def test_a_full_disk_is_said_and_leaves_nothing_half_written(story: Story, moment: runs.Killed) -> None:
    stage = elsewhere(story.stage)
    program = stage.program(moment, runs.Limits(only=("secrets",), is_full=True))

    done = await command.run(program, env={**os.environ}, check=False, timeout=60)

    assert done.code == 1
    assert "Traceback" not in done.stderr
    assert re.search(r"/.+\.jsonl cannot be written: File too large", done.stderr), done.stderr
    journals = journal_reader.paths(Path(stage.place.state))
    assert len(journals) == (moment.moment != "start")
    for path in journals:
        assert path.read_bytes().endswith(b"\n")
        assert isinstance(journal_reader.read(path)[-1], StepEnded)
    # The ways in are kept once the API was reached, whole.
    left = {each.name: each for each in Path(stage.place.state).rglob("*") if each.is_file() and "config" in each.name}
    assert set(left) == (set() if moment.moment == "start" else {"kubeconfig", "talosconfig"})
    assert all(yaml.safe_load(each.read_text())["contexts"] for each in left.values())
