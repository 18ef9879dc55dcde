"""Which half of a hybrid change comes first, and why.

What the engine applies may need what bootstrap brings, so that bootstrap mostly comes first. What goes, goes the other
way round: nothing may stand on it any more. And what Git owns since the handover is the engine's alone. Pure.
"""

import dataclasses
from collections.abc import Sequence

from firstlight import errors
from firstlight.model.change import Field, Matter, Verb
from firstlight.model.component import Side
from firstlight.model.decision import Decision, Item
from firstlight.operate.changing.bootstrap_scope import Scope, is_bootstrap

_FEW = 3


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """Which half comes first."""

    first: Side
    """BOOTSTRAP or GITOPS."""
    why: str


def of(decision: Decision, scope: Scope) -> Order:
    """The order.

    Args:
        decision: What was decided.
        scope: Bootstrap's half of it.

    Raises:
        errors.Refused: Each half stands on the other: it has to be two changes.
    """
    if scope.is_empty:
        names = ", ".join(scope.followed) or "it"
        return Order(Side.GITOPS, f"Git owns {names} since the handover: bootstrap only reads it, and follows")
    ours = [each for each in decision.items if _is_written(each, scope)]
    theirs = [each for each in decision.items if each not in ours and each.side in (Side.GITOPS, Side.HYBRID)]
    going = [each for each in ours if is_taken(each) and _is_stood_on(each, theirs)]
    coming = [each for each in ours if not is_taken(each)]
    if not going:
        return Order(Side.BOOTSTRAP, f"what the engine applies after the merge may need {_named(coming or ours)}")
    if coming and not all(is_taken(each) for each in theirs):
        if any(is_taken(each) for each in theirs):
            raise errors.Refused(
                f"{_named(going)} goes and {_named(coming)} comes in bootstrap's half, and so it is in Git's: "
                "neither half can come first",
                hint="Make two changes of it: first what comes, then what goes.",
            )
        return Order(Side.BOOTSTRAP, f"what the engine applies after the merge may need {_named(coming)}")
    return Order(Side.GITOPS, f"{_named(going)} goes: what Git has on top of it goes or changes before it")


def is_taken(item: Item) -> bool:
    """Whether an item takes something away, or switches it off."""
    change = item.change
    if change.verb is Verb.REMOVED:
        return True
    return change.verb is Verb.CHANGED and bool(change.fields) and all(map(_is_off, change.fields))


def _is_off(field: Field) -> bool:
    return field.verb is Verb.REMOVED or (field.before is True and field.after is False)


def _is_written(item: Item, scope: Scope) -> bool:
    """Whether bootstrap writes something of an item; what Git owns it only reads."""
    if not is_bootstrap(item):
        return False
    names = {each.component for each in item.touched}
    return item.side is Side.BOOTSTRAP or item.change.matter is Matter.MACHINE or bool(names & set(scope.components))


def _is_stood_on(item: Item, others: Sequence[Item]) -> bool:
    """Whether something of the other half needs what an item is about; everything needs the machines."""
    if item.change.matter is Matter.MACHINE or not item.touched:
        return True
    names = {each.component for each in item.touched}
    needing = {name for each in item.touched for name in each.dependents}
    return any(each.component in names | needing for other in others for each in other.touched)


def _named(items: Sequence[Item]) -> str:
    found = dict.fromkeys(each.change.title for each in items)
    more = len(found) - _FEW
    return ", ".join([*found][:_FEW]) + (f" and {more} more" if more > 0 else "")
