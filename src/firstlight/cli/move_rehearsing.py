"""``firstlight move … --rehearse``: the move practised in the lab, on the user's own repo, before it is written."""

import asyncio
import contextlib
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from firstlight import errors
from firstlight.cli import which_repo
from firstlight.clients import program_path

if TYPE_CHECKING:
    from firstlight.execute.loop import Result
    from firstlight.execute.world import World
    from firstlight.model.cluster import Cluster
    from firstlight.model.move_rehearsal import RehearsedMove
    from firstlight.model.platform import Platform
    from firstlight.operate.changing.wishes import Host
    from firstlight.operate.means import Means
    from firstlight.operate.moving.proposing import Move
    from firstlight.operate.moving.relocating import Relocated
    from firstlight.operate.rehearsal.charts_at_hand import AtHand
    from firstlight.operate.walk import Walk

UNREHEARSED = "it was not rehearsed: --rehearse practises it in the lab first"


class Interrupted(Exception):
    """Somebody has ended it; what is left was said."""

    def __init__(self, code: int) -> None:
        super().__init__("interrupted")
        self.code = code


def rehearsed(
    found: "Move | Relocated", *, root: Path | None, charts: Path | None, offline: bool, keep: bool
) -> tuple["RehearsedMove", ...]:
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
    from firstlight.cli import rehearse
    from firstlight.operate.rehearsal import charts_at_hand

    platform = which_repo.platform(root)
    given = charts_at_hand.read(charts) if charts else ()
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
            raise Interrupted(rehearse.interrupted(lab, keep=keep)) from None
        told.append(one)
        if not one.is_fine:
            break
    return tuple(told)


def clusters_of(found: "Move | Relocated") -> tuple[str, ...]:
    """The clusters that a move reaches, as they are declared."""
    from firstlight.operate.moving.relocating import Relocated

    names = (
        [each.cluster for each in found.passed] if isinstance(found, Relocated) else [each for each, _ in found.seats]
    )
    return tuple(dict.fromkeys(names))


def lab_name(cluster: str) -> str:
    """The name of the lab in which a move in a cluster is rehearsed."""
    from firstlight.cli import rehearse

    return f"move-{rehearse.lab_name(cluster).removeprefix('rehearsal-')}"[:32].rstrip("-")


def what(found: "Move | Relocated") -> str:
    """What moves where, for people."""
    from firstlight.model.move import Split
    from firstlight.operate.moving.relocating import Relocated

    if not isinstance(found, Relocated):
        return f"move {found.wish.component} to {found.wish.seat}"
    if isinstance(found.wish, Split):
        return f"split {found.wish.name} off {found.wish.component}"
    return f"move {found.wish.what} into {found.wish.into}"


async def _one(
    found: "Move | Relocated", platform: "Platform", cluster: "Cluster", *, lab: str, git: Path,
    given: "tuple[AtHand, ...]", offline: bool, keep: bool,
) -> "RehearsedMove":  # fmt: skip
    from firstlight.cli import rehearse
    from firstlight.operate.means import Wishes
    from firstlight.operate.moving import rehearsing as moves
    from firstlight.operate.rehearsal import mapping, rehearsing

    one = await rehearse.fresh_lab(lab)
    kit = await rehearse.kit(one, actors=mapping.actors(platform, cluster), given=given, offline=offline, keep=keep)
    try:
        played = await rehearsing.rehearse(platform, cluster, Wishes(cluster=cluster.name), kit)
        if played.told.verdict != "passed":
            raise errors.Refused(
                f"{cluster.name} does not come up in the lab as the repo is now, so that no move can be rehearsed",
                hint=f"See why: firstlight rehearse {cluster.name}",
            )
        ground = moves.Ground(lab=one, played=played, git=git, kinds=kit.kinds)
        # Standard output is for the report alone.
        with contextlib.redirect_stdout(sys.stderr):
            told = await moves.rehearse(found.proposal, what(found), ground, host=_host, say=kit.say)
        return dataclasses.replace(told, is_kept=keep)
    finally:
        await rehearse.clean_up(one, keep=keep)


def _host(means: "Means") -> "Host":
    from firstlight.operate.changing.wishes import Host

    async def walk(one: "Walk", world: "World") -> "Result":
        from firstlight.cli.walked import walked

        return await walked(one, world, means, yes=True, form="text")

    return Host(say=lambda text: print(f"  git      {text}", file=sys.stderr, flush=True), walk=walk)


def shown(told: tuple["RehearsedMove", ...]) -> str:
    """The report of all of them."""
    from firstlight.report import move_rehearsal as report
    from firstlight.report import table

    return "\n\n".join(report.text(each, columns=table.terminal_columns()) for each in told)
