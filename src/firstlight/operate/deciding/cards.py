"""Rules of the book as cards that people read."""

import difflib
from collections.abc import Iterable, Iterator

from firstlight import errors
from firstlight.model.component import Side
from firstlight.model.decision import ProcedureStep, Risk
from firstlight.model.rule_card import RuleCard
from firstlight.policy.deciding import procedures, trees
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.form import Factor, Rule, When
from firstlight.policy.deciding.procedure_form import STAGES, Step

_OWNER = (
    "bootstrap where bootstrap keeps the component, hybrid where it brings it and Git takes it over, else gitops",
)


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
    known = [*(each.id for each in book.rules), *(each.id for each in book.factors)]
    near = difflib.get_close_matches(name, known, n=4, cutoff=0.5) or [each for each in known if name in each][:4]
    hint = f"There is {', '.join(near)}." if near else f"There are {len(known)}, such as {', '.join(known[:4])}."
    raise errors.UsageError(f"there is no rule {name}", hint=hint)


def of_rule(book: Book, rule: Rule) -> RuleCard:
    """What a rule says, with all that it names."""
    steps, rollback = _procedure(book, rule)
    known = {each.id: each.title for each in book.checks}
    place = book.places.get(rule.id)
    criteria = [book.criteria[each] for each in rule.criteria if each in book.criteria]
    return RuleCard(
        id=rule.id,
        title=rule.title,
        side=rule.side,
        risk=rule.risk,
        approval=Risk(rule.risk).approval,
        why=rule.why,
        fits=tuple(_fitting(each) for each in rule.when),
        criteria=tuple(f"{each.title}: {each.text}" for each in criteria),
        trees=tuple(trees.walk(each, rule.answers) for each in book.trees),
        procedure=steps,
        rollback=rollback,
        checks=tuple(known.get(each, each) for each in rule.checks),
        words=tuple(rule.words),
        asks=tuple(rule.asks),
        sources=tuple(rule.sources),
        place=str(place) if place is not None else "",
        is_own=rule.id in book.own,
    )


def _of_factor(book: Book, factor: Factor) -> RuleCard:
    place = book.places.get(factor.id)
    return RuleCard(
        id=factor.id,
        title="raises the risk of whatever it fits",
        side="",
        risk=factor.risk,
        approval=Risk(factor.risk).approval,
        why=factor.why,
        fits=tuple(_fitting(each) for each in factor.when),
        sources=tuple(factor.sources),
        place=str(place) if place is not None else "",
        is_own=factor.id in book.own,
    )


def _procedure(book: Book, rule: Rule) -> tuple[tuple[ProcedureStep, ...], tuple[ProcedureStep, ...]]:
    """The steps as they are written, with their placeholders."""
    usual = ("bootstrap", "gitops") if rule.side == "owner" else (rule.side,)
    names = [rule.procedure] if rule.procedure else list(usual)
    found = [book.procedures[each] for each in names if each in book.procedures]
    steps = [step for each in found for step in procedures.all_of(each, book, "steps")]
    rollback = [step for each in found for step in procedures.all_of(each, book, "rollback")]
    return tuple(_steps(steps)), tuple(_steps(rollback))


def _steps(steps: Iterable[Step]) -> Iterator[ProcedureStep]:
    for each in sorted(dict.fromkeys(steps), key=lambda step: STAGES.index(step.stage)):
        yield ProcedureStep(side=Side(each.side) if each.side else None, text=each.text, command=each.command)


def _fitting(when: When) -> str:
    """What a condition fits, in words: ``machine · field machine.network.** · changed``."""
    parts = [
        *_listed("", when.matter),
        *_listed("kind", when.kinds),
        *_listed("field", when.paths),
        *_listed("value", when.values),
        *_listed("file", when.files),
        *_listed("named", when.names),
        *_listed("role", when.roles),
        *_listed("phase", when.phases),
        *_listed("owner", when.owners),
        *_listed("version", when.bump),
        *_listed("was", [_shown(each) for each in when.before]),
        *_listed("becomes", [_shown(each) for each in when.after]),
        *([] if when.grows is None else ["grows" if when.grows else "shrinks"]),
        *([] if when.whole is None else ["as a whole" if when.whole else "a single field"]),
        *_listed("", when.verb),
    ]
    return " · ".join(parts) or "anything"


def _listed(label: str, values: Iterable[str]) -> list[str]:
    found = list(values)
    return [" ".join(each for each in (label, ", ".join(found)) if each)] if found else []


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) or value is None else str(value)
