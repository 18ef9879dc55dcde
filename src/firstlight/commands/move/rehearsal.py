"""``firstlight move … --rehearse``: the move practised in the lab, on the user's own repo, before it is written."""

import asyncio
import contextlib
import dataclasses
import sys
from pathlib import Path

from firstlight import errors
from firstlight.cli import which_repo
from firstlight.cli.follow_run import follow_walk
from firstlight.clients import program_path
from firstlight.commands.change.ongoing_change import ChangeHost
from firstlight.commands.move import lab_rehearsal
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
from firstlight.model.move import OwnerSplit
from firstlight.model.platform import Platform

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
