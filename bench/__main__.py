"""Run the benchmarks that are named, or all, and keep what they said in bench/results/."""

import asyncio
import importlib
import os
import platform
import sys
import time
from pathlib import Path

from firstlight.tools import catalogue, install

ALL = ("startup", "reading", "render", "lab", "apply", "bootstrap", "owners", "drift", "decide", "audit")


def main() -> None:
    chosen = sys.argv[1:] or list(ALL)
    programs = asyncio.run(install.ensure(catalogue.load().members("bench")))
    results = Path(__file__).with_name("results")
    results.mkdir(exist_ok=True)
    head = (
        f"{time.strftime('%F %T')}   {os.cpu_count()} cores, Python {platform.python_version()}, {platform.machine()}"
    )
    print(head)
    for name in chosen:
        lines = importlib.import_module(f"bench.{name}").run(programs)
        print("\n".join(lines), flush=True)
        (results / f"{name}.txt").write_text("\n".join([head, *lines]) + "\n")


if __name__ == "__main__":
    main()
