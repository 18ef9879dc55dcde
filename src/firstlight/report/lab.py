"""A lab as text: which parts it has, which of them are real, and what is pretended."""

import time
from collections.abc import Mapping, Sequence

from firstlight.model.lab_status import PartStatus
from firstlight.report import safe, table

MARKS = {"ready": "✔", "slowed": "✔", "starting": "▸", "unready": "✘", "stopped": "■", "failed": "✘"}


def part_rows(parts: Sequence[PartStatus], *, now: float = 0) -> list[list[str]]:
    """A row for each part: name, state, how long, real or simulated, memory, and what it is or waits for."""
    now = now or time.time()
    return [
        [
            part.name,
            f"{MARKS.get(part.state, '·')} {part.state}",
            duration(now - part.since),
            part.reality,
            f"{part.memory >> 20} MB" if part.memory else "",
            safe.text(part.detail) or part.what + (f" (restarted {part.restarts}×)" if part.restarts else ""),
        ]
        for part in parts
    ]


def simulation_rows(simulations: Mapping[str, str]) -> list[list[str]]:
    """A row for each thing that is pretended."""
    return [[name, what] for name, what in simulations.items()]


def lines(rows: Sequence[Sequence[str]], *, columns: int = 0) -> list[str]:
    """Rows as an indented block."""
    return table.render(rows, indent="  ", columns=columns)


def duration(seconds: float) -> str:
    """A span of time in the two units that matter."""
    whole = max(0, int(seconds))
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
