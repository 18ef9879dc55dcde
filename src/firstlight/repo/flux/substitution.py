"""postBuild substitution: variables in an object replaced as Flux does it, which works on the text of the object.

An object is written as YAML, its variables are expanded, and it is read again. So ``"${COUNT}"`` becomes a number,
whatever quotes it had in Git, since Go writes it without; and ``${LIST}`` may become a list. Here only those texts are
written and read again that have a dollar sign in them.
"""

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from firstlight.document import reading, scalars
from firstlight.model.remark import Grade
from firstlight.repo.flux import envsubst
from firstlight.repo.flux.envsubst import BadSubstitution, Budget, Lookup

DISABLED = "kustomize.toolkit.fluxcd.io/substitute"
_DEEPEST = 200
"""Levels of an object; the reader of files refuses deeper ones anyway."""

_INDICATORS = frozenset("#,[]{}&*!|>'\"%@`")
_SIMPLE = re.compile(
    r"(?!-(?: |$))[A-Za-z0-9_./$(=+~^\\-](?:[A-Za-z0-9_./@$%()=+~^\\,;-]|:(?=[A-Za-z0-9_./]))*"
    r"(?: (?:[A-Za-z0-9_./@$%()=+~^\\,;-]|:(?=[A-Za-z0-9_./]))+)*"
)
"""Plain texts that certainly stand for one scalar."""


@dataclasses.dataclass(slots=True)
class Substituted:
    """What became of an object."""

    value: Any
    unknown: dict[str, None] = dataclasses.field(default_factory=dict)
    assumed: dict[str, None] = dataclasses.field(default_factory=dict)
    budget: Budget = dataclasses.field(default_factory=Budget)
    """How much variables may stand for."""


def substitute(value: Mapping[str, Any], lookup: Lookup, budget: Budget | None = None) -> Substituted:
    """An object with its variables replaced; what did not change is shared.

    Args:
        value: The object.
        lookup: What variables stand for.
        budget: How much they may stand for, shared with other objects.

    Raises:
        BadSubstitution: Flux would refuse it.
        envsubst.TooMuch: It would become too long, or take too long.
    """
    found = Substituted(value, budget=budget or Budget())
    if not _is_disabled(value):
        found.value = _replaced(value, lookup, found, 0)
    return found


def _is_disabled(value: Mapping[str, Any]) -> bool:
    metadata = value.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    marks = (metadata.get("labels"), metadata.get("annotations"))
    return any(isinstance(each, dict) and each.get(DISABLED) == "disabled" for each in marks)


def _replaced(value: Any, lookup: Lookup, found: Substituted, depth: int, before: str = "value: ") -> Any:
    if isinstance(value, str):
        return _text(value, lookup, found, before) if "$" in value else value
    if depth > _DEEPEST:
        return value
    if isinstance(value, dict):
        changed: dict[str, Any] | None = None
        for name, each in value.items():
            # Most values are texts without variables: not worth a call each.
            is_plain_text = each.__class__ is str and "$" not in each
            new = each if is_plain_text else _replaced(each, lookup, found, depth + 1)
            if new is not each or "$" in name:
                changed = dict(value) if changed is None else changed
                changed[name] = new
        if changed is None:
            return value
        return {_key(name, lookup, found): each for name, each in changed.items()}
    if isinstance(value, list):
        items = [_replaced(each, lookup, found, depth + 1, "- ") for each in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    return value


def _expanded(text: str, lookup: Lookup, found: Substituted) -> str:
    expansion = envsubst.expand(text, lookup, found.budget)
    found.unknown.update(expansion.unknown)
    found.assumed.update(expansion.assumed)
    return expansion.text


def _key(name: str, lookup: Lookup, found: Substituted) -> str:
    if "$" not in name:
        return name
    expanded = _expanded(name, lookup, found)
    if expanded == name:
        return name
    if not is_plain(name):
        expanded = _expanded("'" + name.replace("'", "''") + "'", lookup, Substituted(None, budget=found.budget))
    contents = reading.read(f"{expanded}: value\n".encode(), "")
    read = contents.documents[0].value if len(contents.documents) == 1 else None
    if not isinstance(read, dict) or any(each.grade == Grade.ERROR for each in contents.remarks):
        raise BadSubstitution("what a variable stands for breaks the key that it is in")
    return str(next(iter(read)))


def _text(text: str, lookup: Lookup, found: Substituted, before: str) -> Any:
    expanded = _expanded(text, lookup, found)
    if expanded == text:
        return text
    if is_plain(text):
        if _SIMPLE.fullmatch(expanded) or not expanded:
            return _scalar(expanded)
        return _read(f"{before}{expanded}")
    if "\n" in text:
        return expanded  # a literal block, in which nothing but a line break could end the text
    quoted = _expanded("'" + text.replace("'", "''") + "'", lookup, Substituted(None, budget=found.budget))
    return expanded if quoted[1:-1] == expanded.replace("'", "''") else _read(f"{before}{quoted}")


def _scalar(text: str) -> Any:
    try:
        return scalars.as_json(scalars.kubernetes(text))
    except ValueError as error:
        raise BadSubstitution(f"a variable stands for a number that cannot be: {error}") from error


def _read(written: str) -> Any:
    """What stands behind the key or the dash of a line that is read again."""
    contents = reading.read(f"{written}\n".encode(), "")
    if len(contents.documents) != 1 or any(each.grade == Grade.ERROR for each in contents.remarks):
        raise BadSubstitution("what a variable stands for breaks the YAML around it")
    read = contents.documents[0].value
    if isinstance(read, dict) and len(read) == 1:
        return read.get("value")
    if isinstance(read, list) and len(read) == 1:
        return read[0]
    raise BadSubstitution("what a variable stands for breaks the YAML around it")


def is_plain(text: str) -> bool:
    """Whether Go writes a text without quotes, so that it may be read as something else afterwards."""
    if not text or "\n" in text or not text.isprintable() or text[0] == " " or text[-1] in " :":
        return False
    if text[0] in _INDICATORS or text.startswith(("---", "...", "- ", "? ", ": ")) or text in ("-", "?"):
        return False
    if ": " in text or " #" in text:
        return False
    return isinstance(scalars.kubernetes(text), str)
