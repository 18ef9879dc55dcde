"""The needs of a plan without those that follow from others: what people want to see, in text and in pictures."""

from collections.abc import Mapping, Sequence

from firstlight.model.plan import Plan


def direct_needs(plan: Plan) -> dict[str, tuple[str, ...]]:
    """For each step what it needs directly; what one of these needs already is left out."""
    order = [each.id for each in plan.order()]
    stuck = [each.id for each in plan.stuck()]
    needs = {each.id: [need.step for need in each.needs if need.step in plan.by_id] for each in plan.steps}
    return {**reduced(order, {name: needs[name] for name in order}), **{name: tuple(needs[name]) for name in stuck}}


def reduced(order: Sequence[str], needs: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The transitive reduction of a graph without cycles.

    Args:
        order: All names, each after everything that it needs.
        needs: What each needs.
    """
    number = {name: index for index, name in enumerate(order)}
    reach: dict[str, int] = {}  # as bits: a set of a thousand names is one number
    found: dict[str, tuple[str, ...]] = {}
    for name in order:
        kept: list[str] = []
        covered = 0
        for need in sorted(dict.fromkeys(needs.get(name, ())), key=number.__getitem__, reverse=True):
            if not covered >> number[need] & 1:
                kept.append(need)
                covered |= reach[need]
        reach[name] = covered | 1 << number[name]
        found[name] = tuple(need for need in dict.fromkeys(needs.get(name, ())) if need in kept)
    return found
