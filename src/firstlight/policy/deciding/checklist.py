"""The checks that a change needs, before and after it; none is run here."""

from collections.abc import Sequence

from firstlight.model.component import Side
from firstlight.model.decision import Check, Item, Moment
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.procedure_form import CheckForm


def checks(items: Sequence[Item], book: Book) -> tuple[Check, ...]:
    """The usual ones of its sides, and those that its rules name; what is before comes first."""
    sides = {half for each in items for half in halves(each.side)}
    named = {name for item in items for ruling in item.rulings for name in ruling.checks}
    wanted = [each for each in book.checks if each.id in named or _is_usual(each, sides)]
    return tuple(
        Check(id=each.id, moment=each.moment, title=each.title, says=each.says)
        for moment in Moment
        for each in wanted
        if each.moment == moment
    )


def halves(side: Side | None) -> tuple[Side, ...]:
    """The sides that a side is made of."""
    if side is None:
        return ()
    return (Side.BOOTSTRAP, Side.GITOPS) if side is Side.HYBRID else (side,)


def _is_usual(check: CheckForm, sides: set[Side]) -> bool:
    if not sides or not (check.usual or check.sides):
        return False
    return not check.sides or bool(sides & {Side(each) for each in check.sides})
