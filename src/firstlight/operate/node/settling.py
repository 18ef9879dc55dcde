"""What a machine brings by itself runs again on it: its static pods and those of DaemonSets."""

import asyncio
import time

from firstlight import errors
from firstlight.clients import kube
from firstlight.execute.machine_gates import POLL
from firstlight.execute.walking import OnVerdict, Stage
from firstlight.execute.world import World
from firstlight.gates import draining as gate
from firstlight.model.cluster import Machine
from firstlight.model.verdict import Passed, Verdict, Waiting
from firstlight.operate.node import nodes

PATIENCE = 300.0
"""Seconds for the pods of a node that is back: images may have to be pulled."""


def stage(machine: Machine, *, patience: float = PATIENCE) -> Stage:
    """A stage that writes nothing and waits for these pods; id ``MACHINE:verify``."""

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        deadline = time.monotonic() + patience
        last: Verdict | None = None
        while True:
            verdict = await _judged(machine, world)
            if verdict != last:
                last = verdict
                on_verdict(verdict)
            if isinstance(verdict, Passed) or time.monotonic() >= deadline:
                return verdict, "" if isinstance(verdict, Passed) else f"See: kubectl describe node {machine.name}"
            await asyncio.sleep(POLL)

    return Stage(id=f"{machine.name}:verify", name=f"verify {machine.name}", wait=wait)


async def _judged(machine: Machine, world: World) -> Verdict:
    try:
        node = await nodes.of(machine, world)
        return gate.settled(node, await nodes.pods(str(node["metadata"]["name"]), world))
    except (errors.Unreachable, errors.TimedOut, kube.ServerError) as error:
        return Waiting(f"the Kubernetes API does not answer: {error.message}")
