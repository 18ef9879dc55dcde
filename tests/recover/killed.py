"""``firstlight recover`` in a process of its own, as it is typed, and killed where it is told to.

The means are those of tests, or the user's own with the way to a lab's machines; everything else, the command line, the
journal and the lease included, is the command's.
"""

import dataclasses
import os
import signal
import sys
import unittest.mock
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from firstlight.cli import follow_run, main
from firstlight.cli import means as cli_means
from firstlight.clients import command
from firstlight.execute import lease
from firstlight.execute.means import Means
from firstlight.journal import journal_reader
from firstlight.model.cluster import AddressBook
from firstlight.model.event import Event, StepEnded, Told, Writing
from tests import nodes, runs

MOMENTS: dict[type, str] = {Writing: "before", Told: "amid", StepEnded: "after"}
"""Before the first write of a step, when it says for the first time how far it is, and after its end."""


class At(msgspec.Struct, frozen=True):
    """Where it is killed."""

    step: str = ""
    moment: str = "never"

    def strikes(self, event: Event) -> bool:
        """Whether this is the moment."""
        kind = MOMENTS.get(type(event))
        return kind == self.moment and isinstance(event, Writing | Told | StepEnded) and event.step == self.step


class Order(msgspec.Struct, frozen=True):
    """What is typed, where, and until when."""

    root: str
    words: tuple[str, ...]
    """After ``firstlight``."""
    at: At = At()
    place: runs.Place | None = None
    """The light platform's means."""
    machines: nodes.Ground | None = None
    """Those of machines alone."""
    reach: Mapping[str, str] | None = None
    """The user's own means: where machines with declared addresses listen."""
    api: str = ""

    async def means(self, own: Callable[..., Awaitable[Means]], *given: Any, **more: Any) -> Means:
        """How the command comes by the world."""
        if self.machines is not None:
            return nodes.means(self.machines)
        if self.place is not None:
            return runs.means(self.place)
        assert self.reach is not None
        reach = AddressBook(machines=self.reach, kubernetes=self.api)
        return dataclasses.replace(await own(*given, **more), reach=reach)


async def run(order: Order, *, environ: Mapping[str, str] = os.environ) -> runs.Told:
    """The command in a process of its own; its code is that of the signal, negative, if it was killed."""
    argv = [sys.executable, "-m", "tests.recover.killed", msgspec.json.encode(order).decode()]
    done = await command.run(argv, env={**environ}, check=False, timeout=300)
    return runs.Told(done.code, done.stdout.decode(), done.stderr)


async def killed(order: Order, at: At) -> None:
    """The same, killed at a moment that there must be."""
    told = await run(msgspec.structs.replace(order, at=at))
    assert told.code == -signal.SIGKILL, f"there is no {at.moment} {at.step}\n{told.out}\n{told.err}"


def writing_steps(state: Path, *, but: Collection[Path] = ()) -> set[str]:
    """The steps that have written something, in all runs but those that were there before."""
    found = [path for path in journal_reader.paths(state) if path not in but]
    return {each.step for path in found for each in journal_reader.read(path) if isinstance(each, Writing)}


def cells(steps: Iterable[str], amid: Iterable[str] = ()) -> list[At]:
    """Every step that writes, before and after; some in their middle, too."""
    found = [At(step=step, moment=moment) for step in steps for moment in ("before", "after")]
    return found + [At(step=step, moment="amid") for step in amid]


def _main(order: Order) -> int:
    tell, own = follow_run.RunFollower.tell, cli_means.user_means

    def told(self: follow_run.RunFollower, event: Event) -> None:
        tell(self, event)
        if order.at.strikes(event):
            os.kill(os.getpid(), signal.SIGKILL)

    async def given(*_: Any, **__: Any) -> Means:
        return await order.means(own, *_, **__)

    # Whoever comes next need not wait for long; whether it may take a lease of the dead at once is another test's.
    lease.SECONDS = 2
    with (
        unittest.mock.patch.object(cli_means, "user_means", given),
        unittest.mock.patch.object(follow_run.RunFollower, "tell", told),
    ):
        return main.run([*order.words, "--repo", order.root])


if __name__ == "__main__":
    sys.exit(_main(msgspec.json.decode(sys.argv[1], type=Order)))
