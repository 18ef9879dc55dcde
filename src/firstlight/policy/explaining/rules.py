"""A rule or a factor of the decision framework: what it fits, what it says, and who says so."""

from collections.abc import Iterator, Mapping, Sequence

from firstlight.model import decision
from firstlight.model.decision import Risk
from firstlight.model.explanation import Explanation, Part, Sentence, Sort
from firstlight.policy.deciding import graph_factors, wording
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.form import Factor, Rule, When


def rule(book: Book, found: Rule) -> Explanation:
    """One rule."""
    risk = Risk(found.risk)
    parts = {
        "what": [Sentence(text=found.title, place=book.places.get(found.id)), *_whose(book, found.id)],
        "when": _when(found.when),
        "side": [Sentence(text=wording.side(found.side))],
        "risk": [Sentence(text=f"{risk}: {_agreed(risk)}")],
        "why": [Sentence(text=found.why), *_criteria(book, found)],
        "asked": [Sentence(text=each) for each in found.asks],
        "words": [Sentence(text=", ".join(found.words))] if found.words else [],
        "sources": [Sentence(text=each) for each in found.sources],
        "type": [Sentence(text="How it is done, and checked", command=f"firstlight decide --explain {found.id}")],
    }
    see = ("rule", "decision", *([found.side] if found.side != "owner" else ["owner"]), "risk")
    return Explanation(sort=Sort.RULE, name=found.id, parts=_parts(parts), see=see)


def factor(book: Book, found: Factor) -> Explanation:
    """Something that raises the risk of a change."""
    risk = Risk(found.risk)
    parts = {
        "what": [
            Sentence(text="It makes a change more dangerous, whatever else it is", place=book.places.get(found.id)),
            *_whose(book, found.id),
        ],
        "when": _when(found.when),
        "risk": [Sentence(text=f"at least {risk}: {_agreed(risk)}")],
        "why": [Sentence(text=found.why)],
        "sources": [Sentence(text=each) for each in found.sources],
    }
    return Explanation(sort=Sort.FACTOR, name=found.id, parts=_parts(parts), see=("risk", "decision"))


def own_factor(found: decision.Factor) -> Explanation:
    """One that is written nowhere, since no condition can tell it."""
    parts = {
        "what": [Sentence(text="It makes a change more dangerous, whatever else it is")],
        "when": [Sentence(text=graph_factors.BY_ITSELF)],
        "risk": [Sentence(text=f"at least {found.risk}: {_agreed(found.risk)}")],
        "why": [Sentence(text=found.why)],
    }
    return Explanation(sort=Sort.FACTOR, name=found.id, parts=_parts(parts), see=("risk", "decision"))


def _parts(parts: Mapping[str, Sequence[Sentence]]) -> tuple[Part, ...]:
    return tuple(Part(name=name, sentences=tuple(each)) for name, each in parts.items() if each)


def _whose(book: Book, name: str) -> list[Sentence]:
    return [Sentence(text="Your team wrote it")] if name in book.own else []


def _agreed(risk: Risk) -> str:
    who = {"self": "you alone may do it", "peer": "a colleague must agree", "lead": "the lead must agree"}
    return who.get(risk.approval, "the team must agree")


def _criteria(book: Book, found: Rule) -> Iterator[Sentence]:
    for each in found.criteria:
        if criterion := book.criteria.get(each):
            yield Sentence(text=wording.criterion(criterion))


def _when(conditions: Sequence[When]) -> list[Sentence]:
    if not conditions:
        return [Sentence(text="never by itself: it is only found by its words")]
    lead = "or " if len(conditions) > 1 else ""
    return [
        Sentence(text=f"{lead if number else ''}{wording.condition(each)}") for number, each in enumerate(conditions)
    ]
