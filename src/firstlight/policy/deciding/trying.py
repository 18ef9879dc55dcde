"""Rules and factors tried on the fields of one change."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from firstlight.model.change import Change, Field, Verb
from firstlight.model.component import Component
from firstlight.model.decision import Factor, Risk
from firstlight.policy.deciding import patterns
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.form import Factor as FactorForm
from firstlight.policy.deciding.form import Rule
from firstlight.policy.deciding.matching import Condition, Thing

_Left = tuple[list[tuple[Rule, tuple[Condition, ...]]], list[tuple[FactorForm, tuple[Condition, ...]]]]


class _Seen(NamedTuple):
    """All that rules see of a component."""

    names: tuple[str, ...]
    facts: tuple[object, ...]


class Trials:
    """The rules and factors that one change leaves to be tried, once all but the fields was looked at.

    Components of several clusters are often the same to rules, so that answers are kept by what rules see of them.
    """

    def __init__(self, change: Change, book: Book) -> None:
        self._change, self._book = change, book
        self._things: dict[int, tuple[_Seen, Thing]] = {}
        self._known: dict[_Seen, _Left] = {}
        self._rules: dict[tuple[_Seen, int], Rule | None] = {}
        self._factors: dict[tuple[_Seen, int], tuple[Factor, ...]] = {}

    def rule(self, field: Field | None, component: Component | None) -> Rule | None:
        """The first rule that fits."""
        seen, left = self._left(component)
        key = (seen, id(field))
        if key not in self._rules:
            way, values = _ways(field, seen)
            fitting = (rule for rule, conditions in left[0] if self._fits(conditions, field, way, values))
            self._rules[key] = next(fitting, None)
        return self._rules[key]

    def factors(self, field: Field | None, component: Component | None) -> tuple[Factor, ...]:
        """All factors that fit a field; of an object as a whole those of each of its leaves, too."""
        seen, left = self._left(component)
        key = (seen, id(field))
        if key not in self._factors:
            self._factors[key] = tuple(self._fitting_factors(field, seen, left))
        return self._factors[key]

    def _fitting_factors(self, field: Field | None, seen: _Seen, left: _Left) -> Iterator[Factor]:
        if self._change.verb is Verb.MOVED:  # it is what it was
            return
        untried = {factor.id: (factor, conditions) for factor, conditions in left[1]}
        for each in (field,) if field is not None else (None, *self._change.fields):
            way, values = _ways(each, seen)
            fitting = [factor for factor, conditions in untried.values() if self._fits(conditions, each, way, values)]
            for factor in fitting:
                del untried[factor.id]
                yield Factor(id=factor.id, risk=Risk(factor.risk), why=factor.why)

    def _left(self, component: Component | None) -> tuple[_Seen, _Left]:
        if id(component) not in self._things:
            thing = Thing.of(self._change, component)
            facts = (component.role, component.phase, component.owner) if component is not None else ()
            self._things[id(component)] = (_Seen(thing.names, facts), thing)
        seen, thing = self._things[id(component)]
        if seen not in self._known:
            rules, factors = self._book.rule_conditions, self._book.factor_conditions
            self._known[seen] = (
                [(each, left) for each, all_of in rules if (left := _fitting(all_of, thing))],
                [(each, left) for each, all_of in factors if (left := _fitting(all_of, thing))],
            )
        return seen, self._known[seen]

    def _fits(self, conditions: Iterable[Condition], field: Field | None, way: str, values: Sequence[str]) -> bool:
        return any(each.fits_field(self._change, field, way, values) for each in conditions)


def _fitting(conditions: Iterable[Condition], thing: Thing) -> tuple[Condition, ...]:
    return tuple(each for each in conditions if each.fits_thing(thing))


def _ways(field: Field | None, seen: _Seen) -> tuple[str, tuple[str, ...]]:
    """The way to a field, and that inside values; of a chart in a chart also that inside the values of its own."""
    if field is None:
        return "", ()
    values = field.values or ()
    made = [patterns.joined(values)]
    if values and values[0] in seen.names:
        made.append(patterns.joined(values[1:]))
    return patterns.joined(field.steps), tuple(each for each in made if each)
