"""What is written down of changes: ``.firstlight/changes/ID.json`` to go on with, and ``ID.md`` for people.

A record is written whole at each step. It says how far a change was when somebody last looked; where it really is, Git
and the clusters say.
"""

import contextlib
import dataclasses
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from firstlight import errors
from firstlight.clients import atomic_file
from firstlight.commands.change import markdown
from firstlight.commands.change.change_record import ChangeRecord, ChangeStep
from firstlight.drawing import safe
from firstlight.execute.walk import OnVerdict, WalkStage
from firstlight.execute.world import PendingChange, World
from firstlight.journal import state_files
from firstlight.model.verdict import Verdict

DIRECTORY = "changes"
_ID = re.compile(r"[0-9]{8}-[0-9]{6}-[a-z0-9][a-z0-9-]{0,59}")
_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST = 40


def new_id(title: str, *, now: float) -> str:
    """The id of a change that begins: sorted by name, changes are sorted by time."""
    name = _SLUG.sub("-", title.lower())[:_LONGEST].strip("-") or "change"
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{name}"


class ChangeRecordStore:
    """Keeps the record of one change."""

    def __init__(self, state: Path, record: ChangeRecord, *, now: Callable[[], float] = time.time) -> None:
        """Keep a record; nothing is written before it is ``set``.

        Args:
            state: ``.firstlight`` of the repo.
            record: As it is.
            now: The clock of its steps.
        """
        self.record = record
        self._directory = state / DIRECTORY
        self._now = now

    @property
    def markdown(self) -> Path:
        """Where people read it."""
        return self._directory / f"{self.record.id}.md"

    def set(self, **fields: Any) -> ChangeRecord:
        """Change fields of the record, and write it whole.

        Raises:
            errors.FirstlightError: It cannot be written.
        """
        self.record = dataclasses.replace(self.record, **fields)
        state_files.enter(self.markdown)
        shown = safe.data(msgspec.to_builtins(self.record))
        content = msgspec.json.format(msgspec.json.encode(shown), indent=2) + b"\n"
        try:
            atomic_file.replace(self._directory / f"{self.record.id}.json", content)
            atomic_file.replace(self.markdown, markdown.record_markdown(self.record).encode())
        except OSError as error:
            raise errors.FirstlightError(f"{self.markdown} cannot be written: {error.strerror or error}") from error
        return self.record

    def begin(self, step: str, *, cluster: str, title: str) -> None:
        """Note that a step begins; one that was begun before keeps its time."""
        known = next((each for each in self.record.steps if each.id == step), None)
        begun = known.begun if known is not None and known.verdict != "passed" else self._now()
        self._put(ChangeStep(id=step, cluster=cluster, title=title, begun=begun or self._now()))

    def end(self, step: str, *, verdict: str, says: str = "") -> None:
        """Note what came of a step that was begun."""
        known = next(each for each in self.record.steps if each.id == step)
        self._put(dataclasses.replace(known, verdict=verdict, says=says, ended=self._now()))

    def _put(self, step: ChangeStep) -> None:
        steps = {each.id: each for each in self.record.steps} | {step.id: step}
        self.set(steps=tuple(steps.values()))


def read_record(state: Path, id: str) -> ChangeRecord:
    """One record.

    Raises:
        errors.UsageError: There is none of that id.
        errors.ConfigError: It cannot be read.
    """
    path = state / DIRECTORY / f"{id}.json"
    if not _ID.fullmatch(id) or not state_files.is_file(path):
        known = [each.id for each in every_record(state)][-3:]
        hint = f"There is {', '.join(known)}; all: firstlight change list" if known else "There is none so far."
        raise errors.UsageError(f"there is no change {id!r:.80}", hint=hint)
    return _decoded(path)


def every_record(state: Path) -> tuple[ChangeRecord, ...]:
    """All records, the oldest first.

    Raises:
        errors.ConfigError: One cannot be read.
    """
    found = state_files.listed(state / DIRECTORY, "*.json")
    return tuple(_decoded(each) for each in found if _ID.fullmatch(each.stem))


def _decoded(path: Path) -> ChangeRecord:
    try:
        return msgspec.json.decode(state_files.read(path), type=ChangeRecord)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise errors.ConfigError(
            f"this is no record of a change: {error}",
            path=str(path),
            hint="Only firstlight writes these; move it away.",
        ) from error


# What is done is written down in the record as it is done: steps in Git, and the stages of walks.


@dataclasses.dataclass
class StepMessage:
    """What a step has to say in the end."""

    says: str = ""
    verdict: str = "passed"


@contextlib.asynccontextmanager
async def recorded_step(
    keeper: ChangeRecordStore, id: str, *, title: str, cluster: str = ""
) -> AsyncIterator[StepMessage]:
    """Write down that a step begins, and what came of it."""
    keeper.begin(id, cluster=cluster, title=title)
    saying = StepMessage()
    try:
        yield saying
    except errors.FirstlightError as error:
        keeper.end(id, verdict="failed", says=error.message)
        raise
    keeper.end(id, verdict=saying.verdict, says=saying.says)


def recorded_stages(stages: Iterable[WalkStage], keeper: ChangeRecordStore, *, cluster: str) -> tuple[WalkStage, ...]:
    """Stages that write themselves down."""
    return tuple(_recorded(each, keeper, cluster) for each in stages)


def _recorded(stage: WalkStage, keeper: ChangeRecordStore, cluster: str) -> WalkStage:
    begun = False

    async def look(world: World) -> PendingChange | None:
        nonlocal begun
        if not begun:
            keeper.begin(stage.id, cluster=cluster, title=stage.name)
            begun = True
        try:
            change = await stage.look(world)
        except errors.FirstlightError as error:
            keeper.end(stage.id, verdict="failed", says=error.message)
            raise
        return dataclasses.replace(change, perform=_guarded(change, stage, keeper)) if change is not None else None

    async def wait(world: World, on_verdict: OnVerdict) -> tuple[Verdict, str]:
        try:
            verdict, hint = await stage.wait(world, on_verdict)
        except errors.FirstlightError as error:
            keeper.end(stage.id, verdict="failed", says=error.message)
            raise
        keeper.end(stage.id, verdict=type(verdict).__name__.lower(), says=verdict.reason)
        return verdict, hint

    return dataclasses.replace(stage, look=look, wait=wait)


def _guarded(change: PendingChange, stage: WalkStage, keeper: ChangeRecordStore) -> Callable[[], Awaitable[None]]:
    async def perform() -> None:
        try:
            await change.perform()
        except errors.FirstlightError as error:
            keeper.end(stage.id, verdict="failed", says=error.message)
            raise

    return perform
