"""A rule as text and as data; and what rules a sentence may mean."""

from collections.abc import Sequence

from firstlight.commands.decide import data as decide_data
from firstlight.commands.decide import rule_card
from firstlight.commands.decide import text as decide_text
from firstlight.commands.decide.output_form import RuleCardData, RuleCardsData, SuggestionsData, TestsData
from firstlight.commands.decide.rule_card import RuleCard, RuleTest, Suggestion
from firstlight.drawing import decision_words, table


def text(card: RuleCard, *, columns: int) -> str:
    """A rule, whole."""
    lines = [f"{decision_words.plain(card.id)}   {answer(card)}"]
    lines += [f"  {each}" for each in table.wrap(decision_words.plain(card.title), columns - 2)]
    lines += decision_words.block("why", [card.why], columns)
    lines += decision_words.block("side", [card.side_means] if card.side == "owner" else [], columns)
    lines += decision_words.block(
        "fits", card.fits or (["nothing by itself: it is found by its words"] if card.side else []), columns
    )
    lines += decision_words.block("criteria", card.criteria, columns)
    lines += decision_words.block("tree", [decision_words.way(each) for each in card.trees], columns)
    lines += decision_words.block("way", _ways(card), columns)
    lines += decide_text.procedure("do", card.own_steps, columns=columns)
    lines += decide_text.procedure("back", card.own_rollback, columns=columns)
    lines += decision_words.block("checks", card.checks, columns)
    lines += decision_words.block("said", [", ".join(card.words)] if card.words else [], columns)
    lines += decision_words.block("asks", card.asks, columns)
    lines += decision_words.block("sources", card.sources, columns)
    whose = "the team's" if card.is_own else "firstlight's"
    lines += decision_words.block("written", [f"{whose}, {card.place}" if card.place else whose], columns)
    return "\n".join(lines)


def _ways(card: RuleCard) -> list[str]:
    """How it is done: by the names of procedures, since the steps that all changes have need no rule."""
    more = len(card.procedure) - len(card.own_steps)
    if not card.ways or more <= 0:
        return list(card.ways)
    first = f"{'; or '.join(card.ways)}: {decision_words.number(more, 'usual step')}"
    own = ", and these of its own" if card.own_steps or card.own_rollback else ""
    return [f"{first}{own}. A decision on a change has those that it needs, filled in"]


def overview(cards: Sequence[RuleCard], *, columns: int) -> str:
    """All rules, a line each, in the order in which they are tried; then what raises risks."""
    rules = [
        [decision_words.plain(each.id), _side(each), each.risk, decision_words.plain(each.title)]
        for each in cards
        if each.side
    ]
    factors = [
        [decision_words.plain(each.id), "", each.risk, decision_words.plain(each.why)]
        for each in cards
        if not each.side
    ]
    wrapped = table.wrapped([*rules, *factors], indent="  ", columns=columns)
    lines = [line for each in wrapped for line in each]
    count = sum(map(len, wrapped[: len(rules)]))
    head = f"{decision_words.number(len(rules), 'rule')}, of which the first that fits counts"
    also = f"{decision_words.number(len(factors), 'factor')}, each of which raises a risk to at least its own"
    told = [*table.wrap(head, columns), *lines[:count], "", *table.wrap(also, columns), *lines[count:]]
    return "\n".join([*told, "", *table.wrap("One of them, whole: firstlight decide --explain NAME", columns)])


def overview_data(cards: Sequence[RuleCard]) -> RuleCardsData:
    """The same for programs, each whole."""
    return {
        "rules": [data(each) for each in cards if each.side],
        "factors": [data(each) for each in cards if not each.side],
    }


def _side(card: RuleCard) -> str:
    return {"owner": "by owner"}.get(card.side, card.side)


def answer(card: RuleCard) -> str:
    """What it comes to: ``bootstrap, high risk: lead approval``."""
    if not card.side:
        return f"at least {card.risk} risk: {card.approval} approval"
    side = {"owner": "by its owner", "none": "touches no cluster"}.get(card.side, card.side)
    return f"{side}, {card.risk} risk: {card.approval} approval"


def suggestions(sentence: str, found: Sequence[Suggestion], *, columns: int) -> str:
    """The rules that a sentence may mean, the nearest first, with what is still to be asked."""
    lines = table.wrap(f"“{decision_words.plain(sentence)}” by its words alone, no file was looked at", columns)
    if not rule_card.is_sure(found):
        lines += ["", *table.wrap("This may mean several things. Which of these is it?", columns)]
    for each in found:
        card = each.card
        lines += ["", answer(card), *decision_words.block("change", [card.title], columns)]
        lines += decision_words.block("why", [card.why], columns)
        lines += decision_words.block("here", each.about, columns)
        lines += decision_words.block("how", card.ways, columns)
        lines += decision_words.block("asks", each.open_questions, columns)
        lines += decision_words.block("rule", [f"{card.id}: firstlight decide --explain {card.id}"], columns)
    lines += ["", *table.wrap("For an answer by content: firstlight decide --diff main...HEAD", columns)]
    return "\n".join(lines)


def data(card: RuleCard) -> RuleCardData:
    """A rule, whole."""
    return {
        "id": card.id,
        "title": card.title,
        "side": card.side,
        "risk": card.risk,
        "approval": card.approval,
        "why": card.why,
        "fits": list(card.fits),
        "criteria": list(card.criteria),
        "trees": [decide_data.tree(each) for each in card.trees],
        "ways": list(card.ways),
        "procedure": [{"text": each.text, "command": each.command} for each in card.procedure],
        "rollback": [{"text": each.text, "command": each.command} for each in card.rollback],
        "checks": list(card.checks),
        "words": list(card.words),
        "asks": list(card.asks),
        "sources": list(card.sources),
        "place": card.place,
        "own": card.is_own,
    }


def suggestions_data(sentence: str, found: Sequence[Suggestion]) -> SuggestionsData:
    """The same as data; the nearest one's answer stands at the top."""
    nearest = found[0].card if found else None
    return {
        "side": nearest.side if nearest is not None else None,
        "risk": nearest.risk if nearest is not None else None,
        "approval": nearest.approval if nearest is not None else None,
        "sentence": sentence,
        "by": "words",
        "sure": bool(found) and rule_card.is_sure(found),
        "rules": [
            {
                **data(each.card),
                "score": round(each.score, 3),
                "about": list(each.about),
                "questions": list(each.open_questions),
            }
            for each in found
        ],
    }


def tests(found: Sequence[RuleTest], *, columns: int) -> str:
    """A team's tests: how many passed, and what is wrong with the others."""
    bad = [each for each in found if each.wrong]
    lines = []
    for each in bad:
        lines += table.wrap(f"✘ {decision_words.plain(each.name)}   {decision_words.plain(each.place)}", columns)
        lines += [f"    {line}" for said in each.wrong for line in table.wrap(decision_words.plain(said), columns - 4)]
    noun = "test" if len(found) == 1 else "tests"
    return "\n".join([*lines, f"{len(found) - len(bad)} of {len(found)} {noun} passed"])


def tests_data(found: Sequence[RuleTest]) -> TestsData:
    """The same for programs."""
    return {
        "passed": all(not each.wrong for each in found),
        "tests": [
            {"name": each.name, "place": each.place, "passed": not each.wrong, "wrong": list(each.wrong)}
            for each in found
        ],
    }
