"""What the kernel of this computer did not grant: which programs ran with less isolation than they should have."""

import collections
import dataclasses
import os
import sys
from collections.abc import Mapping

from firstlight.clients.sandbox import starting
from firstlight.clients.sandbox.limits import KINDS, RENDERER, RENDERER_WITH_CHARTS, Limits

_SHOWN = {
    "memory": "a memory limit",
    "cpu": "a limit on processor time",
    "file": "a limit on file sizes",
    "processes": "a limit on the number of processes",
    "network": "network isolation",
    "core": "a limit on core dumps",
}


@dataclasses.dataclass(frozen=True, order=True)
class Missing:
    """One thing that could not be limited, for one kind of program."""

    what: str
    """``memory``, ``cpu``, ``file``, ``processes`` or ``network``."""
    kind: str
    """The name of the limits."""
    reason: str
    """The kernel's own words."""

    @property
    def is_of_renderers(self) -> bool:
        """Whether programs that read strangers' files lack it."""
        return self.kind in (RENDERER.name, RENDERER_WITH_CHARTS.name)

    def __str__(self) -> str:
        return f"{_SHOWN.get(self.what, self.what)} ({self.kind}): {self.reason}"


_seen: collections.Counter[Missing] = collections.Counter()


def note(limits: Limits, missing: Mapping[str, str]) -> tuple[Missing, ...]:
    """Remember what a program ran without."""
    found = tuple(Missing(what, limits.name, reason) for what, reason in sorted(missing.items()))
    _seen.update(found)
    return found


def missing() -> Mapping[Missing, int]:
    """What programs of this process ran without so far, and how many of them."""
    return dict(_seen)


async def tried() -> tuple[Missing, ...]:
    """What the kernel does not grant to programs of each kind, found by starting one that does nothing."""
    found: list[Missing] = []
    for limits in KINDS:
        if limits.is_free:
            continue
        child = await starting.start(
            [sys.executable, "-I", "-S", "-c", ""], limits, env=os.environ, cwd=None, has_stdin=False
        )
        try:
            found += note(limits, child.missing)
            await child.wait()
        finally:
            child.close()
    return tuple(sorted(found))
