"""A wish made a proposal: what changes in firstlight.yaml, in what the engine follows, and in what bootstrap runs."""

from firstlight import errors
from firstlight.document import mistakes
from firstlight.model.component import Component, Form, Side
from firstlight.model.move import Proposal, Seat, Wish
from firstlight.model.platform import Platform
from firstlight.plan import moving
from firstlight.repo.moving import applications, bootstrap_files, declaring, engine_files, kept_releases, resting
from firstlight.repo.moving.engine_files import Merge
from firstlight.repo.work_tree import WorkTree


def propose(platform: Platform, tree: WorkTree, wish: Wish, *, merge: Merge) -> Proposal:
    """How the repo comes to say what is wished.

    Args:
        platform: What the repo says.
        tree: Its files.
        wish: Where a component is to be.
        merge: Knows the values of charts, for what is written anew.

    Raises:
        errors.UsageError: No such component, or none in that cluster.
        errors.Refused: It cannot be there.
    """
    mine = components(platform, wish)
    for each in mine:
        _check(platform, tree, each, wish)
    parts = [declaring.propose(platform, tree, wish, mine)]
    parts += [
        resting.propose(platform, tree, each, is_resting=wish.seat is Seat.KEPT)
        for each in mine
        if Seat.KEPT in (wish.seat, moving.seat_of(each))  # who rests for another reason goes on resting
    ]
    bare = [each for each in mine if not each.halves[1]]
    if bare and wish.seat is not Seat.KEPT:
        brought = engine_files.propose(platform, tree, bare, merge=merge, home=wish.home)
        if brought.by_hand:
            return brought  # what Git does not have stays in bootstrap
        parts.append(brought)
    if wish.seat is Seat.GITOPS:
        parts += [bootstrap_files.propose(tree, each) for each in mine]
    return Proposal(
        edits=tuple({repr(edit): edit for part in parts for edit in part.edits}.values()),
        by_hand=tuple(dict.fromkeys(each for part in parts for each in part.by_hand)),
        notes=tuple(dict.fromkeys(each for part in parts for each in part.notes)),
        eased=tuple(dict.fromkeys(each for part in parts for each in part.eased)),
    )


def components(platform: Platform, wish: Wish) -> tuple[Component, ...]:
    """The component that is meant, in each cluster that is meant.

    Raises:
        errors.UsageError: There is none.
    """
    found = [each for each in platform.components if each.name == wish.component]
    mine = tuple(each for each in found if not wish.cluster or each.cluster == wish.cluster)
    if mine:
        return mine
    if found:
        names = ", ".join(each.cluster for each in found)
        raise errors.UsageError(f"{wish.component} is not in {wish.cluster}", hint=f"It is in {names}.")
    known = sorted({each.name for each in platform.components})
    raise errors.UsageError(
        f"there is no component {wish.component}",
        hint=mistakes.near(wish.component, known) or "All of them: firstlight inventory",
    )


def _check(platform: Platform, tree: WorkTree, component: Component, wish: Wish) -> None:
    """See that it can be where it is wished.

    Raises:
        errors.Refused: It cannot.
    """
    children = [each.name for each in platform.components_of(component.cluster) if each.parent == component.name]
    if wish.seat is not Seat.GITOPS and children:
        raise errors.Refused(
            f"{component.name} brings {_some(children)}: it says what the engine has, and is no part of bootstrap",
            hint=f"Move what it brings: firstlight move {children[0]} --to bootstrap",
        )
    engine = [each for each in component.origins if each.side == Side.GITOPS]
    if Seat.KEPT in (wish.seat, moving.seat_of(component)):
        applications.check(tree, component, is_kept=wish.seat is Seat.KEPT)
    if wish.seat is not Seat.KEPT:
        return
    for each in engine:
        if each.form == Form.HELM_RELEASE:
            kept_releases.check(component, each, wish)
    if not engine:
        raise errors.Refused(
            f"bootstrap has {component.name} alone already, and nothing in Git brings it",
            hint="firstlight inventory --component shows where it is said.",
        )


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
