"""Rules of the book as cards that people read."""

import dataclasses
import difflib

from firstlight import errors
from firstlight.model import decision
from firstlight.model.change import Matter
from firstlight.model.component import Side
from firstlight.model.decision import ProcedureStep, Risk, TreePath
from firstlight.model.rule_card import RuleCard
from firstlight.policy.deciding import answering, graph_factors, needing, procedures, sentences, siding, trees, wording
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.facts import Facts
from firstlight.policy.deciding.form import Factor, Rule, When

_NEAR = 4
_USUAL = ("", "usual", "none", "gitops", "bootstrap", "hybrid", "machine")
"""Procedures of which a rule need not tell the steps: every change of its side has them."""
_RAISES = "raises the risk of whatever it fits"


def card(book: Book, name: str) -> RuleCard:
    """A rule or factor by its id.

    Raises:
        errors.UsageError: There is none of this name.
    """
    rule = book.rule(name)
    if rule is not None:
        return of_rule(book, rule)
    factor = next((each for each in book.factors if each.id == name), None)
    if factor is not None:
        return _of_factor(book, factor)
    if name in graph_factors.KNOWN:
        return _of_own_factor(graph_factors.KNOWN[name])
    near = _near(book, name)
    hint = f"Did you mean {', '.join(near)}? " if near else ""
    raise errors.UsageError(f"there is no rule {name}", hint=f"{hint}All of them: firstlight decide --explain")


def all_of(book: Book) -> tuple[RuleCard, ...]:
    """Every rule in the order in which they are tried, then every factor."""
    own = (_of_own_factor(each) for each in graph_factors.KNOWN.values())
    return (*(of_rule(book, each) for each in book.rules), *(_of_factor(book, each) for each in book.factors), *own)


def _near(book: Book, name: str) -> list[str]:
    """What may have been meant: what is spelled like it, has it in its name, or is spoken of by this word."""
    known = [*(each.id for each in book.rules), *(each.id for each in book.factors), *graph_factors.KNOWN]
    spelled = difflib.get_close_matches(name.lower(), known, n=_NEAR, cutoff=0.7)
    having = [each for each in known if name.lower() in each]
    meant = [each.rule.id for each in sentences.nearest(name.replace("-", " "), book)]
    return list(dict.fromkeys([*spelled, *having, *meant]))[:_NEAR]


def of_rule(book: Book, rule: Rule) -> RuleCard:
    """What a rule says, with all that it names."""
    wanted = _procedures(book, rule)
    known = {each.id: each.title for each in book.checks}
    place = book.places.get(rule.id)
    criteria = [book.criteria[each] for each in rule.criteria if each in book.criteria]
    return RuleCard(
        id=rule.id,
        title=rule.title,
        side=rule.side,
        side_means=wording.side(rule.side),
        risk=rule.risk,
        approval=Risk(rule.risk).approval,
        why=rule.why,
        fits=tuple(wording.condition(each) for each in rule.when),
        criteria=tuple(map(wording.criterion, criteria)),
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


def _trees(book: Book, rule: Rule) -> tuple[TreePath, ...]:
    """The ways through the trees, as a decision by this rule has them where nothing more is known."""
    given = answering.answers(rule, _matters(rule)[0], is_of_foundation=False, facts=Facts(), asked=book.questions)
    walked = [trees.walk(each, given) for each in book.trees]
    if rule.side in ("owner", "none"):
        return tuple(walked)
    return tuple(dataclasses.replace(each, is_overruled=each.side != rule.side) for each in walked)


def _of_factor(book: Book, factor: Factor) -> RuleCard:
    place = book.places.get(factor.id)
    return RuleCard(
        id=factor.id,
        title=_RAISES,
        side="",
        risk=factor.risk,
        approval=Risk(factor.risk).approval,
        why=factor.why,
        fits=tuple(wording.condition(each) for each in factor.when),
        sources=tuple(factor.sources),
        place=str(place) if place is not None else "",
        is_own=factor.id in book.own,
    )


def _of_own_factor(factor: decision.Factor) -> RuleCard:
    return RuleCard(
        id=factor.id,
        title=_RAISES,
        side="",
        risk=str(factor.risk),
        approval=factor.risk.approval,
        why=factor.why,
        fits=(graph_factors.BY_ITSELF,),
    )


def _procedures(book: Book, rule: Rule) -> dict[str, None]:
    """The names of all that a decision by this rule may have: by whom the component belongs to, and by what changes."""
    sides: list[Side | None] = (
        list(Side) if rule.side == "owner" else [None if rule.side == "none" else Side(rule.side)]
    )
    return {
        name: None
        for matter in _matters(rule)
        for side in dict.fromkeys(siding.reached(each, matter) for each in sides)
        for name in needing.names(rule.procedure, book, side=side, matter=matter)
    }


def _own(book: Book, rule: Rule, field: str) -> tuple[ProcedureStep, ...]:
    """The steps of a rule's own procedure that no usual one has."""
    if rule.procedure in _USUAL or rule.procedure not in book.procedures:
        return ()
    shared = procedures.unfilled([each for each in _USUAL if each in book.procedures], book, field)
    known = {(each.text, each.command) for each in shared}
    mine = procedures.unfilled([rule.procedure], book, field)
    return tuple(each for each in mine if (each.text, each.command) not in known)


def _matters(rule: Rule) -> list[Matter]:
    """What a rule is about; one that is only found by its words is about machines if somebody must get at them."""
    if not rule.when:
        return [Matter.MACHINE if rule.answers.get("os-access") else Matter.OBJECT]
    return [Matter(each) for when in rule.when for each in when.matter or _by_kind(when)]


def _by_kind(when: When) -> tuple[str, ...]:
    is_talos = bool(when.kinds) and all(each.startswith("talos/") for each in when.kinds)
    return (Matter.MACHINE if is_talos else Matter.OBJECT,)
