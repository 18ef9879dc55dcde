"""A process that installs ``tiny`` in the workshop of a test and prints what happens, a line of JSON for each event.

Run as ``python -m tests.integration.tools.worker ROOT``, with the environment of that workshop.
"""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from firstlight.tools import events, install
from tests.unit.tools import tiny


def show(event: events.Event) -> None:
    line = {"event": type(event).__name__, **msgspec.to_builtins(event, enc_hook=str)}
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(install.ensure(["tiny"], show, shop=tiny.shop(Path(sys.argv[1]), os.environ)))
