"""What the commands of ``firstlight change`` do: begin, go on, take back, and tell what came of it."""

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import output, which_repo

if TYPE_CHECKING:
    from firstlight.execute.loop import Result
    from firstlight.execute.world import World
    from firstlight.model.change_record import ChangeRecord
    from firstlight.model.platform import Platform
    from firstlight.operate.changing.carrying import Carrying
    from firstlight.operate.changing.running import Outcome
    from firstlight.operate.changing.wishes import Host, Wishes
    from firstlight.operate.deciding.asked import Asked
    from firstlight.operate.means import Means
    from firstlight.operate.walk import Walk

FAILED, BLOCKED = 1, 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class How:
    """Where a command works, and how it talks."""

    root: Path | None
    kubeconfig: Path | None
    offline: bool
    yes: bool
    form: str


async def start(asked: "Asked", wishes: "Wishes", how: How) -> int:
    """Begin a change and carry it through."""
    from firstlight.cli import change_inline, screen, up
    from firstlight.operate.changing import beginning
    from firstlight.report import change as report
    from firstlight.report import table

    platform = which_repo.platform(how.root)
    async with _means(platform, how) as means:
        with screen.doing(is_shown=how.form == "text" and screen.is_live(sys.stderr)) as say:
            say("deciding")
            try:
                found = await beginning.decided(platform.root, asked, means)
            except beginning.Unchanged as error:
                raise _open_one(means.state, error) from None
            if await change_inline.regenerated(platform, found, offline=how.offline):
                found = await beginning.decided(platform.root, asked, means)
            carrying = await beginning.begun(found, wishes, means)
        shown = report.ahead(found.decision, carrying.record, columns=table.terminal_columns())
        print(shown, file=sys.stderr, flush=True)
        if not how.yes and not up.agreed("it is committed, pushed and carried through"):
            raise errors.Refused("not confirmed: nothing was written", hint="--yes answers yes.")
        with _alone(means, carrying.record.id):
            carrying.keeper.set()
            await beginning.check(carrying, wishes)
            return await _carried(carrying, wishes, how)


def _open_one(state: Path, error: errors.UsageError) -> errors.UsageError:
    """That nothing differs, with what may be meant: a change that was begun."""
    from firstlight.model.change_record import ChangeStanding
    from firstlight.operate.changing import records

    going = (ChangeStanding.UNDER_WAY, ChangeStanding.REVERTING)
    found = [each for each in records.every(state) if each.standing in going and each.commit]
    hint = f"Go on with {found[-1].id}: firstlight change resume {found[-1].id}" if found else error.hint
    return errors.UsageError(error.message, hint=hint)


async def resume(id: str, wishes: "Wishes", how: How) -> int:
    """Go on with a change, or with its revert."""
    from firstlight.model.change_record import ChangeStanding
    from firstlight.operate.changing import beginning

    known = record(state(how.root), id, is_open=True)
    if known.standing in (ChangeStanding.DONE, ChangeStanding.REVERTED):
        _tell(known, how, path=state(how.root))
        return 0
    platform = which_repo.platform(how.root)
    async with _means(platform, how) as means:
        with _alone(means, known.id):
            carrying = await beginning.again(platform.root, known, means, patience=wishes.patience)
            if known.standing is ChangeStanding.REVERTING:
                return await _taken_back(carrying, wishes, how)
            if not carrying.record.commit:
                await beginning.check(carrying, dataclasses.replace(wishes, anyway=known.anyway))
            return await _carried(carrying, wishes, how)


async def revert(id: str, wishes: "Wishes", how: How) -> int:
    """Take a change back."""
    from firstlight.cli import up
    from firstlight.model.change_record import ChangeStanding
    from firstlight.operate.changing import beginning

    known = record(state(how.root), id)
    if known.standing is ChangeStanding.REVERTED:
        _tell(known, how, path=state(how.root))
        return 0
    if not known.commit:
        raise errors.Refused(f"nothing of {known.id} was committed, so that there is nothing to take back")
    if not how.yes and not up.agreed(f"{known.title} is taken back out of {known.followed}"):
        raise errors.Refused("not confirmed: nothing was written", hint="--yes answers yes.")
    platform = which_repo.platform(how.root)
    async with _means(platform, how) as means:
        with _alone(means, known.id):
            carrying = await beginning.again(platform.root, known, means, patience=wishes.patience)
            return await _taken_back(carrying, wishes, how)


def state(root: Path | None) -> Path:
    """Where the records of a repo are."""
    from firstlight.cli import which_run

    return which_run.state_directory(root)


def record(state: Path, id: str, *, is_open: bool = False) -> "ChangeRecord":
    """The record that is meant: by its id or the end of it, or the newest.

    Args:
        state: ``.firstlight`` of the repo.
        id: What was typed.
        is_open: Without an id the newest that is not at its end is meant.

    Raises:
        errors.UsageError: There is none.
    """
    from firstlight.model.change_record import ChangeStanding
    from firstlight.operate.changing import records

    every = records.every(state)
    if id:
        alike = [each for each in every if each.id == id or each.id.endswith(f"-{id}")]
        return alike[0] if len(alike) == 1 else records.read(state, id)
    ended = (ChangeStanding.DONE, ChangeStanding.REVERTED)
    found = [each for each in every if not is_open or each.standing not in ended] or list(every)
    if not found:
        raise errors.UsageError("there is no change so far", hint='firstlight change start --why "REASON"')
    return found[-1]


async def _carried(carrying: "Carrying", wishes: "Wishes", how: How) -> int:
    from firstlight.operate.changing import running

    with contextlib.redirect_stdout(sys.stderr), _interruptible(carrying):
        outcome = await running.carry(carrying, wishes, _host(carrying, how))
    if not outcome.is_done and not outcome.is_waiting and wishes.is_reverted_on_failure:
        _say(f"it failed, and is taken back: {outcome.says}")
        return await _taken_back(carrying, wishes, how, failed=True)
    return _told(carrying, outcome, how)


async def _taken_back(carrying: "Carrying", wishes: "Wishes", how: How, *, failed: bool = False) -> int:
    from firstlight.operate.changing import reverting

    with contextlib.redirect_stdout(sys.stderr), _interruptible(carrying):
        outcome = await reverting.revert(carrying, wishes, _host(carrying, how))
    return _told(carrying, outcome, how) or (FAILED if failed else 0)


@contextlib.contextmanager
def _interruptible(carrying: "Carrying") -> "Iterator[None]":
    """Say how to go on, where somebody ends it early."""
    try:
        yield
    except asyncio.CancelledError:
        _say(f"interrupted; go on: firstlight change resume {carrying.record.id}")
        raise


def _host(carrying: "Carrying", how: How) -> "Host":
    from firstlight.operate.changing.wishes import Host

    async def walk(one: "Walk", world: "World") -> "Result":
        from firstlight.cli.walked import walked

        return await walked(one, world, carrying.means, yes=how.yes, form="text")

    return Host(say=_say, walk=walk)


def _say(text: str) -> None:
    from firstlight.report import safe

    print(f"  git      {safe.text(text)}", file=sys.stderr, flush=True)


def _told(carrying: "Carrying", outcome: "Outcome", how: How) -> int:
    """What came of it, and what is next."""
    from firstlight.report import safe

    _tell(carrying.record, how, path=carrying.means.state)
    if outcome.is_done:
        return 0
    print(f"{'waits' if outcome.is_waiting else 'failed'}: {safe.text(outcome.says)}", file=sys.stderr)
    if outcome.hint:
        print(f"  {safe.text(outcome.hint)}", file=sys.stderr)
    return BLOCKED if outcome.is_waiting or outcome.is_refused else FAILED


def _tell(known: "ChangeRecord", how: How, *, path: Path) -> None:
    from firstlight.operate.changing import records
    from firstlight.report import change as report
    from firstlight.report import table

    text = report.one(known, columns=table.terminal_columns())
    kept = path / records.DIRECTORY / f"{known.id}.md"
    output.answer(how.form, f"{text}\n  record   {kept}", known)


@contextlib.asynccontextmanager
async def _means(platform: "Platform", how: How) -> "AsyncIterator[Means]":
    from firstlight.cli import own_means

    means = await own_means.means(platform, offline=how.offline, keep=False, kubeconfig=how.kubeconfig)
    try:
        yield means
    finally:
        await means.close()


def _alone(means: "Means", id: str) -> "contextlib.AbstractContextManager[None]":
    """Held while a change is worked on: the same one is not carried through twice at once."""
    from firstlight.execute import local_lock
    from firstlight.journal import author
    from firstlight.operate.changing import records

    return local_lock.held(means.state / records.DIRECTORY / f"{id}.lock", who=author.who())
