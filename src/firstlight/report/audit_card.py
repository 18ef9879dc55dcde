"""Audit rules as people read them, one whole or all in a list, and as data."""

from collections.abc import Sequence
from typing import Any

from firstlight.model.audit_card import AuditCard
from firstlight.report import decision_words as texts
from firstlight.report import table


def text(card: AuditCard, *, columns: int) -> str:
    """A rule, whole."""
    own = ", the team's" if card.is_own else ""
    lines = [f"{texts.plain(card.id)}   {card.severity}, {texts.plain(card.group)}{own}"]
    lines += [f"  {each}" for each in table.wrap(texts.plain(card.title), columns - 2)]
    lines += texts.block("why", [card.why], columns)
    lines += texts.block("finds", card.finds, columns)
    lines += texts.block("fix", [card.fix], columns)
    lines += texts.block("--fix", card.sets, columns)
    lines += texts.block("row", card.patterns, columns)
    lines += texts.block("sources", card.sources, columns)
    return "\n".join(lines)


def listing(cards: Sequence[AuditCard], *, columns: int) -> str:
    """All rules by group."""
    lines: list[str] = []
    for group in dict.fromkeys(each.group for each in cards):
        rows = [[texts.plain(each.id), each.severity, texts.plain(each.title)] for each in cards if each.group == group]
        lines += ["", texts.plain(group), *table.render(rows, indent="  ", columns=columns)]
    return "\n".join([*lines[1:], "", "One of them, whole: firstlight audit --explain RULE"])


def data(card: AuditCard) -> dict[str, Any]:
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
