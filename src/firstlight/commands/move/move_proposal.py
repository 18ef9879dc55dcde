"""The edits of a move, spliced into files."""

import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.commands.change.moves import move_path, repo_comparison
from firstlight.engines import engine_directives
from firstlight.model.component import ObjectId
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.finding import Finding
from firstlight.model.move import MoveAnalysis, MoveProposal, MoveRequest, OwnerSplit, Relocation, Seat
from firstlight.model.place import Place
from firstlight.model.platform import Platform
from firstlight.model.rendition import Rendition
from firstlight.plan import build, move_analysis
from firstlight.render import chart_values
from firstlight.render.rendered_diff import Opener, PlatformRevision, renditions_of
from firstlight.repo import file_patch, platform_reader
from firstlight.repo.file_patch import FilePatch
from firstlight.repo.move_edits import hybrid_split, move_proposal, object_relocation
from firstlight.repo.work_tree import WorkTree


def patched(tree: WorkTree, proposal: MoveProposal, *, what: str) -> FilePatch:
    """What the edits make of files; all of them or none.

    Args:
        tree: The repo.
        proposal: The edits.
        what: What moves.

    Raises:
        errors.Refused: One cannot be made without touching more.
    """
    if not proposal.edits:
        return FilePatch(before={}, after={}, fixed=())
    finding = Finding(
        code="move", severity=Severity.NOTE, message=f"{what} moves", places=(Place(proposal.edits[0].path),),
        edits=proposal.edits,
    )  # fmt: skip
    made = file_patch.patch(tree, [finding])
    if made.refused:
        lines = "\n".join(f"  {each.path}: {each.verb} {'.'.join(map(str, each.steps))}" for each in proposal.edits)
        raise errors.Refused(
            f"the repo cannot be edited without touching more than is meant: {made.refused[0][1]}\n{lines}",
            hint="Write it by hand, and run it again.",
        )
    return made


# A move as it would be: the edits of the repo, proven by reading it again, and what a cold start would make of it.


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProposedMove:
    """A move that could be made."""

    wish: MoveRequest
    tree: WorkTree = dataclasses.field(repr=False)
    before: Platform = dataclasses.field(repr=False)
    after: Platform = dataclasses.field(repr=False)
    """As the edited repo is read."""
    proposal: MoveProposal
    patch: FilePatch = dataclasses.field(repr=False)
    seats: tuple[tuple[str, Seat], ...]
    """Where it is now, by cluster."""
    analyses: tuple[MoveAnalysis, ...] = ()
    refusal: str = ""
    """Why it must not be written; empty if it may."""
    hint: str = ""

    @property
    def is_there(self) -> bool:
        """Whether the repo says it already."""
        return not self.patch.after and not self.proposal.by_hand


async def propose_move(tree: WorkTree, wish: MoveRequest, *, open_renderer: Opener | None = None) -> ProposedMove:
    """Everything about a move that the repo alone tells; nothing is written.

    Args:
        tree: The repo.
        wish: What was asked for.
        open_renderer: How components are rendered, which finds more deadlocks; without it they are not.

    Raises:
        errors.UsageError: There is no such component.
        errors.Refused: It cannot be there, or firstlight.yaml is wrong.
    """
    before = platform_reader.read_tree(tree)
    if before.is_misdeclared:
        raise errors.Refused("firstlight.yaml is wrong", hint="See: firstlight inventory")
    components = move_proposal.moved_components(before, wish)
    seats = tuple((each.cluster, move_analysis.seat_of(each)) for each in components)
    if all(seat is wish.seat for _, seat in seats) and not wish.why:
        nothing = FilePatch(before={}, after={}, fixed=())
        return ProposedMove(
            wish=wish, tree=tree, before=before, after=before, proposal=MoveProposal(), patch=nothing, seats=seats
        )  # fmt: skip
    proposal = move_proposal.propose_move(
        before, tree, wish, merge=lambda chart: chart_values.of_files(chart.values, tree.bytes)
    )  # fmt: skip
    patch = patched(tree, proposal, what=wish.component)
    laid = patch.laid_over(tree)
    after = platform_reader.read_tree(laid) if patch.after else before
    if proposal.by_hand:
        after = _imagined(after, wish)
    move = ProposedMove(
        wish=wish, tree=tree, before=before, after=after, proposal=proposal, patch=patch, seats=seats
    )  # fmt: skip
    if not proposal.by_hand:
        repo_comparison.check_move(before, after, wish, eased=proposal.eased)
    analyses = await _analyses(
        move, PlatformRevision(tree=laid, is_checked_out=not patch.after, known=after), open_renderer
    )
    refusal, hint = _refusal(wish, seats, analyses)
    return dataclasses.replace(move, analyses=analyses, refusal=refusal, hint=hint)


def _imagined(platform: Platform, wish: MoveRequest) -> Platform:
    """The platform as it would be once a person has written what cannot be edited."""
    mine = move_proposal.moved_components(platform, wish)
    changed = [move_analysis.imagined(each, wish) if each in mine else each for each in platform.components]
    return dataclasses.replace(platform, components=tuple(changed))


async def _analyses(
    move: ProposedMove, after: PlatformRevision, open_renderer: Opener | None
) -> tuple[MoveAnalysis, ...]:
    found = []
    names = [name for name, _ in move.seats]
    then = await _renditions(after, names, open_renderer, word="after")
    half = PlatformRevision(tree=move.tree, is_checked_out=True, known=move.before)
    now = await _renditions(half, names, open_renderer, word="before")
    for name, seat in move.seats:
        cluster, other = move.before.cluster(name), move.after.cluster(name)
        components = move.after.components_of(name)
        mine = next((each for each in components if each.name == move.wish.component), None)
        if cluster is None or other is None or mine is None:
            continue
        first = build.build(move.before, cluster, renditions=now)
        last = build.build(move.after, other, renditions=then)
        found.append(move_analysis.analyse(mine, components, seat=seat, before=first, after=last))
    return tuple(found)


async def _renditions(
    half: PlatformRevision, clusters: Sequence[str], open_renderer: Opener | None, *, word: str
) -> tuple[Rendition, ...]:
    if open_renderer is None:
        return ()
    names = [(each.cluster, each.name) for each in half.platform.components if each.cluster in clusters]
    return await renditions_of(half, names, word, open_renderer)


def _refusal(wish: MoveRequest, seats: Sequence[tuple[str, Seat]], analyses: Sequence[MoveAnalysis]) -> tuple[str, str]:
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


# Objects that pass from one Kustomization or Application to another: the edits, proven by reading the repo again.


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PassedObject:
    """One object that gets another owner."""

    cluster: str
    id: ObjectId
    before: str
    """The component that has it."""
    after: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProposedRelocation:
    """What would pass."""

    wish: Relocation | OwnerSplit
    tree: WorkTree = dataclasses.field(repr=False)
    proposal: MoveProposal
    patch: FilePatch = dataclasses.field(repr=False)
    passed: tuple[PassedObject, ...] = ()
    new: tuple[Diagnostic, ...] = ()
    """What would stand in the way of a cold start that does not now."""

    @property
    def refusal(self) -> str:
        """Why it must not be written; empty if it may."""
        is_deadlocked = any(each.severity == Severity.ERROR for each in self.new)
        return "a cold start would not come to its end any more" if is_deadlocked else ""

    @property
    def hint(self) -> str:
        """What to do instead."""
        return "See the way out of each above." if self.refusal else ""


def propose_relocation(tree: WorkTree, wish: Relocation | OwnerSplit) -> ProposedRelocation:
    """Everything about it that the repo alone tells; nothing is written.

    Raises:
        errors.UsageError: There is no such component, file or owner.
        errors.Refused: It is there already, or objects would not be what they are.
    """
    before = platform_reader.read_tree(tree)
    if before.is_misdeclared:
        raise errors.Refused("firstlight.yaml is wrong", hint="See: firstlight inventory")
    if isinstance(wish, OwnerSplit):
        proposal = hybrid_split.propose_split(before, tree, wish)
    else:
        proposal = object_relocation.propose_relocation(before, tree, wish)
    patch = patched(tree, proposal, what=wish.what)
    if proposal.by_hand:
        return ProposedRelocation(wish=wish, tree=tree, proposal=proposal, patch=patch)
    after = platform_reader.read_tree(patch.laid_over(tree))
    wrong = [*repo_comparison.relocation_differences(before, after)]
    passed = tuple(
        PassedObject(cluster=cluster.name, id=id, before=names[0], after=names[1])
        for cluster in after.clusters
        for id, names in repo_comparison.relocated(before, after, cluster.name).items()
    )
    if wrong or not passed:
        shown = "\n".join(f"  {each}" for each in wrong[:5])
        raise errors.Refused(
            f"{wish.into} would not apply the same objects; nothing was written\n{shown}".rstrip(),
            hint="Look at namespace, patches, labels and variables of both; then write it by hand.",
        )
    _check_guards(after, passed)
    new: list[Diagnostic] = []
    for cluster in after.clusters:
        old = before.cluster(cluster.name)
        first = build.build(before, old) if old is not None else None
        last = build.build(after, cluster)
        new += move_analysis.beyond(last.problems, first.problems if first is not None else ())
    return ProposedRelocation(wish=wish, tree=tree, proposal=proposal, patch=patch, passed=passed, new=tuple(new))


def _check_guards(platform: Platform, passed: Sequence[PassedObject]) -> None:
    """See that whatever passes can be guarded against pruning while it does.

    Raises:
        errors.Refused: Something has the annotation already, with something else to say.
    """
    for each in passed:
        cluster = platform.cluster(each.cluster)
        guard = engine_directives.prune_guard(cluster.engine if cluster is not None else None)
        value = repo_comparison.stated(platform, each.cluster).get(each.id) or {}
        if guard.is_barred(value):
            raise move_path.barred(value, guard)
