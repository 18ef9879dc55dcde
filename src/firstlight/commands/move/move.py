"""A move from the wish to the answer: proposed, rehearsed, written or carried out, and shown."""

import asyncio
import sys
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import diagnostic_data, output, renderers
from firstlight.clients import program_path
from firstlight.clients.git import Git
from firstlight.commands.change import change_start
from firstlight.commands.change.ongoing_change import ChangeRequest
from firstlight.commands.decide import change_source
from firstlight.commands.move import move_proposal, rehearsal, text
from firstlight.commands.move.lab_rehearsal import RehearsedMove
from firstlight.commands.move.move_proposal import ProposedMove, ProposedRelocation
from firstlight.drawing import table
from firstlight.model.component import Phase
from firstlight.model.move import MoveRequest, OwnerSplit, Relocation, Seat
from firstlight.model.platform import Platform
from firstlight.render.component_renderer import Renderer
from firstlight.repo import file_patch, work_tree

FAILED, DIFFERENT, REFUSED = 1, 2, 3


def move(
    component: str, *, side: str | None, into: str, split: str, only: tuple[str, ...], owner: str, phase: str, home:
    str, why: str, cluster: str, rehearse: bool, keep: bool, charts: Path | None, write: bool, carry_out: bool,
    is_merging: bool, no_wait: bool, anyway: str, yes: bool, wanted: bool | None, offline: bool, kubeconfig: Path |
    None, root: Path | None, form: str,
) -> int:  # fmt: skip
    """Propose a move, and rehearse, write or carry it out as is wished; the exit code."""
    if sum(map(bool, (side, into, split))) != 1:
        hint = "--to bootstrap, --to gitops, --into NAME, or --split NAME"
        raise errors.UsageError("--to, --into or --split, one of them", hint=hint)
    if only and not split:
        raise errors.UsageError("--only says what is split off", hint="--split NAME --only PATH")
    if side == "gitops" and owner == "bootstrap":
        raise errors.UsageError("what is GitOps' is the engine's in the end", hint="--to bootstrap --owner bootstrap")
    if (keep or charts) and not rehearse:
        raise errors.UsageError("--keep and --charts are for the lab of a rehearsal", hint="--rehearse")
    how = change_start.ChangeCommandOptions(root=root, kubeconfig=kubeconfig, offline=offline, yes=yes, form=form)
    title = _title(component, side, into=into, split=split)
    wishes = ChangeRequest(
        why=why.strip() or title, title=title, clusters=(cluster,) if cluster else (), is_merging=is_merging,
        is_waiting=not no_wait, anyway=anyway.strip(),
    )  # fmt: skip
    found: ProposedMove | ProposedRelocation
    if split:
        found = _relocated(OwnerSplit(component=component, name=split, only=only, cluster=cluster), root)
    elif side is None:
        found = _relocated(Relocation(what=component, into=into, cluster=cluster), root)
    else:
        found = asyncio.run(_proposed(_wish(component, side, owner, phase, why, cluster, home), root, wanted, offline))
    is_open = bool(found.refusal or found.proposal.by_hand)
    is_written = bool(found.patch.after) and not found.refusal and (write or (carry_out and not is_open))
    if is_written and carry_out:
        asyncio.run(_check_clean(found.tree.root))
    told: tuple[RehearsedMove, ...] = ()
    if rehearse and found.patch.after and not is_open:
        try:
            told = rehearsal.rehearsed(found, root=root, charts=charts, offline=offline, keep=keep)
        except rehearsal.RehearsalInterrupted as ended:
            return ended.code
        if not all(each.is_fine for each in told):
            _print(found, form, is_written=False, to_stderr=False, told=told)
            return FAILED
    if is_written:
        file_patch.write(found.tree, found.patch)
    _print(found, "text" if carry_out else form, is_written=is_written, to_stderr=carry_out, told=told)
    if is_open:
        return REFUSED
    if carry_out and found.patch.after:
        if not told:
            print(rehearsal.UNREHEARSED, file=sys.stderr)
        return asyncio.run(change_start.start(change_source.WorkTreeChanges(), wishes, how))
    return DIFFERENT if found.patch.after and not is_written and not told else 0


def _title(component: str, side: str | None, *, into: str, split: str) -> str:
    """What the commit is called."""
    if split:
        return f"Split {split} off {component}"
    return f"Move {component} into {into}" if into else f"Move {component} to {side}"


def _relocated(wish: Relocation | OwnerSplit, root: Path | None) -> ProposedRelocation:
    tree = work_tree.WorkTree(work_tree.top(Path()) if root is None else root)
    return move_proposal.propose_relocation(tree, wish)


async def _check_clean(root: Path) -> None:
    """See that a commit of the work tree would have nothing in it but the move.

    Raises:
        errors.Refused: Somebody has changed something, and not committed it.
        errors.ToolError: There is no git.
    """
    git = program_path.find("git")
    if git is None:
        raise errors.ToolError("to carry it out needs git", hint="Install git, or edit the work tree with --write.")
    dirty = [each.path for each in await Git(Path(git)).status(root)]
    if dirty:
        more = f" and {len(dirty) - 1} more" if len(dirty) > 1 else ""
        raise errors.Refused(
            f"{dirty[0]}{more} has changes that are not committed, which would be carried along",
            hint="Commit or stash them first; --write alone edits the files.",
        )


def _wish(component: str, side: str, owner: str, phase: str, why: str, cluster: str, home: str) -> MoveRequest:
    kept = Seat.KEPT if owner == "bootstrap" else Seat.HANDED_OVER
    seat = Seat.GITOPS if side == "gitops" else kept
    return MoveRequest(component=component, seat=seat, cluster=cluster, phase=Phase(phase), why=why.strip(), home=home)


async def _proposed(wish: MoveRequest, root: Path | None, wanted: bool | None, offline: bool) -> ProposedMove:
    async def opened(platform: Platform, known_as: str) -> Renderer:
        return await renderers.open_renderer(platform, offline=offline, known_as=known_as)

    tree = work_tree.WorkTree(work_tree.top(Path()) if root is None else root)
    if wanted is not False:
        try:
            await renderers.programs()
        except errors.ToolError as error:
            if wanted:
                raise
            print(f"nothing is rendered: {error.message}. {error.hint}", file=sys.stderr)
            wanted = False
    return await move_proposal.propose_move(tree, wish, open_renderer=None if wanted is False else opened)


def _print(
    found: ProposedMove | ProposedRelocation, form: str, *, is_written: bool, to_stderr: bool, told:
    tuple[RehearsedMove, ...] = (),
) -> None:  # fmt: skip
    if form == "json":
        rehearsals = [text.rehearsal_data(each) for each in told]
        output.write_json({**_data(found), **_edits(found, is_written=is_written), "rehearsals": rehearsals})
        return
    lines = _lines(found, is_written=is_written)
    if told:
        # What comes next is the last word, if it may come.
        is_fine = all(each.is_fine for each in told)
        *first, last = lines
        apart = [""] if first and first[-1] else []
        lines = [*first, *apart, rehearsal.shown(told), *(["", last] if is_fine else [])]
    print("\n".join(lines), file=sys.stderr if to_stderr else sys.stdout)


def _data(found: ProposedMove | ProposedRelocation) -> dict[str, Any]:
    if isinstance(found, ProposedRelocation):
        passed = [{"cluster": each.cluster, "object": each.id, "from": each.before, "to": each.after}
                  for each in found.passed]  # fmt: skip
        new = diagnostic_data.of_all(found.new)
        return {"what": found.wish.what, "into": found.wish.into, "passed": passed, "new": new}
    return {"component": found.wish.component, "to": found.wish.seat, "clusters": text.data(found.analyses)}


def _edits(found: ProposedMove | ProposedRelocation, *, is_written: bool) -> dict[str, Any]:
    by_hand = [{"file": each.place.path, "line": each.place.line, "text": each.text} for each in found.proposal.by_hand]
    return {
        "byHand": by_hand, "notes": found.proposal.notes, "patch": found.patch.diff, "written": is_written,
        "refused": found.refusal or None,
    }  # fmt: skip


def _lines(found: ProposedMove | ProposedRelocation, *, is_written: bool) -> list[str]:
    lines = [_shown(found)]
    if found.patch.after and not is_written:
        lines += ["", output.printable_diff(found.patch.diff).rstrip("\n"), ""]
    if found.refusal:
        return [*lines, f"refused: {found.refusal}", f"  {found.hint}"]
    if found.proposal.by_hand:
        rest = "the rest is to be written" if is_written else "write it (--write does what can be done)"
        return [*lines, f"next: {rest}; then firstlight change start carries it through"]
    if is_written:
        return [*lines, "written: firstlight change start carries it through, with guards, owners and proof"]
    if not found.patch.after:
        return lines
    return [*lines, "next: --write edits the work tree; --carry-out does all of it, cluster included"]


def _shown(found: ProposedMove | ProposedRelocation) -> str:
    columns, by_hand = table.terminal_columns(), found.proposal.by_hand
    if isinstance(found, ProposedRelocation):
        passed = [(each.cluster, str(each.id), each.before, each.after) for each in found.passed]
        return text.relocation(found.wish, passed, found.new, by_hand=by_hand, columns=columns)
    if found.is_there:
        where = ", ".join(name for name, _ in found.seats)
        return f"{found.wish.component} is there already: {found.wish.seat} ({where})"
    return text.text(
        found.wish.component, found.analyses, by_hand=by_hand, notes=found.proposal.notes, columns=columns
    )  # fmt: skip
