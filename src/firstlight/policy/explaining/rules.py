"""A rule or a factor of the decision framework: what it fits, what it says, and who says so."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from firstlight.model.change import Matter
from firstlight.model.decision import Risk
from firstlight.model.explanation import Explanation, Part, Sentence, Sort
from firstlight.policy.deciding.book import Book
from firstlight.policy.deciding.form import Factor, Rule, When

_SIDES = {
    "owner": "with whoever owns the component in the end: bootstrap where bootstrap keeps it, hybrid where bootstrap "
    "brings it and Git takes it over, else gitops",
    "none": "none: it touches no cluster",
}
_MATTERS = {
    Matter.OBJECT: "an object",
    Matter.MACHINE: "machine configuration",
    Matter.VALUES: "values of a chart",
    Matter.KUSTOMIZE: "a kustomization",
    Matter.RELEASE: "a helmfile",
    Matter.SCRIPT: "a script",
    Matter.CHART: "a chart of this repo",
    Matter.PLATFORM: "firstlight.yaml",
    Matter.POLICY: "the rules themselves",
    Matter.SECRET: "something encrypted",
    Matter.TOOLING: "tooling",
    Matter.DOCUMENTATION: "documentation",
    Matter.UNKNOWN: "something that is not understood",
}
_CONDITIONS = {
    "verb": "it was",
    "kinds": "of the kind",
    "paths": "the field is",
    "values": "the value of a chart is",
    "files": "the file is",
    "names": "the name is",
    "roles": "the component is for",
    "phases": "the component is in the phase",
    "owners": "in the end it belongs to",
    "bump": "the version changes by",
    "before": "the value was",
    "after": "the value becomes",
}
"""How the parts of a condition are said; of a list any is enough."""


def rule(book: Book, found: Rule) -> Explanation:
    """One rule."""
    risk = Risk(found.risk)
    parts = {
        "what": [Sentence(text=found.title, place=book.places.get(found.id)), *_whose(book, found.id)],
        "when": _when(found.when),
        "side": [Sentence(text=_SIDES.get(found.side, found.side))],
        "risk": [Sentence(text=f"{risk}: {_agreed(risk)}")],
        "why": [Sentence(text=found.why), *_criteria(book, found)],
        "asked": [Sentence(text=each) for each in found.asks],
        "words": [Sentence(text=", ".join(found.words))] if found.words else [],
        "sources": [Sentence(text=each) for each in found.sources],
        "type": [Sentence(text="How it is done, and checked", command=f"firstlight decide --explain {found.id}")],
    }
    see = ("rule", "decision", *([found.side] if found.side != "owner" else ["owner"]), "risk")
    return Explanation(sort=Sort.RULE, name=found.id, parts=_parts(parts), see=see)


def factor(book: Book, found: Factor) -> Explanation:
    """Something that raises the risk of a change."""
    risk = Risk(found.risk)
    parts = {
        "what": [
            Sentence(text="It makes a change more dangerous, whatever else it is", place=book.places.get(found.id)),
            *_whose(book, found.id),
        ],
        "when": _when(found.when),
        "risk": [Sentence(text=f"at least {risk}: {_agreed(risk)}")],
        "why": [Sentence(text=found.why)],
        "sources": [Sentence(text=each) for each in found.sources],
    }
    return Explanation(sort=Sort.FACTOR, name=found.id, parts=_parts(parts), see=("risk", "decision"))


def _parts(parts: Mapping[str, Sequence[Sentence]]) -> tuple[Part, ...]:
    return tuple(Part(name=name, sentences=tuple(each)) for name, each in parts.items() if each)


def _whose(book: Book, name: str) -> list[Sentence]:
    return [Sentence(text="Your team wrote it")] if name in book.own else []


def _agreed(risk: Risk) -> str:
    who = {"self": "you alone may do it", "peer": "a colleague must agree", "lead": "the lead must agree"}
    return who.get(risk.approval, "the team must agree")


def _criteria(book: Book, found: Rule) -> Iterator[Sentence]:
    for each in found.criteria:
        if criterion := book.criteria.get(each):
            yield Sentence(text=f"{criterion.side}, since {criterion.text}")


def _when(conditions: Sequence[When]) -> list[Sentence]:
    if not conditions:
        return [Sentence(text="never by itself: it is only found by its words")]
    lead = "or " if len(conditions) > 1 else ""
    return [
        Sentence(text=f"{lead if number else ''}{'; '.join(_condition(each)) or 'always'}")
        for number, each in enumerate(conditions)
    ]


def _condition(when: When) -> Iterator[str]:
    """What a condition wants, in the order in which the form has it; the form may grow."""
    for name, value in msgspec.structs.asdict(when).items():
        if name == "grows" and value is not None:
            yield "a number grows" if value else "a number shrinks"
        elif name == "whole" and value is not None:
            yield "the whole of it comes, goes or moves" if value else "single fields differ"
        elif name == "matter" and value:
            yield f"it is {' or '.join(_MATTERS[Matter(each)] for each in value)}"
        elif isinstance(value, tuple) and value:
            yield f"{_CONDITIONS.get(name, name)} {' or '.join(map(_scalar, value))}"
        elif value is not None and not isinstance(value, tuple):
            yield f"{name}: {_scalar(value)}"


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else {True: "true", False: "false", None: "nothing"}.get(value, str(value))  # type: ignore[call-overload]
