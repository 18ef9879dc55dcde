"""Words of people and of rules, made comparable: the same word for what means the same, and how much each says."""

import collections
import dataclasses
import difflib
import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence

from firstlight.commands.decide.rule_form import DecisionRule, When

_WORD = re.compile(r"[a-z0-9]+(?:[._][a-z0-9]+)*(?:'[a-z]+)?")
"""A word; what a dot or an underscore joins is the name of one thing."""
_JOINED = re.compile(r"(?<![a-z0-9])[a-z0-9]+(?:-[a-z0-9]+)+")
_PART = 0.7
"""What a word weighs that is only a part of a name with dashes."""
_NUMBER = re.compile(r"v?[0-9]+(?:[._][0-9x]+)*")
_FILE = re.compile(r"[.](?:ya?ml|json)$")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*")
_DONE = {"added": "add", "removed": "remove"}
_EMPTY = {
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "could", "do", "does", "for", "from", "get", "gets", "give",
    "have", "how", "i", "i'd", "in", "into", "is", "it", "its", "let", "like", "make", "me", "my", "need", "needs",
    "of", "on", "or", "our", "please", "put", "should", "so", "some", "take", "that", "the", "their", "them", "there",
    "they", "this", "to", "us", "use", "uses", "want", "we", "what", "where", "which", "will", "with", "would", "you",
    "your", "s",
}  # fmt: skip
"""Words that say nothing."""
_VERBS = frozenset({"update", "add", "remove", "change", "scale", "shrink", "suspend", "rotate", "publish"})
_FAINT = _VERBS | {"turn", "move", "migrate", "run", "out", "up", "down", "more"}
"""Words that say less than others."""
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
_FEW = 4
"""Words that are offered to who mistyped one."""
_CONTRARY = 0.6
"""What is left where one thing is said to be done, and another is meant."""
_GOES, _STAYS, _OTHERWISE = 0.6, 0.75, 0.8
"""What is left where only the rule speaks of removing something; where only the sentence does; and where the rule
speaks of a version, and the sentence of something else that is done."""
_OF = frozenset({
    "of", "for", "on", "onto", "in", "into", "from", "to", "with", "by", "at", "between", "via", "through", "over",
    "behind", "off", "under", "that", "which", "so",
})  # fmt: skip
"""Words after which follows what something belongs to, no longer the thing itself."""
_HEAD, _BESIDE = 1.3, 0.9
"""What the thing itself weighs, and what it belongs to: of ``the volume of the database`` it is the volume."""


@dataclasses.dataclass(frozen=True)
class Phrase:
    """The words of a sentence, or of one way to say what a rule is about."""

    words: Mapping[str, float]
    """Each with how much it is the thing itself that is spoken of."""
    verbs: frozenset[str]
    more: tuple[tuple[frozenset[str], frozenset[str]], ...] = ()
    """Names in it, each with what it is an example of, in words."""
    is_kind: bool = False
    """Whether it is the name of a kind, which says nothing in parts."""


class Phrases:
    """All ways of saying what the rules of one book are about."""

    def __init__(
        self,
        rules: Sequence[DecisionRule],
        synonyms: Mapping[str, Sequence[str]],
        examples: Mapping[str, Sequence[str]],
    ) -> None:
        self._same = {word: first for first, words in synonyms.items() for word in words}
        kinds = {kind for rule in rules for when in rule.when for kind in _kinds(when)}
        # Kinds are typed in one word as often as in several.
        self._same = {each.lower(): spaced for each in kinds if (spaced := _spaced(each)) != each.lower()} | self._same
        self._sorts = [(word, sort) for sort, words in examples.items() for word in words]
        longest = sorted((each for each in self._same if not each.isalnum()), key=len, reverse=True)
        self._long = re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})\b") if longest else None
        self.rules = {each.id: self._ways(each) for each in rules}
        self._all_words = {
            name: {word for each in all_of if not each.is_kind for word in each.words}
            for name, all_of in self.rules.items()
        }
        self._reasons = {each.id: set(self._words(each.why.lower())) - self._all_words[each.id] for each in rules}
        counts: collections.Counter[str] = collections.Counter()
        for words in self._all_words.values():
            counts.update(words)
        self._weights = {word: math.log(1 + len(self.rules) / count) for word, count in counts.items()}
        self._unknown = max(self._weights.values(), default=1.0) * _UNKNOWN

    def _ways(self, rule: DecisionRule) -> list[Phrase]:
        """How people say what a rule is about: its words, its title, and its kinds."""
        done = {_DONE.get(verb, "") for when in rule.when for verb in when.verb or ("",)}
        always = done if len(done) == 1 else {""}
        own = [self.said(each) for each in (*rule.words, rule.title)]
        kinds = [dataclasses.replace(self.said(each), is_kind=True) for each in _kind_phrases(rule)]
        return [dataclasses.replace(each, verbs=each.verbs | always - {""}) for each in (*own, *kinds)]

    def said(self, text: str, *, names: Mapping[str, str] | None = None) -> Phrase:
        """What a text says; ``names`` are what things are called here, with the sort of thing that they are."""
        plain = text.lower()
        sorts = [*self._sorts, *((name.lower(), sort) for name, sort in (names or {}).items() if sort)]
        more = [
            (frozenset(self._words(name)), frozenset(self._words(sort)))
            for name, sort in sorts
            if name in plain and re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", plain)
        ]
        if self._long is not None:
            plain = self._long.sub(lambda match: self._same[match[0]], plain)
        words = self._placed(plain)
        return Phrase(words, frozenset(each for each in words if each in _VERBS), tuple(more))

    def _placed(self, text: str) -> dict[str, float]:
        """The words of a text, each with how much it is the thing itself that is spoken of."""
        tokens = _WORD.findall(text)
        end = next((n for n, each in enumerate(tokens) if n and each in _OF), len(tokens))
        things = [each for each in self._words(" ".join(tokens[:end])) if each not in _FAINT]
        head = things[-1] if things else ""
        rest = self._words(" ".join(tokens[end:]))
        placed = {word: _HEAD if word == head else 1.0 for word in self._words(" ".join(tokens[:end]))}
        # Where nothing is said before it, what follows is the thing itself.
        placed = {**{word: _BESIDE if head else 1.0 for word in rest}, **placed}
        joined = {word for each in _JOINED.findall(text) for word in self._words(each)}
        return {word: place * (_PART if word in joined else 1.0) for word, place in placed.items()}

    def _words(self, text: str) -> tuple[str, ...]:
        found = (_FILE.sub("", each) for each in _WORD.findall(text))
        kept = [each for each in found if each not in _EMPTY and not _NUMBER.fullmatch(each)]
        made = [word for each in kept for word in self._first(each).split()]
        return tuple(dict.fromkeys(made))

    def _first(self, word: str) -> str:
        short = stem(word)
        return self._same.get(word) or self._same.get(short) or short

    def is_known(self, word: str) -> bool:
        """Whether any rule is about it."""
        return word in self._weights

    def near(self, text: str) -> tuple[str, ...]:
        """Words that rules or their synonyms have and that are spelled like those of a text, for who mistyped."""
        known = [
            *(each for each in self._weights if len(each) > _ENDING),
            *(each for each in self._same if " " not in each),
        ]
        found = (
            each
            for word in _WORD.findall(text.lower())
            if word not in _EMPTY
            for each in difflib.get_close_matches(word, known, n=2, cutoff=0.75)
        )
        return tuple(dict.fromkeys(found))[:_FEW]

    def nearness(self, said: Phrase, rule: str) -> float:
        """How near a sentence is to a rule, from 0 to 1: to the best of its phrases, and to all of its words."""
        best = max((self._likeness(said, each) for each in self.rules[rule]), default=0.0)
        whole = sum(map(self._weight, said.words))
        if not whole:
            return 0.0
        known = sum(self._weight(each) for each in said.words if each in self._all_words[rule])
        meant = sum(self._weight(each) for each in said.words if each in self._reasons[rule])
        return (best + _KNOWN * known / whole + _MEANT * meant / whole) / (1 + _KNOWN)

    def _likeness(self, said: Phrase, phrase: Phrase) -> float:
        """How much of both is common to both, from 0 to 1."""
        if phrase.is_kind and not phrase.words.keys() <= said.words.keys() | _VERBS:
            return 0.0
        mine = dict(said.words)
        for name, sort in said.more:
            # Where a rule has the sort of thing, the name has been said by that.
            if sort <= phrase.words.keys() and not name & phrase.words.keys():
                place = max((mine.pop(each, 0.0) for each in name), default=0.0) or 1.0
                mine = {**dict.fromkeys(sort, place), **mine}
        common = whole = 0.0
        for one, other in ((mine, phrase.words), (phrase.words, mine)):
            for word, place in one.items():
                weight = place * self._weight(word)
                whole += weight
                common += weight * _shared(word, other)
        return common / whole * _agreement(said.verbs, phrase.verbs) if whole else 0.0

    def _weight(self, word: str) -> float:
        return self._weights.get(word, self._unknown) * (_VERB_WEIGHT if word in _FAINT else 1.0)


def _agreement(said: frozenset[str], meant: frozenset[str]) -> float:
    """How well what is done agrees, from 0 to 1."""
    if said & meant:
        return 1.0
    one, other = said & _OPPOSED, meant & _OPPOSED
    if one and other:
        return _CONTRARY if "remove" not in other else _GOES
    if "remove" in meant:
        return _GOES
    if "remove" in said:
        return _STAYS
    return _OTHERWISE if "update" in meant and said else 1.0


def _kind_phrases(rule: DecisionRule) -> Iterator[str]:
    """Kinds that a rule is about as a whole, with what becomes of them."""
    for when in rule.when:
        if not (when.paths or when.values or when.names or when.roles):
            done = [_DONE[each] for each in when.verb if each in _DONE] or [""]
            yield from (f"{verb} {kind}" for kind in _kinds(when) for verb in done)


def _kinds(when: When) -> list[str]:
    """The kinds of objects that a condition names; a name of one word is too common a word."""
    names = (each.rpartition("/")[2] for each in when.kinds)
    return [each for each in names if each.isalnum() and len(_HUMP.findall(each)) > 1]


def _spaced(kind: str) -> str:
    """A kind in words: ``NetworkPolicy`` is ``network policy``."""
    return " ".join(stem(each.lower()) for each in _HUMP.findall(kind))


def _shared(word: str, others: Mapping[str, float]) -> float:
    if word in others:
        return 1.0
    return _NEAR if any(_is_near(word, other) for other in others) else 0.0


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
