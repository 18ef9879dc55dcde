"""Drills for tests: ``recover`` as it is typed, on labs that tests have; results are noted for the docs."""

import asyncio
import contextlib
import io
import json
import os
import unittest.mock
from collections.abc import Callable
from pathlib import Path

from firstlight.cli import main
from firstlight.cli import means as cli_means
from firstlight.commands.recover import drill as recover_drill
from firstlight.commands.recover.assessment import DrillResult
from firstlight.commands.recover.drill import FAULTS
from firstlight.commands.recover.drill_context import DrillContext
from firstlight.execute.means import Means
from tests.recover import killed as recover_killed
from tests.recover.killed import At, Order
from tests.runs import Told

TABLE = "FIRSTLIGHT_RECOVER_TABLE"
"""The variable that names the file to which results go, for the table in the docs."""


async def typed(root: Path | str, means: Means, *arguments: str) -> Told:
    """``firstlight recover`` in a thread of this process, with the means of the tests."""

    async def given(*_: object, **__: object) -> Means:
        return means

    def run() -> Told:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main.run(["recover", *arguments, "--repo", str(root)])
        return Told(code, out.getvalue(), err.getvalue())

    with unittest.mock.patch.object(cli_means, "user_means", given):
        return await asyncio.to_thread(run)


async def drill(scenario: str, ground: DrillContext) -> DrillResult:
    """Break something, and let the command repair it; what came of it is noted."""
    said: list[Told] = []

    async def do(option: str, on: str) -> int:
        words = ["--do", option, *_on(option, on), "--yes"]
        said.append(await typed(ground.prepared.platform.root, ground.means, ground.cluster.name, *words))
        return said[-1].code

    found = await recover_drill.carry_out_drill(FAULTS[scenario], ground, do=do)
    assert found.code == 0, said[-1].out + said[-1].err
    _note(found)
    return found


async def killed(
    scenario: str, ground: DrillContext, order: Callable[[tuple[str, ...]], Order], *, at: At
) -> DrillResult:
    """The same with a command that is killed in the middle, and typed again."""
    said: list[Told] = []

    async def do(option: str, on: str) -> int:
        words = ("recover", ground.cluster.name, "--do", option, *_on(option, on), "--yes")
        await recover_killed.killed(order(words), at)
        said.append(await recover_killed.run(order(words)))
        return said[-1].code

    found = await recover_drill.carry_out_drill(FAULTS[scenario], ground, do=do)
    assert found.code == 0, said[-1].out + said[-1].err
    return found


def _on(option: str, on: str) -> tuple[str, ...]:
    """What it is done to; a drill has taken the snapshot itself, and nobody signed that."""
    named = ("--trust-unsigned", Path(on).name) if option == "etcd-restore" and on else ()
    return (*(("--on", on) if on else ()), *named)


def _note(found: DrillResult) -> None:
    if path := os.environ.get(TABLE):
        row = {"id": found.scenario, "diagnosed": found.diagnosed, "repaired": found.repaired}
        row |= {"compared": found.compared, "lost": list(found.lost), "option": found.option}
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
