"""A rule for decisions, as people read it."""

import dataclasses
import difflib
from collections.abc import Iterator, Sequence

from firstlight import errors
from firstlight.commands.decide import (
    graph_factors,
    procedure_choice,
    procedures,
    rule_book,
    rule_wording,
    sentence_components,
)
from firstlight.commands.decide import sides as decide_sides
from firstlight.commands.decide.change_source import DecisionFacts
from firstlight.commands.decide.rule_book import RuleBook
from firstlight.commands.decide.rule_form import DecisionRule, FactorForm, When
from firstlight.commands.decide.sentence_components import SentenceComponents, SentenceReader
from firstlight.model import decision
from firstlight.model.change import Matter
from firstlight.model.component import Component, Side
from firstlight.model.decision import ProcedureStep, Risk, TreePath
from firstlight.model.platform import Platform


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleCard:
    """Everything that there is to say about a rule, or about a factor that raises risks."""

    id: str
    title: str
    side: str
    """``owner`` where it depends on who owns the component; empty for a factor."""
    risk: str
    approval: str
    why: str
    fits: tuple[str, ...] = ()
    """What it fits, each in words; any of them. Nothing for a rule that is only found by its words."""
    side_means: str = ""
    """The side in words."""
    criteria: tuple[str, ...] = ()
    trees: tuple[TreePath, ...] = ()
    ways: tuple[str, ...] = ()
    """The titles of its procedures."""
    own_steps: tuple[ProcedureStep, ...] = ()
    own_rollback: tuple[ProcedureStep, ...] = ()
    """What it has beside what every change of its side has."""
    procedure: tuple[ProcedureStep, ...] = ()
    rollback: tuple[ProcedureStep, ...] = ()
    """With placeholders in braces, which a change fills."""
    checks: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    place: str = ""
    """Where it is written."""
    is_own: bool = False
    """Whether the team has written it."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A rule that may be meant by a sentence."""

    card: RuleCard
    score: float
    """The greater the nearer."""
    about: tuple[str, ...] = ()
    """What the repo says of the components that the sentence names."""
    open_questions: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RuleTest:
    """What came of one of a team's tests of its rules."""

    name: str
    place: str
    wrong: tuple[str, ...] = ()
    """What is not as expected; empty where all is well."""


# Rules of the book as cards that people read.


_NEAR = 4
_CERTAIN, _SURE, _APART = 0.85, 0.5, 0.08
"""From which score on the nearest rule is an answer, whatever is near as well; and from which, if the next one is so
far away: of 211 sentences in the tests, 173 are answered so, and one of those wrongly."""
_SHOWN = 5
"""Components of a sentence that are named."""
_USUAL = ("", "usual", "none", "gitops", "bootstrap", "hybrid", "machine")
"""Procedures of which a rule need not tell the steps: every change of its side has them."""
_RAISES = "raises the risk of whatever it fits"


def card(book: RuleBook, name: str) -> RuleCard:
    """A rule or factor by its id.

    Raises:
        errors.UsageError: There is none of this name.
    """
    rule = book.rule(name)
    if rule is not None:
        return card_of_rule(book, rule)
    factor = next((each for each in book.factors if each.id == name), None)
    if factor is not None:
        return _of_factor(book, factor)
    if name in graph_factors.KNOWN:
        return _of_own_factor(graph_factors.KNOWN[name])
    near = _near(book, name)
    hint = f"Did you mean {', '.join(near)}? " if near else ""
    raise errors.UsageError(f"there is no rule {name}", hint=f"{hint}All of them: firstlight decide --explain")


def all_cards(book: RuleBook) -> tuple[RuleCard, ...]:
    """Every rule in the order in which they are tried, then every factor."""
    own = (_of_own_factor(each) for each in graph_factors.KNOWN.values())
    return (
        *(card_of_rule(book, each) for each in book.rules),
        *(_of_factor(book, each) for each in book.factors),
        *own,
    )


def _near(book: RuleBook, name: str) -> list[str]:
    """What may have been meant: what is spelled like it, has it in its name, or is spoken of by this word."""
    known = [*(each.id for each in book.rules), *(each.id for each in book.factors), *graph_factors.KNOWN]
    spelled = difflib.get_close_matches(name.lower(), known, n=_NEAR, cutoff=0.7)
    having = [each for each in known if name.lower() in each]
    meant = [each.rule.id for each in rule_book.nearest_rules(name.replace("-", " "), book)]
    return list(dict.fromkeys([*spelled, *having, *meant]))[:_NEAR]


def card_of_rule(book: RuleBook, rule: DecisionRule, *, side: Side | None = None) -> RuleCard:
    """What a rule says, with all that it names.

    Args:
        book: The rules.
        rule: One of them.
        side: Where the owner decides: the side, if it is known here; its procedures alone are told then.
    """
    wanted = _procedures(book, rule, side)
    known = {each.id: each.title for each in book.checks}
    place = book.places.get(rule.id)
    criteria = [book.criteria[each] for each in rule.criteria if each in book.criteria]
    return RuleCard(
        id=rule.id,
        title=rule.title,
        side=str(side) if side is not None else rule.side,
        side_means=rule_wording.side(rule.side),
        risk=rule.risk,
        approval=Risk(rule.risk).approval,
        why=rule.why,
        fits=tuple(rule_wording.condition(each) for each in rule.when),
        criteria=tuple(map(rule_wording.criterion, criteria)),
        trees=_trees(book, rule),
        ways=tuple(dict.fromkeys(book.procedures[each].title for each in wanted)),
        own_steps=_own(book, rule, "steps"),
        own_rollback=_own(book, rule, "rollback"),
        procedure=procedures.unfilled(wanted, book, "steps"),
        rollback=procedures.unfilled(wanted, book, "rollback"),
        checks=tuple(known.get(each, each) for each in rule.checks),
        words=tuple(rule.words),
        asks=tuple(rule.asks),
        sources=tuple(rule.sources),
        place=str(place) if place is not None else "",
        is_own=rule.id in book.own,
    )


def _trees(book: RuleBook, rule: DecisionRule) -> tuple[TreePath, ...]:
    """The ways through the trees, as a decision by this rule has them where nothing more is known."""
    given = decide_sides.answers(
        rule, _matters(rule)[0], is_of_foundation=False, facts=DecisionFacts(), asked=book.questions
    )
    walked = [decide_sides.walk_tree(each, given) for each in book.trees]
    if rule.side in ("owner", "none"):
        return tuple(walked)
    return tuple(dataclasses.replace(each, is_overruled=each.side != rule.side) for each in walked)


def _of_factor(book: RuleBook, factor: FactorForm) -> RuleCard:
    place = book.places.get(factor.id)
    return RuleCard(
        id=factor.id,
        title=_RAISES,
        side="",
        risk=factor.risk,
        approval=Risk(factor.risk).approval,
        why=factor.why,
        fits=tuple(rule_wording.condition(each) for each in factor.when),
        sources=tuple(factor.sources),
        place=str(place) if place is not None else "",
        is_own=factor.id in book.own,
    )


def _of_own_factor(factor: decision.RiskFactor) -> RuleCard:
    return RuleCard(
        id=factor.id,
        title=_RAISES,
        side="",
        risk=str(factor.risk),
        approval=factor.risk.approval,
        why=factor.why,
        fits=(graph_factors.BY_ITSELF,),
    )


def _procedures(book: RuleBook, rule: DecisionRule, known: Side | None = None) -> dict[str, None]:
    """The names of all that a decision by this rule may have: by whom the component belongs to, and by what changes."""
    sides: list[Side | None] = (
        list(Side) if rule.side == "owner" else [None if rule.side == "none" else Side(rule.side)]
    )
    sides = [known] if known is not None else sides
    return {
        name: None
        for matter in _matters(rule)
        for side in dict.fromkeys(decide_sides.reached(each, matter) for each in sides)
        for name in procedure_choice.procedure_names(rule.procedure, book, side=side, matter=matter)
    }


def _own(book: RuleBook, rule: DecisionRule, field: str) -> tuple[ProcedureStep, ...]:
    """The steps of a rule's own procedure that no usual one has."""
    if rule.procedure in _USUAL or rule.procedure not in book.procedures:
        return ()
    shared = procedures.unfilled([each for each in _USUAL if each in book.procedures], book, field)
    known = {(each.text, each.command) for each in shared}
    mine = procedures.unfilled([rule.procedure], book, field)
    return tuple(each for each in mine if (each.text, each.command) not in known)


def _matters(rule: DecisionRule) -> list[Matter]:
    """What a rule is about; one that is only found by its words is about machines if somebody must get at them."""
    if not rule.when:
        return [Matter.MACHINE if rule.answers.get("os-access") else Matter.OBJECT]
    return [Matter(each) for when in rule.when for each in when.matter or _by_kind(when)]


def _by_kind(when: When) -> tuple[str, ...]:
    is_talos = bool(when.kinds) and all(each.startswith("talos/") for each in when.kinds)
    return (Matter.MACHINE if is_talos else Matter.OBJECT,)


# A sentence, held against the rules' words, and against the components that it names.


def suggested_rules(sentence: str, book: RuleBook, platform: Platform) -> tuple[Suggestion, ...]:
    """The rules that may be meant, the nearest first; a side that depends on the owner is told where one is meant.

    Args:
        sentence: What somebody wants to do.
        book: The rules.
        platform: The repo.
    """
    read = SentenceReader(sentence, platform, book.phrases)
    names = rule_book.component_names(platform.components, book)
    found = rule_book.nearest_rules(sentence, book, names=names)
    return tuple(_suggestion(each, book, read.components(each.rule)) for each in found)


def is_sure(found: Sequence[Suggestion]) -> bool:
    """Whether the nearest rule is an answer: near enough, and no other nearly as near; else it is a question."""
    first, *others = (each.score for each in found)
    return first >= _CERTAIN or (first >= _SURE and all(first - each >= _APART for each in others))


def unknown_sentence(sentence: str, book: RuleBook) -> errors.UsageError:
    """What to say where no rule has such words: those that are spelled alike."""
    near = book.phrases.near(sentence)
    meant = f"Did you mean {', '.join(near)}? " if near else ""
    return errors.UsageError(
        f"no rule is about “{sentence}”",
        hint=f"{meant}Say what is done to what, such as: add node labels. All rules: firstlight decide --explain",
    )


def _suggestion(near: rule_book.Nearest, book: RuleBook, meant: SentenceComponents) -> Suggestion:
    """A rule with its side here: of all that is named, or of what is meant, where it is the same for all of that."""
    card = card_of_rule(book, near.rule)
    by_side: dict[Side, list[Component]] = {}
    for each in meant.components:
        by_side.setdefault(decide_sides.owned(each), []).append(each)
    if near.rule.side != "owner" or not (by_side or meant.is_new):
        return Suggestion(card=card, score=near.score, open_questions=near.questions)
    if len(by_side) > 1 and not meant.is_named:
        asked = f"Which component is it: {sentence_components.by_side(by_side)}?"
        return Suggestion(card=card, score=near.score, open_questions=(asked, *near.rule.asks))
    side = Side.GITOPS if meant.is_new else decide_sides.union(by_side)
    return Suggestion(
        card=card_of_rule(book, near.rule, side=side),
        score=near.score,
        about=tuple(_told(meant)),
        open_questions=tuple(near.rule.asks),
    )


def _told(meant: SentenceComponents) -> Iterator[str]:
    """What the repo says of the components."""
    if meant.is_new:
        yield "what is new is nobody's yet: Git brings it"
    for each in meant.components[:_SHOWN]:
        yield (
            f"{each.name} of {each.cluster} comes in phase {each.phase}, and {each.owner} owns it in the end: "
            f"{decide_sides.owned(each)}"
        )
    if len(meant.components) > _SHOWN:
        yield f"and {len(meant.components) - _SHOWN} more of the same side"
