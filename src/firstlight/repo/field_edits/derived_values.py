"""What a value must become so that what is made of it becomes another: the tag of an image, a port in a URL."""

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

from firstlight.model.component import ObjectId, Origin
from firstlight.model.diagnostic import Diagnostic
from firstlight.ownership.field_values import ABSENT, is_same
from firstlight.repo.field_edits import field_steps
from firstlight.repo.field_edits.component_sites import ClusterRepo
from firstlight.repo.field_edits.edit_candidates import EditCandidate, EditRank, WantedField
from firstlight.repo.flux import post_build
from firstlight.repo.flux.flux_objects import mapping

_SHORTEST = 2
"""Letters of a part of a text: single ones are everywhere."""


def derived(before: Any, after: Any, leaf: Any) -> Iterator[Any]:
    """The values that ``leaf`` may have to become, the likeliest first; none where nothing is made of it.

    Args:
        before: What is made of it now.
        after: What is to be made of it.
        leaf: The value as it is.
    """
    if is_same(leaf, before):
        yield after
        return
    if not _is_plain(before) or not _is_plain(after) or not _is_plain(leaf):
        return
    old, new, part = written_value(before), written_value(after), written_value(leaf)
    if part == old:
        yield from _typed(new, leaf)
        return
    if not isinstance(before, str) or len(part) < _SHORTEST:
        return
    at = old.find(part)
    while at >= 0:
        head, tail = old[:at], old[at + len(part) :]
        middle = new[at : len(new) - len(tail)]
        if middle and new == head + middle + tail:
            yield from _typed(middle, leaf)
        at = old.find(part, at + 1)


def written_value(value: Any) -> str:
    """A plain value as templates write it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _typed(text: str, like: Any) -> Iterator[Any]:
    """A text as what the value was before, and else as a text."""
    if isinstance(like, bool):
        if text in ("true", "false"):
            yield text == "true"
    elif isinstance(like, int) and text.removeprefix("-").isdecimal() and str(int(text)) == text:
        yield int(text)
    yield text


# Variables that Flux replaces: the parts of a text that are none, and what a variable would have to be.


_VARIABLE = re.compile(r"\$\{(?P<name>[_a-zA-Z][_a-zA-Z0-9]*)(?P<rest>[^}]*)\}")
_DEFAULT = re.compile(r"^:?[=-](?P<text>.+)$")


def literal_parts(now: str, before: object, after: object) -> Iterator[str]:
    """The text with one of its parts that are no variables changed, or the default of one."""
    if not isinstance(before, str) or not isinstance(after, str):
        return
    spans, end = [], 0
    for match in _VARIABLE.finditer(now):
        spans.append((end, match.start()))
        if default := _DEFAULT.match(match["rest"]):
            start = match.start("rest") + default.start("text")
            spans.append((start, start + len(default["text"])))
        end = match.end()
    for start, stop in [*spans, (end, len(now))]:
        for text in derived(before, after, now[start:stop]):
            yield f"{now[:start]}{text}{now[stop:]}"


def wanted_variables(repo: ClusterRepo, origin: Origin, now: str, wish: WantedField) -> Iterator[WantedField]:
    """What the places of the variables in a text would have to say."""
    spec = mapping(origin.definition.get("spec"))
    own = mapping(mapping(spec.get("postBuild")).get("substitute"))
    for match in _VARIABLE.finditer(now):
        name = match["name"]
        for owner, steps, value in _places(repo, origin, name, own=own):
            for text in derived(written_value(wish.before), written_value(wish.after), value):
                yield WantedField(object=owner, steps=steps, before=value, after=str(text), path=f"${{{name}}}")


def _places(
    repo: ClusterRepo, origin: Origin, name: str, *, own: object
) -> Iterator[tuple[ObjectId, tuple[str | int, ...], str]]:
    """Where a variable is set: in the Kustomization itself, else in the last ConfigMap that has it."""
    value = mapping(own).get(name)
    if isinstance(value, str):
        yield ObjectId.of(origin.definition), ("spec", "postBuild", "substitute", name), value
        return
    spec = mapping(origin.definition.get("spec"))
    for reference in reversed(list(post_build.variable_references(spec, origin.namespace))):
        if reference.kind == "ConfigMap":
            id = ObjectId("", "ConfigMap", origin.namespace, reference.name)
            known = repo.stating(id)
            held = field_steps.value_at(known[1], ("data", name)) if known else ABSENT
            if isinstance(held, str):
                yield id, ("data", name), held
                return


def as_variable(found: EditCandidate | Diagnostic, of: WantedField) -> EditCandidate | Diagnostic:
    """An edit of a variable's place."""
    if isinstance(found, Diagnostic):
        return found
    rank = EditRank.VARIABLE if found.rank in (EditRank.WRITTEN, EditRank.VARIABLE, EditRank.ADDED) else found.rank
    return dataclasses.replace(found, rank=rank, says=f"the variable {of.path} in {of.object}")


def as_literal(found: EditCandidate) -> EditCandidate:
    """An edit that puts a value where a variable was: a person has to want that."""
    return dataclasses.replace(found, is_asked=True)


def has_variables(text: str) -> bool:
    """Whether Flux replaces something in a text."""
    return "${" in text and bool(_VARIABLE.search(text))
