"""What the commands of ``firstlight change`` do: begin, go on, take back, and tell what came of it."""

import asyncio
import contextlib
import dataclasses
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from firstlight import errors
from firstlight.cli import means as cli_means
from firstlight.cli import output, screen, which_repo, which_run
from firstlight.cli.follow_run import follow_walk
from firstlight.commands.change import change, change_revert, prepare, record_store
from firstlight.commands.change import markdown as change_markdown
from firstlight.commands.change import text as change_text
from firstlight.commands.change.change import ChangeOutcome
from firstlight.commands.change.change_record import ChangeRecord, ChangeStanding
from firstlight.commands.change.cni import cni_upgrade
from firstlight.commands.change.ongoing_change import ChangeHost, ChangeRequest, OngoingChange
from firstlight.commands.decide.change_source import ChangeSource
from firstlight.commands.decide.decide import Decided
from firstlight.commands.render import inline
from firstlight.drawing import safe, table
from firstlight.execute import lease
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means
from firstlight.execute.walk import Walk
from firstlight.execute.world import World
from firstlight.journal import run_identity
from firstlight.model.platform import Platform
from firstlight.render.inline import edited_file

FAILED, BLOCKED = 1, 3


@dataclasses.dataclass(frozen=True, kw_only=True)
class ChangeCommandOptions:
    """Where a command works, and how it talks."""

    root: Path | None
    kubeconfig: Path | None
    offline: bool
    yes: bool
    form: str


async def start(asked: ChangeSource, wishes: ChangeRequest, how: ChangeCommandOptions) -> int:
    """Begin a change and carry it through."""
    platform = which_repo.platform(how.root)
    async with _means(platform, how) as means:
        with screen.doing(is_shown=how.form == "text" and screen.is_live(sys.stderr)) as say:
            say("deciding")
            try:
                found = await prepare.decide_change(platform.root, asked, means)
            except prepare.Unchanged as error:
                raise _open_one(means.state, error) from None
            if await regenerate_inline(platform, found, offline=how.offline):
                found = await prepare.decide_change(platform.root, asked, means)
            carrying = await prepare.begin_change(found, wishes, means)
        shown = change_text.ahead(found.decision, carrying.record, columns=table.terminal_columns())
        print(shown, file=sys.stderr, flush=True)
        if not how.yes and not screen.agreed("it is committed, pushed and carried through"):
            raise errors.Refused("not confirmed: nothing was written", hint="--yes answers yes.")
        with _alone(means, carrying.record.id):
            carrying.keeper.set()
            await prepare.check_before(carrying, wishes)
            return await _carried(carrying, wishes, how)


def _open_one(state: Path, error: errors.UsageError) -> errors.UsageError:
    """That nothing differs, with what may be meant: a change that was begun."""
    going = (ChangeStanding.UNDER_WAY, ChangeStanding.REVERTING)
    found = [each for each in record_store.every_record(state) if each.standing in going and each.commit]
    hint = f"Go on with {found[-1].id}: firstlight change resume {found[-1].id}" if found else error.hint
    return errors.UsageError(error.message, hint=hint)


async def resume(id: str, wishes: ChangeRequest, how: ChangeCommandOptions) -> int:
    """Go on with a change, or with its revert."""
    known = read_named(state_directory(how.root), id, is_open=True)
    if known.standing in (ChangeStanding.DONE, ChangeStanding.REVERTED):
        _tell(known, how, path=state_directory(how.root))
        return 0
    platform = which_repo.platform(how.root)
    async with _means(platform, how) as means:
        with _alone(means, known.id):
            carrying = await prepare.reopen_change(platform.root, known, means, patience=wishes.patience)
            if known.standing is ChangeStanding.REVERTING:
                return await _taken_back(carrying, wishes, how)
            if not carrying.record.commit:
                await prepare.check_before(carrying, dataclasses.replace(wishes, anyway=known.anyway))
            return await _carried(carrying, wishes, how)


async def revert(id: str, wishes: ChangeRequest, how: ChangeCommandOptions) -> int:
    """Take a change back."""
    known = read_named(state_directory(how.root), id)
    if known.standing is ChangeStanding.REVERTED:
        _tell(known, how, path=state_directory(how.root))
        return 0
    if not known.commit:
        raise errors.Refused(f"nothing of {known.id} was committed, so that there is nothing to take back")
    if not how.yes and not screen.agreed(f"{known.title} is taken back out of {known.followed}"):
        raise errors.Refused("not confirmed: nothing was written", hint="--yes answers yes.")
    platform = which_repo.platform(how.root)
    async with _means(platform, how) as means:
        with _alone(means, known.id):
            carrying = await prepare.reopen_change(platform.root, known, means, patience=wishes.patience)
            return await _taken_back(carrying, wishes, how)


def state_directory(root: Path | None) -> Path:
    """Where the records of a repo are."""
    return which_run.state_directory(root)


def read_named(state: Path, id: str, *, is_open: bool = False) -> ChangeRecord:
    """The record that is meant: by its id or the end of it, or the newest.

    Args:
        state: ``.firstlight`` of the repo.
        id: What was typed.
        is_open: Without an id the newest that is not at its end is meant.

    Raises:
        errors.UsageError: There is none.
    """
    every = record_store.every_record(state)
    if id:
        alike = [each for each in every if each.id == id or each.id.endswith(f"-{id}")]
        return alike[0] if len(alike) == 1 else record_store.read_record(state, id)
    ended = (ChangeStanding.DONE, ChangeStanding.REVERTED)
    found = [each for each in every if not is_open or each.standing not in ended] or list(every)
    if not found:
        raise errors.UsageError("there is no change so far", hint='firstlight change start --why "REASON"')
    return found[-1]


async def _carried(carrying: OngoingChange, wishes: ChangeRequest, how: ChangeCommandOptions) -> int:
    with contextlib.redirect_stdout(sys.stderr), _interruptible(carrying):
        outcome = await change.carry_out(carrying, wishes, _host(carrying, how))
    if not outcome.is_done and not outcome.is_waiting and wishes.is_reverted_on_failure:
        _say(f"it failed, and is taken back: {outcome.says}")
        return await _taken_back(carrying, wishes, how, failed=True)
    return _told(carrying, outcome, how)


async def _taken_back(
    carrying: OngoingChange, wishes: ChangeRequest, how: ChangeCommandOptions, *, failed: bool = False
) -> int:
    with contextlib.redirect_stdout(sys.stderr), _interruptible(carrying):
        outcome = await change_revert.revert(carrying, wishes, _host(carrying, how))
    return _told(carrying, outcome, how) or (FAILED if failed else 0)


@contextlib.contextmanager
def _interruptible(carrying: OngoingChange) -> Iterator[None]:
    """Say how to go on, where somebody ends it early."""
    try:
        yield
    except asyncio.CancelledError:
        _say(f"interrupted; go on: firstlight change resume {carrying.record.id}")
        raise


def _host(carrying: OngoingChange, how: ChangeCommandOptions) -> ChangeHost:
    async def walk(one: Walk, world: World) -> RunResult:
        return await follow_walk(one, world, carrying.means, yes=how.yes, form="text")

    return ChangeHost(say=_say, walk=walk)


def _say(text: str) -> None:
    print(f"  git      {safe.text(text)}", file=sys.stderr, flush=True)


def _told(carrying: OngoingChange, outcome: ChangeOutcome, how: ChangeCommandOptions) -> int:
    """What came of it, and what is next."""
    _tell(carrying.record, how, path=carrying.means.state)
    if outcome.is_done:
        return 0
    print(f"{'waits' if outcome.is_waiting else 'failed'}: {safe.text(outcome.says)}", file=sys.stderr)
    if outcome.hint:
        print(f"  {safe.text(outcome.hint)}", file=sys.stderr)
    return BLOCKED if outcome.is_waiting or outcome.is_refused else FAILED


def _tell(known: ChangeRecord, how: ChangeCommandOptions, *, path: Path) -> None:
    text = change_text.change_text(known, columns=table.terminal_columns())
    kept = path / record_store.DIRECTORY / f"{known.id}.md"
    output.answer(how.form, f"{text}\n  record   {kept}", known)


@contextlib.asynccontextmanager
async def _means(platform: Platform, how: ChangeCommandOptions) -> AsyncIterator[Means]:
    means = await cli_means.user_means(platform, offline=how.offline, keep=False, kubeconfig=how.kubeconfig)
    try:
        yield means
    finally:
        await means.close()


def _alone(means: Means, id: str) -> contextlib.AbstractContextManager[None]:
    """Held while a change is worked on: the same one is not carried through twice at once."""
    return lease.local_lock(means.state / record_store.DIRECTORY / f"{id}.lock", who=run_identity.who())


# The part of ``firstlight change start`` that renders the network plugin anew where a machine config has it inline.


async def regenerate_inline(platform: Platform, found: Decided, *, offline: bool = False) -> bool:
    """Render what a change of the work tree has left behind; whether any file is another one now.

    What is committed or staged is the user's word: it is left as it is, and the walk says what is missing in it.

    Args:
        platform: The repo as it is on the disk.
        found: The change.
        offline: Fetch no charts.

    Raises:
        errors.Refused: It cannot be embedded.
    """
    if found.states.is_committed or not found.states.is_checked_out:
        return False
    is_new = False
    for component in cni_upgrade.inline_components(found):
        paths = dict.fromkeys(each.place.path for each in component.origins if cni_upgrade.is_inline(each))
        for path in paths:
            before = edited_file.read_file(platform.root, path)
            options = inline.InlineOptions(file=path)
            with contextlib.redirect_stdout(sys.stderr):
                code = await inline.embed(platform, component, options, offline=offline)
            if code:
                raise errors.Refused(
                    f"{component.name} cannot be rendered into {path}",
                    hint=f"See why: firstlight render {component.name} --cluster {component.cluster} --inline {path}",
                )
            is_new |= edited_file.read_file(platform.root, path) != before
    return is_new


def print_changes(root: Path | None, form: str) -> None:
    """Print all changes that were carried through from this clone, the newest first."""
    found = record_store.every_record(state_directory(root))
    text = "\n".join(change_text.changes_text(found, columns=table.terminal_columns())) if found else "no change so far"
    output.answer(form, text, {"changes": list(reversed(found))})


def print_change(id: str, *, root: Path | None, form: str, is_markdown: bool) -> None:
    """Print what a change is, the newest if none is named.

    Raises:
        errors.UsageError: There is none.
    """
    record = read_named(state_directory(root), id)
    text = (
        change_markdown.record_markdown(record)
        if is_markdown
        else change_text.change_text(record, columns=table.terminal_columns())
    )
    output.answer(form, text.rstrip("\n"), record)
