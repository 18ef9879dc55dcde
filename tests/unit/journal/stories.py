"""Runs for tests, written short: what scenarios have in ``story.yaml``, made events.

A line of ``steps`` is an id, a name and what it needs; a line of ``events`` the second, what happens, to which step,
and the rest; parts are two blanks or more apart.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any

import yaml

from firstlight.model.component import Phase
from firstlight.model.event import Event, Judged, RunEnded, RunStarted, StepBrief, StepEnded, StepStarted, Told, Writing

EPOCH = 1794810600.0
"""2026-11-16T06:30:00Z"""


@dataclasses.dataclass(frozen=True)
class Story:
    """A run as it was, and when somebody looks."""

    events: tuple[Event, ...]
    now: float
    is_alive: bool | None

    @property
    def started(self) -> RunStarted:
        first = self.events[0]
        assert isinstance(first, RunStarted)
        return first


def load(path: Path) -> Story:
    """The story of a scenario."""
    return told(yaml.safe_load(path.read_text()))


def told(value: dict[str, Any]) -> Story:
    """A story from what its file says."""
    start = RunStarted(
        at=EPOCH,
        run=value.get("run", "20261116T063000Z-infra-ab12"),
        cluster=value.get("cluster", "infra"),
        steps=(*map(_step, value["steps"].splitlines()), *_many(**value.get("many", {"number": 0}))),
        revision=value.get("revision", "4f2c9d1e8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d"),
        version="0.1.0",
        who="me@desk:4711",
        is_rehearsal=value.get("rehearsal", False),
        is_dry_run=value.get("dry-run", False),
    )
    events = sorted((_event(each) for each in value["events"].splitlines() if each.strip()), key=lambda each: each.at)
    return Story((start, *events), EPOCH + value.get("now", 0), value.get("alive"))


def _many(number: int, needs: str = "") -> list[StepBrief]:
    """So many components that GitOps brings, in groups that need their first."""
    return [
        StepBrief(
            id=f"gitops/app-{index:02}", phase=Phase.GITOPS, name=f"app-{index:02}",
            needs=(needs,) if index % 8 == 0 else (f"gitops/app-{index // 8 * 8:02}",),
        )
        for index in range(number)
    ]  # fmt: skip


def _step(line: str) -> StepBrief:
    name, shown, needs = (*map(_unescaped, re.split(" {2,}", line.strip())), "", "")[:3]
    phase = re.split("[:/]", name)[0]
    return StepBrief(id=name, phase=Phase(phase), name=shown or name, needs=tuple(needs.split()))


def _event(line: str) -> Event:
    second, verb, *rest = re.split(" {2,}", line.strip())
    rest = [_unescaped(each) for each in rest] + [""] * 5
    at = EPOCH + float(second)
    match verb:
        case "start":
            return StepStarted(at=at, step=rest[0])
        case "write":
            return Writing(at=at, step=rest[0], writes=tuple(rest[1].split("; ")))
        case "told":
            return Told(at=at, step=rest[0], text=rest[1])
        case "note":
            return Told(at=at, step="", text=rest[0])
        case "judge":
            return Judged(at=at, step=rest[0], gate=rest[1], verdict=rest[2], reason=rest[3])
        case "end":
            verdict, writes = (*rest[1].split(), "0")[:2]
            return StepEnded(at=at, step=rest[0], verdict=verdict, writes=int(writes), reason=rest[2], hint=rest[3])
        case "over":
            verdict, writes = (*rest[0].split(), "0")[:2]
            return RunEnded(at=at, verdict=verdict, writes=int(writes), reason=rest[1])
    raise ValueError(line)


def _unescaped(text: str) -> str:
    return text.replace("\\e", "\x1b").replace("\\n", "\n").replace("\\0", "\x00")
