"""What rules say, in words: their conditions, their sides and the documents' criteria."""

from collections.abc import Iterator

import msgspec

from firstlight.commands.decide.rule_form import Criterion, When
from firstlight.model.change import Matter

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


def side(word: str) -> str:
    """What a rule's side means: ``none: it touches no cluster``."""
    return _SIDES.get(word, word)


def criterion(found: Criterion) -> str:
    """A reason of the documents: ``Network Foundation: it affects core networking``."""
    return f"{found.title}: {found.text}"


def condition(when: When) -> str:
    """What a condition wants: ``it is machine configuration; the field is machine.network.**``."""
    return "; ".join(_parts(when)) or "always"


def _parts(when: When) -> Iterator[str]:
    """What a condition wants, in the order in which the form has it; the form may grow."""
    for name, value in msgspec.structs.asdict(when).items():
        if name == "grows" and value is not None:
            yield "a number grows" if value else "a number shrinks"
        elif name == "whole" and value is not None:
            yield "the whole of it comes, goes or moves" if value else "single fields differ"
        elif name == "hooked" and value is not None:
            yield (
                "a hook or a command gate runs or reads the file" if value else "no hook or command gate reads the file"
            )
        elif name == "matter" and value:
            yield f"it is {' or '.join(_MATTERS[Matter(each)] for each in value)}"
        elif isinstance(value, tuple) and value:
            yield f"{_CONDITIONS.get(name, name)} {' or '.join(map(_scalar, value))}"
        elif value is not None and not isinstance(value, tuple):
            yield f"{name}: {_scalar(value)}"


def _scalar(value: object) -> str:
    return value if isinstance(value, str) else {True: "true", False: "false", None: "nothing"}.get(value, str(value))  # type: ignore[call-overload]
