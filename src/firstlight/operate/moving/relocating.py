"""Objects that pass from one Kustomization or Application to another: the edits, proven by reading the repo again."""

import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.model.component import ObjectId
from firstlight.model.move import Proposal, Relocation, Split
from firstlight.model.plan import Problem, Severity
from firstlight.model.platform import Platform
from firstlight.operate.auditing.fixing import Patch
from firstlight.operate.moving import guarding, owned_objects, patching
from firstlight.ownership import prune_guards
from firstlight.plan import build
from firstlight.plan import moving as analysing
from firstlight.repo import platform as platforms
from firstlight.repo.moving import relocating, splitting
from firstlight.repo.work_tree import WorkTree


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """One object that gets another owner."""

    cluster: str
    id: ObjectId
    before: str
    """The component that has it."""
    after: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class Relocated:
    """What would pass."""

    wish: Relocation | Split
    tree: WorkTree = dataclasses.field(repr=False)
    proposal: Proposal
    patch: Patch = dataclasses.field(repr=False)
    passed: tuple[Passed, ...] = ()
    new: tuple[Problem, ...] = ()
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


def propose(tree: WorkTree, wish: Relocation | Split) -> Relocated:
    """Everything about it that the repo alone tells; nothing is written.

    Raises:
        errors.UsageError: There is no such component, file or owner.
        errors.Refused: It is there already, or objects would not be what they are.
    """
    before = platforms.read_tree(tree)
    if before.is_misdeclared:
        raise errors.Refused("firstlight.yaml is wrong", hint="See: firstlight inventory")
    if isinstance(wish, Split):
        proposal = splitting.propose(before, tree, wish)
    else:
        proposal = relocating.propose(before, tree, wish)
    patch = patching.patched(tree, proposal, what=wish.what)
    if proposal.by_hand:
        return Relocated(wish=wish, tree=tree, proposal=proposal, patch=patch)
    after = platforms.read_tree(patch.laid_over(tree))
    wrong = [*owned_objects.differences(before, after)]
    passed = tuple(
        Passed(cluster=cluster.name, id=id, before=names[0], after=names[1])
        for cluster in after.clusters
        for id, names in owned_objects.relocated(before, after, cluster.name).items()
    )
    if wrong or not passed:
        shown = "\n".join(f"  {each}" for each in wrong[:5])
        raise errors.Refused(
            f"{wish.into} would not apply the same objects; nothing was written\n{shown}".rstrip(),
            hint="Look at namespace, patches, labels and variables of both; then write it by hand.",
        )
    _check_guards(after, passed)
    new: list[Problem] = []
    for cluster in after.clusters:
        old = before.cluster(cluster.name)
        first = build.build(before, old) if old is not None else None
        last = build.build(after, cluster)
        new += analysing.beyond(last.problems, first.problems if first is not None else ())
    return Relocated(wish=wish, tree=tree, proposal=proposal, patch=patch, passed=passed, new=tuple(new))


def _check_guards(platform: Platform, passed: Sequence[Passed]) -> None:
    """See that whatever passes can be guarded against pruning while it does.

    Raises:
        errors.Refused: Something has the annotation already, with something else to say.
    """
    for each in passed:
        cluster = platform.cluster(each.cluster)
        guard = prune_guards.of(cluster.engine if cluster is not None else None)
        value = owned_objects.stated(platform, each.cluster).get(each.id) or {}
        if guard.is_barred(value):
            raise guarding.barred(value, guard)
