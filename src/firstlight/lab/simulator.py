"""The process that pretends what no real program does in the lab. A part of the lab, started by its supervisor.

It says that it is ready by writing its process id into a file, once every simulation has started.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import lab_directory, lab_settings, loopback_network
from firstlight.lab.simulations import absent_controllers, actor_pods, egress, kubelets, source_rewrites, webhooks
from firstlight.lab.simulations.simulated_cluster import SimulatedCluster


class Simulation(Protocol):
    """Pretends one thing."""

    what: str
    """In a line, for the status."""

    async def start(self, world: SimulatedCluster) -> None:
        """Follow and listen."""

    async def act(self, world: SimulatedCluster) -> None:
        """Do what is due."""


SIMULATIONS: dict[str, Callable[[], Simulation]] = {
    "kubelets": kubelets.KubeletSimulation,
    "egress": egress.EgressSimulation,
    "webhooks": webhooks.WebhookSimulation,
    "source_rewrites": source_rewrites.SourceRewriteSimulation,
    "volumes": absent_controllers.VolumeSimulation,
    "load_balancers": absent_controllers.LoadBalancerSimulation,
    "certificate_requests": kubelets.CertificateRequestSimulation,
    "custom_resources": absent_controllers.CustomResourceSimulation,
    "redis_passwords": absent_controllers.RedisPasswordSimulation,
    "actors": actor_pods.ActorSimulation,
}


def simulation_descriptions() -> dict[str, str]:
    """Return what each simulation pretends, in a line."""
    return {name.replace("_", " "): make().what for name, make in SIMULATIONS.items()}


async def run(home: lab_directory.LabDirectory) -> None:
    """Pretend until killed."""
    wanted = msgspec.json.decode(home.settings.read_bytes(), type=lab_settings.LabSettings)
    net = msgspec.json.decode(home.network.read_bytes(), type=loopback_network.LoopbackNetwork)
    config = kube.load(home.certificates / "simulator.kubeconfig")
    async with kube.Client(config) as client:
        await _wait_for_api(client)
        async with asyncio.TaskGroup() as tasks:
            world = SimulatedCluster(home, client, wanted, net=net, tasks=tasks)
            await world.start()
            pretended = [make() for make in SIMULATIONS.values()]
            for simulation in pretended:
                await simulation.start(world)
            lab_directory.write_whole(home.run / "simulator.ready", str(os.getpid()).encode())
            for simulation in pretended:
                tasks.create_task(_act(simulation, world))


async def _act(simulation: Simulation, world: SimulatedCluster) -> None:
    async for _ in world.changes():
        await simulation.act(world)


async def _wait_for_api(client: kube.Client) -> None:
    while True:
        with contextlib.suppress(errors.ClientError):
            if (await client.ready()).is_ready:
                return
        await asyncio.sleep(0.05)


def main() -> None:
    """Entry point of the part."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    asyncio.run(run(lab_directory.LabDirectory(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
