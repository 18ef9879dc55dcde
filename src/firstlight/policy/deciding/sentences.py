"""A sentence in, the nearest rules out: by words, without any model of language."""

import collections
import dataclasses
import math
import re
from collections.abc import Iterable, Sequence

from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.form import Rule

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_EMPTY = {
    "a", "an", "and", "are", "at", "be", "by", "can", "do", "does", "for", "from", "have", "how", "i", "in",
    "into", "is", "it", "its", "me", "my", "need", "of", "on", "or", "our", "please", "should", "so", "some",
    "that", "the", "their", "them", "there", "this", "to", "us", "want", "we", "what", "where", "which",
    "will", "with", "would", "you", "your", "s",
}  # fmt: skip
"""Words that say nothing."""
_SAME = {
    "bump": "update", "upgrade": "update", "upgrading": "update", "updating": "update",
    "create": "add", "deploy": "add", "install": "add", "introduce": "add", "new": "add", "join": "add",
    "delete": "remove", "drop": "remove", "uninstall": "remove",
    "adjust": "change", "alter": "change", "configure": "change", "edit": "change", "modify": "change", "set": "change",
    "scaling": "scale", "grow": "scale", "increase": "scale",
    "machine": "node", "server": "node", "k8s": "kubernetes", "app": "application", "apps": "application",
    "cert": "certificate", "certs": "certificate", "db": "database", "auth": "authentication", "sso": "authentication",
    "lb": "loadbalancer", "config": "configuration", "configs": "configuration", "configuring": "change",
}  # fmt: skip
_VERBS = frozenset({"update", "add", "remove", "change", "scale"})
_VERB_WEIGHT = 0.35
"""What is done says less of a change than what it is done to."""
_LEAST, _BESIDE_BEST, _MOST = 0.34, 0.6, 5


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A rule that a sentence may mean."""

    rule: Rule
    score: float
    """From 0 to 1."""
    questions: tuple[str, ...]
    """What is still open."""


def nearest(text: str, book: Book) -> tuple[Nearest, ...]:
    """The rules that a sentence may mean, the best first; none where no word of it is known."""
    said = _tokens(text)
    phrases = {rule.id: [_tokens(each) for each in (*rule.words, rule.title)] for rule in book.rules}
    weights = _weights(phrases.values())
    scored = [
        (max((_score(said, each, weights) for each in phrases[rule.id]), default=0.0), rule) for rule in book.rules
    ]
    best = max((score for score, _ in scored), default=0.0)
    # Rules stand in the order in which they are tried, which a stable sort keeps among equals.
    chosen = sorted((each for each in scored if each[0] >= max(_LEAST, best * _BESIDE_BEST)), key=lambda each: -each[0])
    return tuple(
        Nearest(rule=rule, score=round(score, 3), questions=_questions(rule)) for score, rule in chosen[:_MOST]
    )


def _questions(rule: Rule) -> tuple[str, ...]:
    if rule.side == "owner" and not rule.asks:
        return ("Which component is it, and who owns that in the end: bootstrap or Git?",)
    return rule.asks


def _tokens(text: str) -> list[str]:
    words = [each for each in _WORD.findall(text.lower()) if each not in _EMPTY]
    return list(dict.fromkeys(_SAME.get(each, _SAME.get(_stem(each), _stem(each))) for each in words))


def _stem(word: str) -> str:
    """A word without its ending, as far as that is safe."""
    for ending, least in (("ies", 5), ("ing", 6), ("es", 6), ("ed", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= least and not word.endswith("ss"):
            short = word.removesuffix(ending)
            if ending == "ies":
                return f"{short}y"
            if ending == "es" and not short.endswith(("s", "x", "z", "ch", "sh")):
                return f"{short}e"
            return short
    return word


def _weights(phrases: Iterable[Sequence[Sequence[str]]]) -> dict[str, float]:
    """How much each word says: the rarer, the more."""
    counts: collections.Counter[str] = collections.Counter()
    number = 0
    for of_rule in phrases:
        number += 1
        counts.update({word for phrase in of_rule for word in phrase})
    return {word: math.log(1 + number / count) for word, count in counts.items()}


def _score(said: Sequence[str], phrase: Sequence[str], weights: dict[str, float]) -> float:
    """How much of both is common to both."""
    unknown = max(weights.values(), default=1.0) / 2

    def weight(word: str) -> float:
        return weights.get(word, unknown) * (_VERB_WEIGHT if word in _VERBS else 1.0)

    common = sum(weight(word) for word in phrase if word in said)
    common += sum(
        0.7 * weight(word) for word in phrase if word not in said and any(_is_near(word, other) for other in said)
    )
    whole = sum(map(weight, said)) + sum(map(weight, phrase))
    return 2 * common / whole if whole else 0.0


def _is_near(one: str, other: str) -> bool:
    return min(len(one), len(other)) >= 4 and (one.startswith(other) or other.startswith(one))
