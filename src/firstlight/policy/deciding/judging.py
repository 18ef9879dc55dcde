"""Changes in, the decision out: side, risk, reasons, what to do and what to look at."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence

from firstlight.model.change import Change, Field, Matter, Verb
from firstlight.model.component import Component, Side
from firstlight.model.decision import Decision, Factor, Item, Risk, Ruling, TreePath
from firstlight.model.platform import Platform
from firstlight.policy.deciding import anchoring, answering, checklist, graph_factors, procedures, siding, trees
from firstlight.policy.deciding.belonging import belonging
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.form import Rule
from firstlight.policy.deciding.touching import Scene
from firstlight.policy.deciding.trying import Trials
from firstlight.policy.dependents import Graph

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
    book: Book,
    title: str = "",
    facts: Facts | None = None,
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
    judge = _Judge(_scene(platform, before, taken), book, facts or Facts())
    parts = [part for each in changes for part in judge.scene.parts(each)]
    return judge.decision([judge.item(each) for each in parts], title)


def _scene(platform: Platform, before: Platform | None, taken: Mapping[str, Sequence[str]] | None) -> Scene:
    after, graph = belonging(platform, taken=taken), Graph(platform)
    if before is None or before is platform:
        return Scene(after, after if before else None, graph, graph if before else None)
    return Scene(after, belonging(before, taken=taken), graph, Graph(before))


def _composed(items: Sequence[Item], scene: Scene, book: Book, facts: Facts, title: str) -> Decision:
    """The decision that several answers make together."""
    return Decision(
        side=siding.union(each.side for each in items),
        risk=max((each.risk for each in items), default=Risk.LOW),
        items=tuple(items),
        procedure=procedures.forward(items, scene=scene, book=book, facts=facts),
        rollback=procedures.back(items, scene=scene, book=book, facts=facts),
        checks=checklist.checks(items, book),
        title=title,
    )


def _ordered(items: Iterable[Item], book: Book) -> list[Item]:
    """The gravest first, and what one rule says of one file together."""

    def gravity(item: Item) -> tuple[object, ...]:
        place = item.change.place
        own, _ = book.ranks.get(item.rulings[0].rule, _LAST)
        return -item.risk.rank, _SIDES.index(item.side), own, place.path, place.line, item.change.title

    found: dict[tuple[object, ...], list[Item]] = {}
    for each in sorted(items, key=gravity):
        found.setdefault((each.risk, each.side, each.change.place.path, each.rulings[0].rule), []).append(each)
    return [each for group in found.values() for each in group]


def _emergency(facts: Facts) -> Iterator[str]:
    because = f" ({facts.says})" if facts.says else ""
    if facts.operational is False:
        yield f"the cluster does not work{because}: recover it by bootstrap first, whatever side this change is on"
    elif facts.engine_works is False:
        yield f"the engine does not work{because}: nothing of GitOps' side arrives before it does"


@dataclasses.dataclass
class _Judge:
    """Rules tried on one change after the other."""

    scene: Scene
    book: Book
    facts: Facts
    doubts: list[str] = dataclasses.field(default_factory=list)
    _ways: dict[tuple[object, ...], tuple[TreePath, ...]] = dataclasses.field(default_factory=dict)

    def decision(self, items: Iterable[Item], title: str) -> Decision:
        """The answer for all of them together, with what was doubtful on the way."""
        whole = _composed(_ordered(items, self.book), self.scene, self.book, self.facts, title)
        return dataclasses.replace(whole, doubts=tuple(dict.fromkeys([*_emergency(self.facts), *self.doubts])))

    def item(self, change: Change) -> Item:
        """The answer for one change."""
        components = self.scene.components(change)
        clusters = self.scene.clusters(change, components)
        concerned: dict[int, Component] = {}
        rulings: dict[tuple[object, ...], Ruling] = {}
        fields: tuple[Field | None, ...] = change.fields if change.verb is Verb.CHANGED and change.fields else (None,)
        trials = Trials(change, self.book)
        for field in fields:
            for component in anchoring.concerned(change, field, components, scene=self.scene) or (None,):
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
        return Item(
            change=change,
            side=siding.union(each.side for each in gravest),
            risk=max(each.risk for each in gravest),
            rulings=tuple(gravest),
            touched=self.scene.touched(change, tuple(concerned.values())),
            clusters=clusters,
        )

    def _factors(
        self, change: Change, field: Field | None, component: Component | None, trials: Trials
    ) -> tuple[Factor, ...]:
        found = {each.id: each for each in trials.factors(field, component)}
        for known in graph_factors.found(change, field, component, self.scene):
            found.setdefault(known.id, known)
        return tuple(sorted(found.values(), key=lambda each: -each.risk.rank))

    def _ruling(self, change: Change, field: Field | None, component: Component | None, trials: Trials) -> Ruling:
        rule = trials.rule(field, component)
        factors = self._factors(change, field, component, trials)
        if rule is None:
            self.doubts.append(f"{change.place.path}: no rule fits {change.title}")
        risk = Risk(rule.risk) if rule else Risk.HIGH if change.matter is Matter.MACHINE else Risk.MEDIUM
        is_own = rule is not None and rule.id in self.book.own
        side, overruled = siding.side(
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
            why=rule.why if rule else "no rule fits, so it is decided by its owner alone",
            field=field,
            criteria=rule.criteria if rule else (),
            factors=factors,
            procedure=rule.procedure if rule else "",
            checks=rule.checks if rule else (),
            trees=self._trees(rule, change, component, side),
        )

    def _trees(
        self, rule: Rule | None, change: Change, component: Component | None, side: Side | None
    ) -> tuple[TreePath, ...]:
        if side is None:
            return ()
        is_early = component is not None and siding.is_of_foundation(component)
        key = (rule.id if rule else "", change.matter, is_early, side)
        if key not in self._ways:
            given = answering.answers(
                rule, change.matter, is_of_foundation=is_early, facts=self.facts, asked=self.book.questions
            )
            walked = [trees.walk(tree, given) for tree in self.book.trees]
            self._ways[key] = tuple(dataclasses.replace(each, is_overruled=each.side is not side) for each in walked)
        return self._ways[key]


def _unsure(change: Change, rulings: Iterable[Ruling], *, is_reached: bool, is_unlisted: bool) -> Iterator[str]:
    if change.doubt:
        yield f"{change.place}: {change.doubt}"
    if is_reached or change.matter in siding.WITHOUT_CLUSTER or all(each.side is None for each in rulings):
        return
    is_machine = change.matter is Matter.MACHINE
    leads = "no cluster's machines take it in" if is_machine else "no cluster's tree leads there"
    leads = "the kustomization around it leaves it out, so that nobody applies it" if is_unlisted else leads
    yield f"{change.place.path}: {leads}"
