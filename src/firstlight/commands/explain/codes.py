"""Codes of diagnostics, among them rules of the audit and the doctor: what each means, and what to do."""

import functools
import importlib.resources
from collections.abc import Iterator

import msgspec

from firstlight.commands.explain import glossary
from firstlight.commands.explain.explanation import (
    ExplainInput,
    Explanation,
    ExplanationKind,
    ExplanationPart,
    Sentence,
)
from firstlight.document import diagnostic_cards, yaml_reader
from firstlight.document.diagnostic_cards import DiagnosticCard

_KINDS = {
    diagnostic_cards.AUDIT: ExplanationKind.AUDIT_RULE,
    diagnostic_cards.DOCTOR: ExplanationKind.SYMPTOM,
}
_COMMANDS = {
    diagnostic_cards.AUDIT: ("What of it is in this repo", "firstlight audit --rule {code}"),
    diagnostic_cards.DOCTOR: ("Whether a cluster has it", "firstlight doctor CLUSTER"),
}


class CodeGroup(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Codes that are read together."""

    title: str
    homes: tuple[str, ...]
    """Directories of their cards, and what is below these."""
    page: str
    """Of the documentation."""


class _Groups(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    groups: tuple[CodeGroup, ...]


@functools.cache
def groups() -> tuple[CodeGroup, ...]:
    """Return all groups in the order in which people read them."""
    file = importlib.resources.files("firstlight.commands.explain") / "code_groups.yaml"
    (document,) = yaml_reader.read(file.read_bytes(), file.name).documents
    return msgspec.convert(document.value, _Groups).groups


def group(card: DiagnosticCard) -> CodeGroup:
    """Return the group of a card: the one with the longest directory that holds it."""
    held = ((home, each) for each in groups() for home in each.homes if f"{card.home}/".startswith(f"{home}/"))
    return max(held, key=lambda pair: len(pair[0]))[1]


def of_name(name: str, scene: ExplainInput) -> Iterator[Explanation]:
    """Return what a code means; a team's rule of the audit takes the place of ours."""
    wanted = glossary.plain(name)
    if found := scene.team_cards.get(wanted) or diagnostic_cards.cards().get(wanted):
        yield of_card(found)


def names(scene: ExplainInput) -> tuple[str, ...]:
    """Return all codes."""
    return *scene.team_cards, *diagnostic_cards.cards()


def of_card(card: DiagnosticCard) -> Explanation:
    """Return the explanation of a card."""
    place, severity = group(card), f" ({card.severity})" if card.severity else ""
    parts = {
        "what": [Sentence(text=f"{card.title}{severity}")],
        "why": [Sentence(text=card.why)] if card.why else [],
        "fix": [Sentence(text=card.fix)],
        "sources": [Sentence(text=each) for each in card.sources],
        "read": [Sentence(text=f"docs/{place.page}")],
        "type": [
            Sentence(text=text, command=command.format(code=card.code))
            for home, (text, command) in _COMMANDS.items()
            if home == card.home
        ],
    }
    return Explanation(
        sort=_KINDS.get(card.home, ExplanationKind.DIAGNOSTIC),
        name=card.code,
        parts=tuple(ExplanationPart(name=name, sentences=tuple(said)) for name, said in parts.items() if said),
    )
