"""The process that stands in for Connect: ``python -m firstlight.lab.standins --home DIR --address A --port N …``.

It says that it is ready by writing its process id into a file, once it listens.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from aiohttp import web

from firstlight.lab import lab_directory
from firstlight.lab.standins.connect import STAND_IN, ConnectServer


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="python -m firstlight.lab.standins", description=__doc__, allow_abbrev=False)
    parser.add_argument("--home", type=Path, required=True, help="the directory of vault.yaml")
    parser.add_argument("--address", required=True, help="the address to listen on")
    parser.add_argument("--port", type=int, required=True, help="the port; 0 takes a free one")
    parser.add_argument("--ready", type=Path, required=True, help="the file that gets the process id")
    return parser.parse_args(given)


async def run(asked: argparse.Namespace) -> None:
    """Serve until told to stop."""
    done = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, done.set)
    runner = web.AppRunner(ConnectServer(asked.home.absolute()).app(), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    try:
        await web.TCPSite(runner, asked.address, asked.port).start()
        host, port = runner.addresses[0][:2]
        logging.info("%s at http://%s:%s", STAND_IN, host, port)
        lab_directory.write_whole(asked.ready, str(os.getpid()).encode())
        await done.wait()
    finally:
        await runner.cleanup()


def main() -> None:
    """Entry point of the part."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", stream=sys.stdout)
    try:
        asyncio.run(run(arguments()))
    except OSError as error:
        sys.exit(f"standins: {error}")


if __name__ == "__main__":
    main()
