"""Audit rules of the book as cards that people read."""

import difflib
from collections.abc import Iterator

from firstlight.errors import UsageError
from firstlight.model.audit_card import AuditCard
from firstlight.policy.auditing.form import Find, Rule
from firstlight.policy.auditing.loading import Book


def card(book: Book, name: str) -> AuditCard:
    """A rule by its id.

    Raises:
        UsageError: There is none of this name.
    """
    rule = book.rules.get(name)
    if rule is None:
        raise unknown(book, name)
    return _card(book, rule)


def unknown(book: Book, name: str) -> UsageError:
    """What is said where there is no rule of a name."""
    near = difflib.get_close_matches(name, book.rules, n=4, cutoff=0.6) or [each for each in book.rules if name in each]
    hint = f"There is {', '.join(near[:4])}." if near else "All of them: firstlight audit --explain"
    return UsageError(f"there is no rule {name}", hint=hint)


def cards(book: Book) -> tuple[AuditCard, ...]:
    """All rules, those of a group beside each other."""
    groups = list(dict.fromkeys(each.group for each in book.rules.values()))
    ordered = sorted(book.rules.values(), key=lambda each: groups.index(each.group))
    return tuple(_card(book, each) for each in ordered)


def _card(book: Book, rule: Rule) -> AuditCard:
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


def _words(find: Find) -> Iterator[str]:
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
