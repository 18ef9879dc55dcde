"""Rules of ours that a team's own have taken the place of: whoever reads an audit must know."""

from collections.abc import Collection, Iterator

from firstlight.model.finding import Finding, Severity
from firstlight.policy.auditing.loading import Book

RULE = "rule-replaced"


def findings(book: Book, *, tried: Collection[str]) -> Iterator[Finding]:
    """One for each of them, if the rule about them was among those that were tried."""
    card = book.rules.get(RULE)
    if card is None or RULE not in tried:
        return
    for name, place in book.replaced.items():
        yield Finding(
            rule=RULE, severity=Severity(card.severity), message=f"this takes the place of firstlight's rule {name}",
            place=place, fix=card.fix, key=name,
        )  # fmt: skip
