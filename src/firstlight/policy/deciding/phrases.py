"""Words of people and of rules, made comparable: the same word for what means the same, and how much each says."""

import collections
import dataclasses
import functools
import math
import re
from collections.abc import Mapping, Sequence

from firstlight.policy.deciding.form import Rule

_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_EMPTY = {
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from", "get", "gets", "give",
    "have", "how", "i", "i'd", "in", "into", "is", "it", "its", "let", "like", "make", "me", "my", "need", "needs",
    "of", "on", "or", "our", "please", "put", "should", "so", "some", "take", "that", "the", "their", "them", "there",
    "they", "this", "to", "us", "use", "uses", "want", "we", "what", "where", "which", "will", "with", "would", "you",
    "your", "s",
}  # fmt: skip
"""Words that say nothing."""
_VERBS = frozenset({"update", "add", "remove", "change", "scale", "shrink", "suspend", "rotate", "publish"})
_OPPOSED = frozenset({"update", "add", "remove", "shrink"})
"""What cannot be meant by another of them."""
_VERB_WEIGHT = 0.4
"""What is done says less of a change than what it is done to."""
_UNKNOWN = 0.25
"""What a word weighs that no rule has, of the heaviest."""
_KNOWN, _MEANT = 0.2, 0.1
"""What it counts for, beside the best phrase, that a rule has the words in any phrase, or in its reason."""
_NEAR, _ENDING = 0.7, 3
"""What a word counts for that only ends otherwise, and how long such an ending is."""
_CONTRARY = 0.7


@dataclasses.dataclass(frozen=True)
class Said:
    """The words of a sentence, or of one way to say what a rule is about."""

    words: tuple[str, ...]
    verbs: frozenset[str]
    more: tuple[str, ...] = ()
    """What the names in it are examples of."""


class Phrases:
    """All ways of saying what the rules of one book are about."""

    def __init__(
        self, rules: Sequence[Rule], synonyms: Mapping[str, Sequence[str]], examples: Mapping[str, Sequence[str]]
    ) -> None:
        self._same = {word: first for first, words in synonyms.items() for word in words}
        self._sorts = {word: sort for sort, words in examples.items() for word in words}
        longest = sorted((each for each in self._same if not each.isalnum()), key=len, reverse=True)
        self._long = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b") if longest else None
        self.rules = {each.id: [self.said(text) for text in (*each.words, each.title)] for each in rules}
        self._all_words = {
            name: {word for each in all_of for word in each.words} for name, all_of in self.rules.items()
        }
        self._reasons = {each.id: set(self._words(each.why.lower())) - self._all_words[each.id] for each in rules}
        counts: collections.Counter[str] = collections.Counter()
        for words in self._all_words.values():
            counts.update(words)
        self._weights = {word: math.log(1 + len(self.rules) / count) for word, count in counts.items()}
        self._unknown = max(self._weights.values(), default=1.0) * _UNKNOWN

    def said(self, text: str, *, names: Mapping[str, str] | None = None) -> Said:
        """What a text says; ``names`` are what things are called here, with the sort of thing that they are."""
        plain = text.lower()
        sorts = {**self._sorts, **{name.lower(): sort for name, sort in (names or {}).items() if sort}}
        more = [sort for name, sort in sorts.items() if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", plain)]
        if self._long is not None:
            plain = self._long.sub(lambda match: self._same[match[0]], plain)
        words = self._words(plain)
        found = frozenset(each for each in words if each in _OPPOSED)
        return Said(words, found, tuple(each for sort in more for each in self._words(sort) if each not in words))

    def _words(self, text: str) -> tuple[str, ...]:
        kept = [each for each in _WORD.findall(text) if each not in _EMPTY]
        made = [word for each in kept for word in self._first(each).split()]
        return tuple(dict.fromkeys(made))

    def _first(self, word: str) -> str:
        short = stem(word)
        return self._same.get(word) or self._same.get(short) or short

    def is_known(self, word: str) -> bool:
        """Whether any rule is about it."""
        return word in self._weights

    def nearness(self, said: Said, rule: str) -> float:
        """How near a sentence is to a rule, from 0 to 1: to the best of its phrases, and to all of its words."""
        best = max((self._likeness(said, each) for each in self.rules[rule]), default=0.0)
        whole = sum(map(self._weight, said.words))
        if not whole:
            return 0.0
        known = sum(self._weight(each) for each in said.words if each in self._all_words[rule])
        meant = sum(self._weight(each) for each in said.words if each in self._reasons[rule])
        return (best + _KNOWN * known / whole + _MEANT * meant / whole) / (1 + _KNOWN)

    def _likeness(self, said: Said, phrase: Said) -> float:
        """How much of both is common to both, from 0 to 1."""
        everything = {*said.words, *said.more}
        common = 0.0
        for word in phrase.words:
            if word in everything:
                common += self._weight(word)
            elif any(_is_near(word, other) for other in everything):
                common += _NEAR * self._weight(word)
        # Of what an example is, only that counts which a phrase has.
        extra = sum(self._weight(each) for each in said.more if each in phrase.words)
        whole = sum(map(self._weight, said.words)) + extra + sum(map(self._weight, phrase.words))
        found = 2 * common / whole if whole else 0.0
        return found * (_CONTRARY if said.verbs and phrase.verbs and not said.verbs & phrase.verbs else 1.0)

    def _weight(self, word: str) -> float:
        return self._weights.get(word, self._unknown) * (_VERB_WEIGHT if word in _VERBS else 1.0)


@functools.lru_cache(maxsize=4096)
def stem(word: str) -> str:
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


def _is_near(one: str, other: str) -> bool:
    is_alike = min(len(one), len(other)) >= 4 and abs(len(one) - len(other)) <= _ENDING
    return is_alike and (one.startswith(other) or other.startswith(one))
