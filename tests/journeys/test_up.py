"""``up`` on bare machines, from nothing to a cluster that Git owns: repeated, contended, killed and misled."""

import asyncio
import re
import signal
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute import lease
from firstlight.journal import journal_reader
from firstlight.lab import procfs
from firstlight.model.event import Event, RunEnded, StepEnded, Writing
from firstlight.model.verdict import Failed, Passed, Skipped
from firstlight.observe import audit_log
from firstlight.tools import content, install
from tests import runs
from tests.conftest import sample

STEPS = (
    "machine:control-planes", "machine:etcd", "crds/flux", "core:namespaces", "core:secret/greeter/greeter-token",
    "core/greeter", "engine/flux", "engine:source", "handover:baseline", "handover:owners", "handover:root",
    "handover:release", "handover:certificate",
)  # fmt: skip
"""Those that write, in an order in which they may come."""
CELLS = [runs.Killed(step, moment) for step in STEPS for moment in ("before", "after")]
SAMPLE = 2

Make = Callable[[str], Any]


@pytest_asyncio.fixture(scope="module")
async def make(programs: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Make]:
    """Makes stages of the light platform; all are gone afterwards."""
    found = programs | await install.ensure(runs.TOOLS)
    manifests = (await content.ensure(["flux-manifests"]))["flux-manifests"]
    made: list[runs.Stage] = []

    async def one(name: str) -> runs.Stage:
        stage = await runs.stage(
            tmp_path_factory.mktemp("up") / name, found, machines=runs.MACHINES,
            manifests={"cluster/flux-system/gotk-components.yaml": manifests / "install.yaml"},
        )  # fmt: skip
        made.append(stage)
        return stage

    yield one
    for each in made:
        await each.lab.down()
        assert procfs.processes_of(each.lab.home.path) == (), "the lab left processes behind"


@pytest_asyncio.fixture(scope="module")
async def finished(make: Make) -> runs.Stage:
    """A cluster that was brought up without disturbance."""
    stage: runs.Stage = await make("finished")
    told: list[Event] = []

    result = await stage.up(tell=told.append)

    assert result.is_complete, result.outcomes
    wrote = {each.step for each in told if isinstance(each, Writing)}
    assert wrote == set(STEPS)
    return stage


@pytest_asyncio.fixture(scope="module")
async def undisturbed(finished: runs.Stage) -> Mapping[str, Any]:
    """How it was then; asked for by every test that changes something afterwards."""
    return await runs.state(finished)


async def test_a_second_run_writes_nothing_and_the_audit_log_proves_it(finished: runs.Stage) -> None:
    told: list[Event] = []
    begun = time.time()

    result = await finished.up(tell=told.append)

    assert result.is_complete
    assert result.writes == 0
    assert not [each for each in told if isinstance(each, Writing)]
    written = audit_log.writes(finished.lab.home.audit_log, since=begun, until=time.time())
    assert written == ()


async def test_the_journal_of_a_run_has_its_whole_story(finished: runs.Stage) -> None:
    last = journal_reader.paths(Path(finished.place.state))[-1]

    told = journal_reader.read(last)

    assert isinstance(told[-1], RunEnded)
    ended = {each.step: each.verdict for each in told if isinstance(each, StepEnded)}
    assert set(ended.values()) <= {"passed", "skipped"}
    assert runs.TOKEN not in last.read_text()


async def test_what_somebody_changed_is_put_right_unless_the_engine_owns_it(
    finished: runs.Stage, undisturbed: Mapping[str, Any]
) -> None:
    async with kube.Client(kube.load(finished.lab.kubeconfig)) as client:
        await client.patch(
            "v1",
            "Secret",
            "greeter-token",
            {"data": {"token": "b3RoZXI="}},
            manager="kubectl-edit",
            namespace="greeter",
        )
        await client.patch(
            "v1", "ConfigMap", "greeter", {"data": {"word": "other"}}, manager="kubectl-edit", namespace="greeter"
        )
        told: list[Event] = []

        unconfirmed = await finished.up(only=("secrets",))
        result = await finished.up(tell=told.append, confirm=True)

        secret = await client.get("v1", "Secret", "greeter-token", namespace="greeter")
        config = await client.get("v1", "ConfigMap", "greeter", namespace="greeter")
    assert unconfirmed.is_refused, "what a person changed is not overwritten without asking"
    assert result.is_complete
    assert {each.step for each in told if isinstance(each, Writing)} == {"core:secret/greeter/greeter-token"}
    assert secret["data"]["token"] == "YS10b2tlbi1vZi10aGUtdGVzdHM="
    assert config["data"]["word"] == "other", "that is the engine's to put right"


async def test_only_one_run_writes(
    finished: runs.Stage, undisturbed: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "RENEW", 0.1)
    async with kube.Client(kube.load(finished.lab.kubeconfig)) as client:
        other = lease.Lease(client, holder="ann@elsewhere:1:run-a", tell=lambda _: None)
        await other.claim()
        try:
            await client.delete("v1", "Secret", "greeter-token", namespace="greeter")
            refused = await finished.up(only=("secrets",))
            still = await client.list("v1", "Secret", namespace="greeter", fields="metadata.name=greeter-token")
        finally:
            await other.release()
        again = await finished.up(only=("secrets",))
        there = await client.list("v1", "Secret", namespace="greeter", fields="metadata.name=greeter-token")

    assert refused.is_refused
    outcome = refused.outcomes["core:secret/greeter/greeter-token"]
    assert isinstance(outcome, Failed)
    assert "ann@elsewhere:1:run-a" in outcome.reason
    assert still.items == ()
    assert again.is_complete
    assert len(there.items) == 1


async def test_two_runs_of_one_computer_at_once(finished: runs.Stage) -> None:
    begun = asyncio.Event()
    first = asyncio.create_task(finished.up(tell=lambda _: begun.set()))
    await begun.wait()

    with pytest.raises(errors.Refused, match=r"another run works on this cluster: .*-light-"):
        await finished.up()
    assert (await first).is_complete


async def test_a_dry_run_of_a_finished_cluster_has_nothing_to_write(finished: runs.Stage) -> None:
    result = await finished.up(is_dry_run=True)

    assert result.writes == 0
    assert all(isinstance(each, Skipped | Passed) for each in result.outcomes.values())


async def test_another_cluster_under_the_same_name_is_refused_and_nothing_is_written(finished: runs.Stage) -> None:
    identity = Path(finished.place.state) / "light" / "identity.json"
    known = identity.read_text()
    identity.write_text('{"kubeSystem": "0b7e4b0e-0000-4000-8000-000000000000"}')
    begun = time.time()
    try:
        result = await finished.up()
    finally:
        identity.write_text(known)

    assert result.is_refused
    assert "is not the cluster that it was" in str(result.outcomes["machine:kubeconfig"])
    assert audit_log.writes(finished.lab.home.audit_log, since=begun, until=time.time()) == ()


async def test_killed_before_and_after_its_steps_a_run_ends_where_an_undisturbed_one_does(
    undisturbed: Mapping[str, Any], make: Make, request: pytest.FixtureRequest
) -> None:
    left = sample(request.config, "kill and resume", CELLS, SAMPLE)
    while left:
        # A colon would end the path in KUBECONFIG, which the engine's programs get.
        stage: runs.Stage = await make(re.sub("[:/]", "-", f"killed-{left[0].step}-{left[0].moment}"))
        struck = 0
        # A step that ran beside one that was killed is done already, and the run goes to its end: what is left has its
        # turn on a machine that is bare again.
        while struck < len(left) and await stage.up_killed(left[struck]) == -signal.SIGKILL:
            struck += 1
        assert struck, f"the run was over before {left[0]}"

        result = await stage.up()

        assert result.is_complete, result.outcomes
        assert await runs.state(stage) == undisturbed
        await stage.lab.down()
        left = left[struck:]
