"""The process that pretends what no real program does in the lab. A part of the lab, started by its supervisor.

It says that it is ready by writing its process id into a file, once every simulation has started.
"""

import asyncio
import contextlib
import logging
import os
import sys
from pathlib import Path

import msgspec

from firstlight import errors
from firstlight.clients import kube
from firstlight.lab import directory, network, simulations
from firstlight.lab import settings as lab_settings
from firstlight.lab.simulations.world import World


async def run(home: directory.Directory) -> None:
    """Pretend until killed."""
    wanted = msgspec.json.decode(home.settings.read_bytes(), type=lab_settings.Settings)
    net = msgspec.json.decode(home.network.read_bytes(), type=network.Network)
    config = kube.load(home.certificates / "simulator.kubeconfig")
    async with kube.Client(config) as client:
        await _wait_for_api(client)
        async with asyncio.TaskGroup() as tasks:
            world = World(home, client, wanted, net=net, tasks=tasks)
            await world.start()
            pretended = [simulations.load(name) for name in simulations.NAMES]
            for simulation in pretended:
                await simulation.start(world)
            directory.write_whole(home.run / "simulator.ready", str(os.getpid()).encode())
            for simulation in pretended:
                tasks.create_task(_act(simulation, world))


async def _act(simulation: simulations.Simulation, world: World) -> None:
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
    asyncio.run(run(directory.Directory(Path(sys.argv[1]))))


if __name__ == "__main__":
    main()
