"""A process that installs something in the workshop of a test and prints what happens, a line of JSON for each event.

Run as ``python -m tests.integration.tools.worker ROOT NAME``, with the environment of that workshop.
"""

import asyncio
import os
import sys
from pathlib import Path

import msgspec

from firstlight.tools import content, install, tool_progress
from tests.unit.tools import tiny, tiny_module


def show(event: tool_progress.ToolEvent) -> None:
    line = {"event": type(event).__name__, **msgspec.to_builtins(event, enc_hook=str)}
    sys.stdout.write(msgspec.json.encode(line).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    root, name = sys.argv[1:]
    shop = tiny.shop(Path(root), os.environ, known=tiny.CATALOGUE + tiny_module.CONTENT)
    ensure = content.ensure if name in shop.catalogue.content else install.ensure
    asyncio.run(ensure([name], show, shop=shop))
