"""The process that serves them: ``python -m firstlight.lab.sources --home DIR --address A …``.

It says that it is ready by writing its process id into a file, once everything listens.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from firstlight import errors
from firstlight.clients import program_path
from firstlight.lab import lab_directory
from firstlight.lab.sources import listeners
from firstlight.lab.sources.declarations import SourcesHome
from firstlight.lab.sources.source_services import SourcePorts


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m firstlight.lab.sources", description=__doc__, allow_abbrev=False)
    parser.add_argument("--home", type=Path, required=True, help="where everything is kept")
    parser.add_argument("--address", required=True, help="the address to listen on")
    parser.add_argument("--git-port", type=int, required=True, help="port of the Git server; 0 takes a free one")
    parser.add_argument("--oci-port", type=int, required=True, help="port of the registry; 0 takes a free one")
    parser.add_argument("--charts-port", type=int, required=True, help="port of the Helm repositories; 0 …")
    parser.add_argument("--control", type=Path, required=True, help="the unix socket for orders")
    parser.add_argument("--ready", type=Path, required=True, help="the file that gets the process id")
    return parser.parse_args(given)


async def run(asked: argparse.Namespace) -> None:
    """Serve until told to stop."""
    done = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, done.set)
    home = SourcesHome(asked.home.absolute())
    held = home.hold()
    home.make()
    ports = SourcePorts(asked.git_port, asked.oci_port, asked.charts_port)
    try:
        async with listeners.serving_from(home, address=asked.address, ports=ports, control=asked.control) as world:
            logging.info("git %s, registry %s, charts %s", world.git_url(""), world.registry_host, world.charts_url(""))
            lab_directory.write_whole(asked.ready, str(os.getpid()).encode())
            await done.wait()
    finally:
        os.close(held)


def main() -> None:
    """Entry point of the part."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    os.umask(0o077)
    try:
        if program_path.find("git") is None:
            raise errors.LabError("there is no git on the PATH, and the Git server needs it")
        asyncio.run(run(arguments()))
    except (errors.FirstlightError, OSError) as error:
        sys.exit(f"sources: {error}")


if __name__ == "__main__":
    main()
