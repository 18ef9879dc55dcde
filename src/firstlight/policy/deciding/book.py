"""The book: all rules in the order in which they are tried, and everything that they name."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

from firstlight.model.decision import Risk
from firstlight.model.place import Place
from firstlight.policy.deciding.form import Factor, Rule
from firstlight.policy.deciding.matching import Condition
from firstlight.policy.deciding.phrases import Phrases
from firstlight.policy.deciding.procedure_form import CheckForm, Procedure
from firstlight.policy.deciding.tree_form import Criterion, Question, Tree


@dataclasses.dataclass(frozen=True, kw_only=True)
class Book:
    """What decisions are made by."""

    rules: tuple[Rule, ...] = ()
    """A team's before ours."""
    factors: tuple[Factor, ...] = ()
    trees: tuple[Tree, ...] = ()
    criteria: Mapping[str, Criterion] = dataclasses.field(default_factory=dict)
    procedures: Mapping[str, Procedure] = dataclasses.field(default_factory=dict)
    checks: tuple[CheckForm, ...] = ()
    places: Mapping[str, Place] = dataclasses.field(default_factory=dict, repr=False)
    """Where each rule and factor is written, by id."""
    own: frozenset[str] = frozenset()
    """Ids of the rules that the team has written itself."""

    synonyms: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict, repr=False)
    examples: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict, repr=False)

    def rule(self, name: str) -> Rule | None:
        """A rule by its id."""
        return next((each for each in self.rules if each.id == name), None)

    @functools.cached_property
    def ranks(self) -> Mapping[str, tuple[int, int]]:
        """Which rule says more than another: one that is graver by itself, and then one that is tried before."""
        return {each.id: (-Risk(each.risk).rank, at) for at, each in enumerate(self.rules)}

    @functools.cached_property
    def questions(self) -> Mapping[str, Question]:
        """Every question of the trees, by its id."""
        return {each.id: each for tree in self.trees for each in tree.questions}

    @functools.cached_property
    def phrases(self) -> Phrases:
        """How people say what the rules are about."""
        return Phrases(self.rules, self.synonyms, self.examples)

    @functools.cached_property
    def rule_conditions(self) -> tuple[tuple[Rule, tuple[Condition, ...]], ...]:
        """Each rule with what it fits."""
        return tuple((rule, tuple(map(Condition, rule.when))) for rule in self.rules)

    @functools.cached_property
    def factor_conditions(self) -> tuple[tuple[Factor, tuple[Condition, ...]], ...]:
        """Each factor with what it fits."""
        return tuple((factor, tuple(map(Condition, factor.when))) for factor in self.factors)
