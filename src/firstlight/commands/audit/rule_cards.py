"""Audit rules of the book as cards that people read."""

import difflib
from collections.abc import Iterator, Sequence

from firstlight.commands.audit.output_form import AuditCardData
from firstlight.commands.audit.rule_form import AuditCard, AuditRule, FindClause
from firstlight.commands.audit.rulebook import AuditRulebook
from firstlight.drawing import decision_words, table
from firstlight.errors import UsageError


def card(book: AuditRulebook, name: str) -> AuditCard:
    """A rule by its id.

    Raises:
        UsageError: There is none of this name.
    """
    rule = book.rules.get(name)
    if rule is None:
        raise unknown(book, name)
    return _card(book, rule)


def unknown(book: AuditRulebook, name: str) -> UsageError:
    """What is said where there is no rule of a name."""
    near = difflib.get_close_matches(name, book.rules, n=4, cutoff=0.6) or [each for each in book.rules if name in each]
    hint = f"There is {', '.join(near[:4])}." if near else "All of them: firstlight audit --explain"
    return UsageError(f"there is no rule {name}", hint=hint)


def cards(book: AuditRulebook) -> tuple[AuditCard, ...]:
    """All rules, those of a group beside each other."""
    groups = list(dict.fromkeys(each.group for each in book.rules.values()))
    ordered = sorted(book.rules.values(), key=lambda each: groups.index(each.group))
    return tuple(_card(book, each) for each in ordered)


def _card(book: AuditRulebook, rule: AuditRule) -> AuditCard:
    return AuditCard(
        id=rule.id,
        title=rule.title,
        group=rule.group,
        severity=rule.severity,
        why=rule.why,
        fix=rule.fix,
        finds=tuple(". ".join(_words(each)) for each in rule.find),
        sets=tuple(f"{way}: {_value(value)}" for way, value in rule.set.items()),
        sources=rule.sources,
        patterns=tuple(each.title for each in book.patterns if rule.id in each.rules),
        is_own=rule.id in book.own or rule.id in book.packaged,
    )


def _words(find: FindClause) -> Iterator[str]:
    """What a rule looks for, in words."""
    for what, given in (
        ("objects of kind", find.kinds),
        ("machine config of kind", tuple(each or "v1alpha1" for each in find.machines)),
        ("values of chart", find.charts),
        ("named", find.names),
        ("in namespace", find.namespaces),
        ("of role", find.roles),
    ):
        if given:
            yield f"{what} {' or '.join(given)}"
    for way, wanted in find.has.items():
        several = wanted if isinstance(wanted, tuple) else (wanted,)
        yield f"with {way} {' or '.join(map(_value, several))}"
    for way in find.lacks:
        yield f"without {way}"


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# Audit rules as people read them, one whole or all in a list, and as data.


def card_text(card: AuditCard, *, columns: int) -> str:
    """A rule, whole."""
    own = ", the team's" if card.is_own else ""
    lines = [f"{decision_words.plain(card.id)}   {card.severity}, {decision_words.plain(card.group)}{own}"]
    lines += [f"  {each}" for each in table.wrap(decision_words.plain(card.title), columns - 2)]
    lines += decision_words.block("why", [card.why], columns)
    lines += decision_words.block("finds", card.finds, columns)
    lines += decision_words.block("fix", [card.fix], columns)
    lines += decision_words.block("--fix", card.sets, columns)
    lines += decision_words.block("row", card.patterns, columns)
    lines += decision_words.block("sources", card.sources, columns)
    return "\n".join(lines)


def card_list(cards: Sequence[AuditCard], *, columns: int) -> str:
    """All rules by group."""
    lines: list[str] = []
    for group in dict.fromkeys(each.group for each in cards):
        rows = [
            [decision_words.plain(each.id), each.severity, decision_words.plain(each.title)]
            for each in cards
            if each.group == group
        ]
        lines += ["", decision_words.plain(group), *table.render(rows, indent="  ", columns=columns)]
    return "\n".join([*lines[1:], "", "One of them, whole: firstlight audit --explain RULE"])


def card_data(card: AuditCard) -> AuditCardData:
    """A rule, whole."""
    return {
        "id": card.id,
        "title": card.title,
        "group": card.group,
        "severity": card.severity,
        "why": card.why,
        "fix": card.fix,
        "finds": list(card.finds),
        "sets": list(card.sets),
        "patterns": list(card.patterns),
        "sources": list(card.sources),
        "own": card.is_own,
    }
