"""Which procedures a change needs, and in which clusters: that of its rule, else the usual ones of its side.

A cluster that is made, rebuilt or taken down is not given single changes besides.
"""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import CheckForm
from firstlight.commands.decide.touched import DecisionContext
from firstlight.model.change import ChangedField, Matter
from firstlight.model.component import Side
from firstlight.model.decision import ChangeCheck, DecisionItem, Moment

USUAL = "usual"
"""What stands in ``like`` for the procedure that a change would have otherwise."""
_NEW, _GONE = "cluster-new", "cluster-gone"
_OF_MACHINES = ("node-add", "node-remove")
"""Procedures of an entry of a list: what else stands in it comes and goes with the machine."""
Needed = Mapping[tuple[Side | None, str], Mapping[str, None]]
"""Clusters by the side and the name of a procedure."""


def needed(items: Sequence[DecisionItem], *, scene: DecisionContext, book: RuleBook) -> list[Needed]:
    """The procedures of each item, with the clusters that they are for."""
    whole = _whole(items, scene, book)
    return [_of(each, whole, book) for each in items]


def _of(item: DecisionItem, whole: Mapping[str, str], book: RuleBook) -> Needed:
    entries = {_entry(each.field): each.procedure for each in item.rulings if each.procedure in _OF_MACHINES}
    found: dict[tuple[Side | None, str], dict[str, None]] = {}
    for ruling in item.rulings:
        reached, entry = _reached(item, ruling.field), _entry(ruling.field)
        own = entries.get(entry, ruling.procedure) if entry else ruling.procedure
        for name in procedure_names(own, book, side=ruling.side, matter=item.change.matter):
            if not reached:
                found.setdefault((ruling.side, name), {})
            for cluster in reached:
                over = whole.get(cluster, "")
                chosen = over if over and name in book.procedures[over].covers else name
                found.setdefault((ruling.side, chosen), {})[cluster] = None
    return found


def procedure_names(own: str, book: RuleBook, *, side: Side | None, matter: Matter) -> Iterator[str]:
    """The procedures of a rule: its own, else the usual ones of its side."""
    if own and own != USUAL:
        usual = [own]
    elif side is None:
        usual = ["none"]
    elif side is Side.HYBRID and "hybrid" in book.procedures:
        usual = ["hybrid"]
    elif matter is Matter.MACHINE and "machine" in book.procedures:
        usual = ["machine", *(["gitops"] if side is Side.HYBRID else [])]
    else:
        usual = list(halves(side))
    yield from (each for each in usual if each in book.procedures)


def within_clusters(item: DecisionItem, clusters: Mapping[str, None]) -> DecisionItem:
    """An item as far as it reaches these clusters."""
    touched = tuple(each for each in item.touched if each.cluster in clusters)
    return dataclasses.replace(item, clusters=tuple(clusters), touched=touched) if clusters else item


def _whole(items: Sequence[DecisionItem], scene: DecisionContext, book: RuleBook) -> dict[str, str]:
    """The procedure that takes the place of others in a cluster, by its name."""
    found: dict[str, str] = {}
    for item in items:
        for each in item.rulings:
            if each.procedure in book.procedures and book.procedures[each.procedure].covers:
                found.update(dict.fromkeys(_reached(item, each.field), each.procedure))
    if scene.before is not None:
        now, once = ({each.name for each in one.platform.clusters} for one in (scene.after, scene.before))
        found.update(dict.fromkeys(now - once if once else (), _NEW) if _NEW in book.procedures else {})
        found.update(dict.fromkeys(once - now if now else (), _GONE) if _GONE in book.procedures else {})
    return found


def _entry(field: ChangedField | None) -> tuple[str, ...]:
    """The way to the entry of a list that a field stands in; empty where it stands in none."""
    steps = field.steps if field is not None else ()
    last = max((at for at, each in enumerate(steps) if each.startswith("[")), default=-1)
    return steps[: last + 1]


def _reached(item: DecisionItem, field: ChangedField | None) -> Sequence[str]:
    """The clusters that a ruling is about: of a field of one cluster in firstlight.yaml that one, else all."""
    steps = field.steps if field is not None and item.change.matter is Matter.PLATFORM else ()
    named = steps[1] if len(steps) > 1 and steps[0] == "clusters" else ""
    return (named,) if named in item.clusters else item.clusters


# The checks that a change needs, before and after it; none is run here.


def needed_checks(items: Sequence[DecisionItem], book: RuleBook) -> tuple[ChangeCheck, ...]:
    """The usual ones of its sides, and those that its rules name; what is before comes first."""
    sides = {half for each in items for half in halves(each.side)}
    named = {name for item in items for ruling in item.rulings for name in ruling.checks}
    wanted = [each for each in book.checks if each.id in named or _is_usual(each, sides)]
    return tuple(
        ChangeCheck(id=each.id, moment=each.moment, title=each.title, says=each.says)
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
