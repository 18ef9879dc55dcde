"""A hook and a command gate with kubectl on a real API: they find their way to the cluster, if they were allowed."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from firstlight import errors
from firstlight.clients import kube as clients_kube
from firstlight.execute import command_digest
from firstlight.execute.actions import dispatch
from firstlight.execute.masks import Masks
from firstlight.execute.repo_commands import AllowedCommands, RepoCommands
from firstlight.execute.world import RunPrograms, World
from firstlight.gates import gate_table
from firstlight.gates.gate_parts import GateContext
from firstlight.lab import running_lab
from firstlight.model.cluster import Cluster
from firstlight.model.own_gates import CommandGate, Hook
from firstlight.model.place import Place
from firstlight.model.plan import Gate, Subject
from firstlight.model.secret import Secret
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.model.work import Watch

PLACE = Place("firstlight.yaml", 9)
CLUSTER = Cluster(name="lab", place=PLACE)
# A program that lets its children inherit nothing, as many do: the way to the cluster must not depend on it.
SEED = """\
#!/usr/bin/env python3
import subprocess, sys
command = ["kubectl", "create", "configmap", "seeded", "-n", sys.argv[1]]
sys.exit(subprocess.run(command, close_fds=True).returncode)
"""
ASK = "#!/bin/sh\nexec kubectl get configmap seeded -n $1 -o name\n"


class Stage:
    """A repo with two scripts, and the lab as its cluster."""

    def __init__(self, root: Path, kubectl: Path, namespace: str) -> None:
        self.root = root
        for name, text in (("seed", SEED), ("is-seeded", ASK)):
            (root / name).write_text(text)
            (root / name).chmod(0o755)
        self.hook = Hook(place=PLACE, run=("./seed", namespace), unless=("./is-seeded", namespace), timeout=30)
        self.environ = {**os.environ, "PATH": f"{kubectl.parent}{os.pathsep}{os.environ['PATH']}"}
        self.told: list[str] = []
        self.worlds: list[World] = []

    async def world(self, kubeconfig: Secret, config: clients_kube.ClientConfig, *allowed: tuple[str, ...]) -> World:
        async def resolve(reference: str) -> Secret:
            raise AssertionError(reference)

        known = frozenset((command_digest.command_digest(each, self.root).value, str(self.root)) for each in allowed)
        made = World(
            cluster=CLUSTER, programs=RunPrograms(), resolve=resolve, state=self.root / ".firstlight",
            kubeconfig=kubeconfig, tell=lambda step, text: self.told.append(text),
            commands=RepoCommands(
                self.root, cluster="lab", allowed=AllowedCommands(known), masks=Masks(), environ=self.environ,
                home=self.root / "home",
            ),
        )  # fmt: skip
        self.worlds.append(made)
        await made.connect(config)
        return made


@pytest_asyncio.fixture
async def stage(programs: dict[str, Path], tmp_path: Path, namespace: str) -> AsyncIterator[Stage]:
    made = Stage(tmp_path, programs["kubectl"], namespace)
    yield made
    for each in made.worlds:
        await each.close()


async def test_a_hook_writes_once_and_has_nothing_to_do_then(
    stage: Stage, lab: running_lab.Lab, kube: clients_kube.Client, namespace: str
) -> None:
    kubeconfig = Secret(lab.kubeconfig.read_bytes())
    world = await stage.world(kubeconfig, kube.config, stage.hook.run, stage.hook.unless)

    change = await dispatch.look_hook(stage.hook, world, "core/db")
    assert change is not None
    assert change.writes == (f"run ./seed {namespace}",)
    await change.perform()

    assert stage.told == ["configmap/seeded created"]
    assert (await kube.get("v1", "ConfigMap", "seeded", namespace=namespace))["metadata"]["name"] == "seeded"
    assert await dispatch.look_hook(stage.hook, world, "core/db") is None


async def test_a_hook_that_was_not_allowed_reaches_no_cluster(
    stage: Stage, lab: running_lab.Lab, kube: clients_kube.Client, namespace: str
) -> None:
    world = await stage.world(Secret(lab.kubeconfig.read_bytes()), kube.config, stage.hook.unless)

    with pytest.raises(errors.Refused, match="was not allowed"):
        await dispatch.look_hook(stage.hook, world, "core/db")
    with pytest.raises(clients_kube.NotFound):
        await kube.get("v1", "ConfigMap", "seeded", namespace=namespace)


async def test_a_gate_that_is_a_command_waits_until_it_ends_well_and_says_how_to_allow_it(
    stage: Stage, lab: running_lab.Lab, kube: clients_kube.Client, namespace: str
) -> None:
    kubeconfig = Secret(lab.kubeconfig.read_bytes())
    own = {"db": (CommandGate(place=PLACE, run=stage.hook.unless, timeout=20),)}
    ground = GateContext(cluster=CLUSTER, revision="", objects={}, own=own)
    question = gate_table.question(Gate(Subject.OWN, "db"), Watch(), ground)
    assert question is not None
    world = await stage.world(kubeconfig, kube.config, stage.hook.unless)
    verdicts: list[Verdict] = []
    waited = asyncio.Event()

    def judged(verdict: Verdict) -> None:
        verdicts.append(verdict)
        waited.set()

    waiting = asyncio.create_task(world.watching.wait(question, on_verdict=judged))
    await waited.wait()
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "seeded", "namespace": namespace}}
    await kube.apply(body, manager="tests")

    assert isinstance(await waiting, Passed)
    assert isinstance(verdicts[0], Waiting)
    assert "NotFound" in verdicts[0].reason
    strict = await stage.world(kubeconfig, kube.config)
    refused = question.judge(await strict.watching.view(question.looks, question.asks))
    assert isinstance(refused, Waiting)
    assert "was not allowed" in refused.reason
    assert "--allow-commands" in refused.reason
