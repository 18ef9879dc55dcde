"""The book: all rules in the order in which they are tried, and everything that they name."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence

from firstlight.commands.decide.phrases import Phrases
from firstlight.commands.decide.rule_form import (
    CheckForm,
    Criterion,
    DecisionRule,
    DecisionTree,
    FactorForm,
    Procedure,
    TreeQuestion,
)
from firstlight.commands.decide.rule_match import RuleCondition
from firstlight.model.component import Component
from firstlight.model.decision import Risk
from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, kw_only=True)
class RuleBook:
    """What decisions are made by."""

    rules: tuple[DecisionRule, ...] = ()
    """A team's before ours."""
    factors: tuple[FactorForm, ...] = ()
    trees: tuple[DecisionTree, ...] = ()
    criteria: Mapping[str, Criterion] = dataclasses.field(default_factory=dict)
    procedures: Mapping[str, Procedure] = dataclasses.field(default_factory=dict)
    checks: tuple[CheckForm, ...] = ()
    places: Mapping[str, Place] = dataclasses.field(default_factory=dict, repr=False)
    """Where each rule and factor is written, by id."""
    own: frozenset[str] = frozenset()
    """Ids of the rules that the team has written itself."""

    synonyms: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict, repr=False)
    examples: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict, repr=False)

    def rule(self, name: str) -> DecisionRule | None:
        """A rule by its id."""
        return next((each for each in self.rules if each.id == name), None)

    @functools.cached_property
    def ranks(self) -> Mapping[str, tuple[int, int]]:
        """Which rule says more than another: one that is graver by itself, and then one that is tried before."""
        return {each.id: (-Risk(each.risk).rank, at) for at, each in enumerate(self.rules)}

    @functools.cached_property
    def questions(self) -> Mapping[str, TreeQuestion]:
        """Every question of the trees, by its id."""
        return {each.id: each for tree in self.trees for each in tree.questions}

    @functools.cached_property
    def phrases(self) -> Phrases:
        """How people say what the rules are about."""
        return Phrases(self.rules, self.synonyms, self.examples)

    @functools.cached_property
    def rule_conditions(self) -> tuple[tuple[DecisionRule, tuple[RuleCondition, ...]], ...]:
        """Each rule with what it fits."""
        return tuple((rule, tuple(map(RuleCondition, rule.when))) for rule in self.rules)

    @functools.cached_property
    def factor_conditions(self) -> tuple[tuple[FactorForm, tuple[RuleCondition, ...]], ...]:
        """Each factor with what it fits."""
        return tuple((factor, tuple(map(RuleCondition, factor.when))) for factor in self.factors)


# A sentence in, the nearest rules out: by words, without any model of language.


_LEAST, _BESIDE_BEST, _MOST = 0.3, 0.6, 5
_ROLES = {
    "cni": "network plugin", "dns": "cluster dns", "certificates": "infrastructure service", "engine": "engine",
    "secrets": "secrets operator", "storage": "storage system", "metrics": "monitoring", "crds": "crd",
}  # fmt: skip
"""What rules call components of a role."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A rule that a sentence may mean."""

    rule: DecisionRule
    score: float
    """From 0 to 1."""
    questions: tuple[str, ...]
    """What is still open."""


def nearest_rules(text: str, book: RuleBook, *, names: Mapping[str, str] | None = None) -> tuple[Nearest, ...]:
    """The rules that a sentence may mean, the best first; none where no word of it is known.

    Args:
        text: What somebody wants to do.
        book: The rules.
        names: What components are called, with what they are, such as ``application``.
    """
    phrases = book.phrases
    said = phrases.said(text, names=names)
    scored = [(phrases.nearness(said, rule.id), rule) for rule in book.rules]
    best = max((score for score, _ in scored), default=0.0)
    # Rules stand in the order in which they are tried, which a stable sort keeps among equals.
    chosen = sorted((each for each in scored if each[0] >= max(_LEAST, best * _BESIDE_BEST)), key=lambda each: -each[0])
    return tuple(
        Nearest(rule=rule, score=round(min(score, 1.0), 3), questions=_questions(rule))
        for score, rule in chosen[:_MOST]
    )


def component_names(components: Iterable[Component], book: RuleBook) -> dict[str, str]:
    """What components are called, with what they are; names that rules have words for mean those."""
    known = book.phrases
    found = {each.name: _ROLES.get(each.role, "application" if not each.role else each.role) for each in components}
    return {name: sort for name, sort in found.items() if not any(map(known.is_known, known.said(name).words))}


def _questions(rule: DecisionRule) -> tuple[str, ...]:
    if rule.side == "owner" and not rule.asks:
        return ("Which component is it, and who owns that in the end: bootstrap or Git?",)
    return rule.asks
