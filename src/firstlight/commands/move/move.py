"""A move from the wish to the answer: proposed, practised in the lab, written or carried out, and shown."""

import asyncio
import contextlib
import dataclasses
import sys
from pathlib import Path
from typing import Any

from firstlight import errors
from firstlight.cli import diagnostic_data, output, renderers, which_repo
from firstlight.cli.follow_run import follow_walk
from firstlight.clients import program_path
from firstlight.clients.git import Git
from firstlight.commands.change import change_start
from firstlight.commands.change.ongoing_change import ChangeHost, ChangeRequest
from firstlight.commands.decide import change_source
from firstlight.commands.move import lab_rehearsal, move_proposal, text
from firstlight.commands.move import text as move_text
from firstlight.commands.move.lab_rehearsal import RehearsedMove
from firstlight.commands.move.move_proposal import ProposedMove, ProposedRelocation
from firstlight.commands.rehearse import chart_copies, lab_kit, lab_mapping, rehearse
from firstlight.commands.rehearse.chart_copies import GivenChart
from firstlight.drawing import table
from firstlight.execute.loop import RunResult
from firstlight.execute.means import Means, RunRequest
from firstlight.execute.walk import Walk
from firstlight.execute.world import World
from firstlight.model.cluster import Cluster
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
            told = rehearsed(found, root=root, charts=charts, offline=offline, keep=keep)
        except RehearsalInterrupted as ended:
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
            print(UNREHEARSED, file=sys.stderr)
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
        lines = [*first, *apart, shown(told), *(["", last] if is_fine else [])]
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


UNREHEARSED = "it was not rehearsed: --rehearse practises it in the lab first"


class RehearsalInterrupted(Exception):
    """Somebody has ended it; what is left was said."""

    def __init__(self, code: int) -> None:
        super().__init__("interrupted")
        self.code = code


def rehearsed(
    found: ProposedMove | ProposedRelocation, *, root: Path | None, charts: Path | None, offline: bool, keep: bool
) -> tuple[RehearsedMove, ...]:
    """Rehearse a move in each of its clusters, one after the other, up to the first in which it does not work.

    Args:
        found: What would be edited.
        root: The repo, as it was typed.
        charts: A directory of charts that need not be fetched.
        offline: Fetch nothing.
        keep: Leave the lab running.

    Raises:
        Interrupted: Somebody has ended it.
        errors.Refused: A cluster cannot be rehearsed, or does not come up as it is now.
    """
    platform = which_repo.platform(root)
    given = chart_copies.read(charts) if charts else ()
    git = program_path.find("git")
    if git is None:
        raise errors.ToolError("to rehearse a move needs git", hint="Install git.")
    told: list[RehearsedMove] = []
    names = clusters_of(found)
    for number, name in enumerate(names):
        cluster = platform.cluster(name)
        if cluster is None:
            continue
        if len(names) > 1:
            print(f"rehearsed in {name}, {number + 1} of {len(names)}", file=sys.stderr)
        lab = lab_name(name)
        try:
            one = asyncio.run(
                _one(found, platform, cluster, lab=lab, git=Path(git), given=given, offline=offline, keep=keep)
            )
        except KeyboardInterrupt:
            raise RehearsalInterrupted(lab_kit.interrupted(lab, keep=keep)) from None
        told.append(one)
        if not one.is_fine:
            break
    return tuple(told)


def clusters_of(found: ProposedMove | ProposedRelocation) -> tuple[str, ...]:
    """The clusters that a move reaches, as they are declared."""
    names = (
        [each.cluster for each in found.passed]
        if isinstance(found, ProposedRelocation)
        else [each for each, _ in found.seats]
    )
    return tuple(dict.fromkeys(names))


def lab_name(cluster: str) -> str:
    """The name of the lab in which a move in a cluster is rehearsed."""
    return f"move-{lab_kit.lab_name(cluster).removeprefix('rehearsal-')}"[:32].rstrip("-")


def what(found: ProposedMove | ProposedRelocation) -> str:
    """What moves where, for people."""
    if not isinstance(found, ProposedRelocation):
        return f"move {found.wish.component} to {found.wish.seat}"
    if isinstance(found.wish, OwnerSplit):
        return f"split {found.wish.name} off {found.wish.component}"
    return f"move {found.wish.what} into {found.wish.into}"


async def _one(
    found: ProposedMove | ProposedRelocation, platform: Platform, cluster: Cluster, *, lab: str, git: Path,
    given: tuple[GivenChart, ...], offline: bool, keep: bool,
) -> RehearsedMove:  # fmt: skip
    one = await lab_kit.fresh_lab(lab)
    kit = await lab_kit.kit(one, actors=lab_mapping.actors(platform, cluster), given=given, offline=offline, keep=keep)
    try:
        played = await rehearse.rehearse(platform, cluster, RunRequest(cluster=cluster.name), kit)
        if played.told.verdict != "passed":
            raise errors.Refused(
                f"{cluster.name} does not come up in the lab as the repo is now, so that no move can be rehearsed",
                hint=f"See why: firstlight rehearse {cluster.name}",
            )
        ground = lab_rehearsal.MoveRehearsalContext(lab=one, played=played, git=git, kinds=kit.kinds)
        # Standard output is for the report alone.
        with contextlib.redirect_stdout(sys.stderr):
            told = await lab_rehearsal.rehearse(found.proposal, what(found), ground, host=_host, say=kit.say)
        return dataclasses.replace(told, is_kept=keep)
    finally:
        await lab_kit.clean_up(one, keep=keep)


def _host(means: Means) -> ChangeHost:
    async def walk(one: Walk, world: World) -> RunResult:
        return await follow_walk(one, world, means, yes=True, form="text")

    return ChangeHost(say=lambda text: print(f"  git      {text}", file=sys.stderr, flush=True), walk=walk)


def shown(told: tuple[RehearsedMove, ...]) -> str:
    """The report of all of them."""
    return "\n\n".join(move_text.rehearsal_text(each, columns=table.terminal_columns()) for each in told)
