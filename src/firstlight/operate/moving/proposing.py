"""A move as it would be: the edits of the repo, proven by reading it again, and what a cold start would make of it."""

import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.model.move import Analysis, Proposal, Seat, Wish
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.operate.auditing.fixing import Patch
from firstlight.operate.deciding.renditions import Half, Opener, renditions_of
from firstlight.operate.moving import comparing, patching
from firstlight.plan import build
from firstlight.plan import moving as analysing
from firstlight.render import values
from firstlight.repo import platform as platforms
from firstlight.repo.moving import proposing
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, kw_only=True)
class Move:
    """A move that could be made."""

    wish: Wish
    tree: WorkTree = dataclasses.field(repr=False)
    before: Platform = dataclasses.field(repr=False)
    after: Platform = dataclasses.field(repr=False)
    """As the edited repo is read."""
    proposal: Proposal
    patch: Patch = dataclasses.field(repr=False)
    seats: tuple[tuple[str, Seat], ...]
    """Where it is now, by cluster."""
    analyses: tuple[Analysis, ...] = ()
    refusal: str = ""
    """Why it must not be written; empty if it may."""
    hint: str = ""

    @property
    def is_there(self) -> bool:
        """Whether the repo says it already."""
        return not self.patch.after and not self.proposal.by_hand


async def propose(tree: WorkTree, wish: Wish, *, open_renderer: Opener | None = None) -> Move:
    """Everything about a move that the repo alone tells; nothing is written.

    Args:
        tree: The repo.
        wish: What was asked for.
        open_renderer: How components are rendered, which finds more deadlocks; without it they are not.

    Raises:
        errors.UsageError: There is no such component.
        errors.Refused: It cannot be there, or firstlight.yaml is wrong.
    """
    before = platforms.read_tree(tree)
    if before.is_misdeclared:
        raise errors.Refused("firstlight.yaml is wrong", hint="See: firstlight inventory")
    components = proposing.components(before, wish)
    seats = tuple((each.cluster, analysing.seat_of(each)) for each in components)
    if all(seat is wish.seat for _, seat in seats) and not wish.why:
        nothing = Patch(before={}, after={}, fixed=())
        return Move(
            wish=wish, tree=tree, before=before, after=before, proposal=Proposal(), patch=nothing, seats=seats
        )  # fmt: skip
    proposal = proposing.propose(
        before, tree, wish, merge=lambda chart: values.of_files(chart.values, tree.bytes)
    )  # fmt: skip
    patch = patching.patched(tree, proposal, what=wish.component)
    laid = patch.laid_over(tree)
    after = platforms.read_tree(laid) if patch.after else before
    if proposal.by_hand:
        after = _imagined(after, wish)
    move = Move(
        wish=wish, tree=tree, before=before, after=after, proposal=proposal, patch=patch, seats=seats
    )  # fmt: skip
    if not proposal.by_hand:
        comparing.check(before, after, wish, eased=proposal.eased)
    analyses = await _analyses(move, Half(tree=laid, is_checked_out=not patch.after, known=after), open_renderer)
    refusal, hint = _refusal(wish, seats, analyses)
    return dataclasses.replace(move, analyses=analyses, refusal=refusal, hint=hint)


def _imagined(platform: Platform, wish: Wish) -> Platform:
    """The platform as it would be once a person has written what cannot be edited."""
    mine = proposing.components(platform, wish)
    changed = [analysing.imagined(each, wish) if each in mine else each for each in platform.components]
    return dataclasses.replace(platform, components=tuple(changed))


async def _analyses(move: Move, after: Half, open_renderer: Opener | None) -> tuple[Analysis, ...]:
    found = []
    names = [name for name, _ in move.seats]
    then = await _renditions(after, names, open_renderer, word="after")
    half = Half(tree=move.tree, is_checked_out=True, known=move.before)
    now = await _renditions(half, names, open_renderer, word="before")
    for name, seat in move.seats:
        cluster, other = move.before.cluster(name), move.after.cluster(name)
        components = move.after.components_of(name)
        mine = next((each for each in components if each.name == move.wish.component), None)
        if cluster is None or other is None or mine is None:
            continue
        first = build.build(move.before, cluster, renditions=now)
        last = build.build(move.after, other, renditions=then)
        found.append(analysing.analyse(mine, components, seat=seat, before=first, after=last))
    return tuple(found)


async def _renditions(
    half: Half, clusters: Sequence[str], open_renderer: Opener | None, *, word: str
) -> tuple[Rendition, ...]:
    if open_renderer is None:
        return ()
    names = [(each.cluster, each.name) for each in half.platform.components if each.cluster in clusters]
    return await renditions_of(half, names, word, open_renderer)


def _refusal(wish: Wish, seats: Sequence[tuple[str, Seat]], analyses: Sequence[Analysis]) -> tuple[str, str]:
    """Why it must not be, and what to do instead."""
    if wish.seat is not Seat.GITOPS and not wish.why and any(seat is Seat.GITOPS for _, seat in seats):
        return (
            f"bootstrap should stay small: say why {wish.component} must be there before the engine",
            '--why "REASON"; it is kept in firstlight.yaml, and shown wherever somebody may ask.',
        )
    if any(each.is_deadlocked for each in analyses):
        where = ", ".join(each.cluster for each in analyses if each.is_deadlocked)
        hint = "See the way out of each above."
        if wish.seat is Seat.GITOPS and any(seat is Seat.KEPT for _, seat in seats):
            hint = f"To hand it over and keep it in bootstrap: firstlight move {wish.component} --to bootstrap"
        return f"a cold start of {where} would not come to its end any more", hint
    return "", ""
