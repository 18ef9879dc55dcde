"""A sentence in, the nearest rules out: by words, without any model of language."""

import dataclasses
from collections.abc import Iterable, Mapping

from firstlight.model.component import Component
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.form import Rule

_LEAST, _BESIDE_BEST, _MOST = 0.3, 0.6, 5
_ROLES = {
    "cni": "network plugin", "dns": "cluster dns", "certificates": "infrastructure service", "engine": "engine",
    "secrets": "secrets operator", "storage": "storage system", "metrics": "monitoring", "crds": "crd",
}  # fmt: skip
"""What rules call components of a role."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A rule that a sentence may mean."""

    rule: Rule
    score: float
    """From 0 to 1."""
    questions: tuple[str, ...]
    """What is still open."""


def nearest(text: str, book: Book, *, names: Mapping[str, str] | None = None) -> tuple[Nearest, ...]:
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


def names(components: Iterable[Component], book: Book) -> dict[str, str]:
    """What components are called, with what they are; names that rules have words for mean those."""
    known = book.phrases
    found = {each.name: _ROLES.get(each.role, "application" if not each.role else each.role) for each in components}
    return {name: sort for name, sort in found.items() if not any(map(known.is_known, known.said(name).words))}


def _questions(rule: Rule) -> tuple[str, ...]:
    if rule.side == "owner" and not rule.asks:
        return ("Which component is it, and who owns that in the end: bootstrap or Git?",)
    return rule.asks
