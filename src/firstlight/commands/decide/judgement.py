"""Changes in, the decision out: side, risk, reasons, what to do and what to look at."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from firstlight.commands.decide import graph_factors, machine_documents, procedure_choice, procedures, sides, touched
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.file_components import belonging
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import DecisionRule, FactorForm
from firstlight.commands.decide.rule_match import MatchSubject, RuleCondition
from firstlight.commands.decide.touched import DecisionContext
from firstlight.document import path_patterns
from firstlight.model import flux_names
from firstlight.model.change import Change, ChangedField, ChangeVerb, Matter
from firstlight.model.component import Component, Side
from firstlight.model.decision import Decision, DecisionItem, Risk, RiskFactor, Ruling, TreePath
from firstlight.model.platform import Platform
from firstlight.plan.dependents import DependencyGraph

# Rules and factors tried on the fields of one change.


_Left = tuple[list[tuple[DecisionRule, tuple[RuleCondition, ...]]], list[tuple[FactorForm, tuple[RuleCondition, ...]]]]


class _Seen(NamedTuple):
    """All that rules see of a component."""

    names: tuple[str, ...]
    facts: tuple[object, ...]


class Trials:
    """The rules and factors that one change leaves to be tried, once all but the fields was looked at.

    Components of several clusters are often the same to rules, so that answers are kept by what rules see of them.
    """

    def __init__(self, change: Change, book: RuleBook) -> None:
        self._change, self._book = change, book
        self._things: dict[int, tuple[_Seen, MatchSubject]] = {}
        self._known: dict[_Seen, _Left] = {}
        self._rules: dict[tuple[_Seen, int], DecisionRule | None] = {}
        self._factors: dict[tuple[_Seen, int], tuple[RiskFactor, ...]] = {}

    def rule(self, field: ChangedField | None, component: Component | None) -> DecisionRule | None:
        """The first rule that fits."""
        seen, left = self._left(component)
        key = (seen, id(field))
        if key not in self._rules:
            way, values = _ways(self._change, field, seen)
            fitting = (rule for rule, conditions in left[0] if self._fits(conditions, field, way, values))
            self._rules[key] = next(fitting, None)
        return self._rules[key]

    def factors(self, field: ChangedField | None, component: Component | None) -> tuple[RiskFactor, ...]:
        """All factors that fit a field; of an object as a whole those of each of its leaves, too."""
        seen, left = self._left(component)
        key = (seen, id(field))
        if key not in self._factors:
            self._factors[key] = tuple(self._fitting_factors(field, seen, left))
        return self._factors[key]

    def _fitting_factors(self, field: ChangedField | None, seen: _Seen, left: _Left) -> Iterator[RiskFactor]:
        if self._change.verb is ChangeVerb.MOVED:  # it is what it was
            return
        untried = {factor.id: (factor, conditions) for factor, conditions in left[1]}
        for each in (field,) if field is not None else (None, *self._change.fields):
            way, values = _ways(self._change, each, seen)
            fitting = [factor for factor, conditions in untried.values() if self._fits(conditions, each, way, values)]
            for factor in fitting:
                del untried[factor.id]
                yield RiskFactor(id=factor.id, risk=Risk(factor.risk), why=factor.why)

    def _left(self, component: Component | None) -> tuple[_Seen, _Left]:
        if id(component) not in self._things:
            thing = MatchSubject.of(self._change, component)
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

    def _fits(
        self, conditions: Iterable[RuleCondition], field: ChangedField | None, way: str, values: Sequence[str]
    ) -> bool:
        return any(each.fits_field(self._change, field, way, values) for each in conditions)


def _fitting(conditions: Iterable[RuleCondition], thing: MatchSubject) -> tuple[RuleCondition, ...]:
    return tuple(each for each in conditions if each.fits_thing(thing))


def _ways(change: Change, field: ChangedField | None, seen: _Seen) -> tuple[str, tuple[str, ...]]:
    """The way to a field, and that inside values; of a chart in a chart also that inside the values of its own."""
    if field is None:
        return "", ()
    values = field.values or ()
    made = [path_patterns.joined(values)]
    if values and values[0] in seen.names:
        made.append(path_patterns.joined(values[1:]))
    return path_patterns.joined(_own_steps(change, field.steps)), tuple(each for each in made if each)


def _own_steps(change: Change, steps: tuple[str, ...]) -> tuple[str, ...]:
    """The way to a field in what it is about: an object in a ResourceSet, an old field that a document replaces."""
    if change.matter is Matter.MACHINE:
        return machine_documents.earlier_steps(change.kind, steps)
    is_inner = change.kind == flux_names.RESOURCE_SET and steps[:2] == ("spec", "resources") and len(steps) > 3
    return steps[3:] if is_inner else steps


def _why(rule: DecisionRule | None, factors: Sequence[RiskFactor]) -> str:
    if any(each.id == graph_factors.UNPINNED for each in factors):
        # Rules of versions say how quickly Git takes one back, which is not so without a version.
        return "It says which version runs."
    return rule.why if rule else "no rule fits, so it is decided by its owner alone"


NO_RULE = "no-rule"
"""The id of a ruling where no rule fits."""
_LAST = (0, 0)
"""The rank of what no rule says: it is judged as if it were the mildest."""
_SIDES = (Side.HYBRID, Side.BOOTSTRAP, Side.GITOPS, None)


def decide(
    changes: Iterable[Change],
    *,
    platform: Platform,
    before: Platform | None = None,
    book: RuleBook,
    title: str = "",
    facts: DecisionFacts | None = None,
    taken: Mapping[str, Sequence[str]] | None = None,
) -> Decision:
    """The decision for a whole change.

    Args:
        changes: What differs.
        platform: The repo as it is with the change.
        before: The repo as it was, to know what belonged to what.
        book: The rules.
        title: What was asked about.
        facts: What is known of the cluster and of Git.
        taken: Which files and directories each directory's kustomization takes in, of either tree.
    """
    judge = _Judge(_scene(platform, before, taken), book, facts or DecisionFacts())
    parts = [part for each in changes for part in judge.scene.parts(each)]
    return judge.decision([judge.item(each) for each in parts], title)


def _scene(platform: Platform, before: Platform | None, taken: Mapping[str, Sequence[str]] | None) -> DecisionContext:
    after, graph = belonging(platform, taken=taken), DependencyGraph(platform)
    if before is None or before is platform:
        return DecisionContext(after, after if before else None, graph, graph if before else None)
    return DecisionContext(after, belonging(before, taken=taken), graph, DependencyGraph(before))


def _composed(
    items: Sequence[DecisionItem], scene: DecisionContext, book: RuleBook, facts: DecisionFacts, title: str
) -> Decision:
    """The decision that several answers make together."""
    return Decision(
        side=sides.union(each.side for each in items),
        risk=max((each.risk for each in items), default=Risk.LOW),
        items=tuple(items),
        procedure=procedures.forward(items, scene=scene, book=book, facts=facts),
        rollback=procedures.back(items, scene=scene, book=book, facts=facts),
        checks=procedure_choice.needed_checks(items, book),
        title=title,
    )


def _ordered(items: Iterable[DecisionItem], book: RuleBook) -> list[DecisionItem]:
    """The gravest first, and what one rule says of one file together."""

    def gravity(item: DecisionItem) -> tuple[object, ...]:
        place = item.change.place
        own, _ = book.ranks.get(item.rulings[0].rule, _LAST)
        return -item.risk.rank, _SIDES.index(item.side), own, place.path, place.line, item.change.title

    found: dict[tuple[object, ...], list[DecisionItem]] = {}
    for each in sorted(items, key=gravity):
        found.setdefault((each.risk, each.side, each.change.place.path, each.rulings[0].rule), []).append(each)
    return [each for group in found.values() for each in group]


def _emergency(facts: DecisionFacts) -> Iterator[str]:
    because = f" ({facts.says})" if facts.says else ""
    if facts.operational is False:
        yield f"the cluster does not work{because}: recover it by bootstrap first, whatever side this change is on"
    elif facts.engine_works is False:
        yield f"the engine does not work{because}: nothing of GitOps' side arrives before it does"


@dataclasses.dataclass
class _Judge:
    """Rules tried on one change after the other."""

    scene: DecisionContext
    book: RuleBook
    facts: DecisionFacts
    doubts: list[str] = dataclasses.field(default_factory=list)
    _ways: dict[tuple[object, ...], tuple[TreePath, ...]] = dataclasses.field(default_factory=dict)

    def decision(self, items: Iterable[DecisionItem], title: str) -> Decision:
        """The answer for all of them together, with what was doubtful on the way."""
        whole = _composed(_ordered(items, self.book), self.scene, self.book, self.facts, title)
        return dataclasses.replace(whole, doubts=tuple(dict.fromkeys([*_emergency(self.facts), *self.doubts])))

    def item(self, change: Change) -> DecisionItem:
        """The answer for one change."""
        components = self.scene.components(change)
        clusters = self.scene.clusters(change, components)
        concerned: dict[int, Component] = {}
        rulings: dict[tuple[object, ...], Ruling] = {}
        fields: tuple[ChangedField | None, ...] = (
            change.fields if change.verb is ChangeVerb.CHANGED and change.fields else (None,)
        )
        trials = Trials(change, self.book)
        for field in fields:
            for component in touched.concerned(change, field, components, scene=self.scene) or (None,):
                if component is not None:
                    concerned[id(component)] = component
                each = self._ruling(change, field, component, trials)
                factors = tuple(factor.id for factor in each.factors)
                rulings.setdefault((each.rule, each.side, id(field), factors), each)
        ranks = self.book.ranks
        gravest = sorted(
            rulings.values(),
            key=lambda each: (-each.risk.rank, _SIDES.index(each.side), ranks.get(each.rule, _LAST)),
        )
        is_reached = bool(components or clusters)
        is_unlisted = not is_reached and self.scene.is_unlisted(change)
        self.doubts += _unsure(change, gravest, is_reached=is_reached, is_unlisted=is_unlisted)
        return DecisionItem(
            change=change,
            side=sides.union(each.side for each in gravest),
            risk=max(each.risk for each in gravest),
            rulings=tuple(gravest),
            touched=self.scene.touched(change, tuple(concerned.values())),
            clusters=clusters,
        )

    def _factors(
        self, change: Change, field: ChangedField | None, component: Component | None, trials: Trials
    ) -> tuple[RiskFactor, ...]:
        found = {each.id: each for each in trials.factors(field, component)}
        for known in graph_factors.factors_of_graph(change, field, component, self.scene):
            found.setdefault(known.id, known)
        return tuple(sorted(found.values(), key=lambda each: -each.risk.rank))

    def _ruling(
        self, change: Change, field: ChangedField | None, component: Component | None, trials: Trials
    ) -> Ruling:
        rule = trials.rule(field, component)
        factors = self._factors(change, field, component, trials)
        if rule is None:
            self.doubts.append(f"{change.place.path}: no rule fits {change.title}")
        risk = Risk(rule.risk) if rule else Risk.HIGH if change.matter is Matter.MACHINE else Risk.MEDIUM
        is_own = rule is not None and rule.id in self.book.own
        side, overruled = sides.side(
            rule.side if rule else "owner",
            change,
            component,
            is_own=is_own,
            is_of_machines=self.scene.is_of_machines(change),
        )
        if overruled and rule is not None and rule.side not in ("owner",):
            word = "no side" if rule.side == "none" else rule.side
            self.doubts.append(f"the rule {rule.id} says {word} of {change.place.path}: {overruled}, so it is {side}")
        return Ruling(
            rule=rule.id if rule else NO_RULE,
            side=side,
            risk=max([risk, *(each.risk for each in factors)]),
            why=_why(rule, factors),
            field=field,
            criteria=rule.criteria if rule else (),
            factors=factors,
            procedure=rule.procedure if rule else "",
            checks=rule.checks if rule else (),
            trees=self._trees(rule, change, component, side),
        )

    def _trees(
        self, rule: DecisionRule | None, change: Change, component: Component | None, side: Side | None
    ) -> tuple[TreePath, ...]:
        if side is None:
            return ()
        is_early = component is not None and sides.is_of_foundation(component)
        key = (rule.id if rule else "", change.matter, is_early, side)
        if key not in self._ways:
            given = sides.answers(
                rule, change.matter, is_of_foundation=is_early, facts=self.facts, asked=self.book.questions
            )
            walked = [sides.walk_tree(tree, given) for tree in self.book.trees]
            self._ways[key] = tuple(dataclasses.replace(each, is_overruled=each.side is not side) for each in walked)
        return self._ways[key]


def _unsure(change: Change, rulings: Iterable[Ruling], *, is_reached: bool, is_unlisted: bool) -> Iterator[str]:
    if change.doubt:
        yield f"{change.place}: {change.doubt}"
    if is_reached or change.matter in sides.WITHOUT_CLUSTER or all(each.side is None for each in rulings):
        return
    is_machine = change.matter is Matter.MACHINE
    leads = "no cluster's machines take it in" if is_machine else "no cluster's tree leads there"
    leads = "the kustomization around it leaves it out, so that nobody applies it" if is_unlisted else leads
    yield f"{change.place.path}: {leads}"
