"""A sentence, held against the rules' words, and against the components that it names."""

import dataclasses
import re

from firstlight import errors
from firstlight.model.component import Component
from firstlight.model.platform import Platform
from firstlight.model.rule_card import Suggestion
from firstlight.operate.deciding import cards
from firstlight.policy.deciding import sentences, siding
from firstlight.policy.deciding.book import Book

_WORD = re.compile(r"[a-z0-9][a-z0-9.-]*")


def suggested(sentence: str, book: Book, platform: Platform) -> tuple[Suggestion, ...]:
    """The rules that may be meant, the nearest first; a side that depends on the owner is told where one is named.

    Args:
        sentence: What somebody wants to do.
        book: The rules.
        platform: The repo.
    """
    named = _named(sentence, platform)
    names = sentences.names(platform.components, book)
    return tuple(_suggestion(each, book, named) for each in sentences.nearest(sentence, book, names=names))


def unknown(sentence: str, book: Book) -> errors.UsageError:
    """What to say where no rule has such words: those that are spelled alike."""
    near = book.phrases.near(sentence)
    meant = f"Did you mean {', '.join(near)}? " if near else ""
    return errors.UsageError(
        f"no rule is about “{sentence}”",
        hint=f"{meant}Say what is done to what, such as: add node labels. All rules: firstlight decide --explain",
    )


def _suggestion(near: sentences.Nearest, book: Book, named: list[Component]) -> Suggestion:
    card = cards.of_rule(book, near.rule)
    if near.rule.side != "owner" or not named:
        return Suggestion(card=card, score=near.score, open_questions=near.questions)
    side = siding.union(siding.owned(each) for each in named)
    about = tuple(
        f"{each.name} of {each.cluster} comes in phase {each.phase}, and {each.owner} owns it in the end: "
        f"{siding.owned(each)}"
        for each in named
    )
    card = dataclasses.replace(card, side=str(side) if side is not None else "none")
    questions = () if near.questions and not near.rule.asks else near.questions
    return Suggestion(card=card, score=near.score, about=about, open_questions=questions)


def _named(sentence: str, platform: Platform) -> list[Component]:
    """Components whose names stand in the sentence as words."""
    words = set(_WORD.findall(sentence.lower()))
    return [each for each in platform.components if each.name.lower() in words]
