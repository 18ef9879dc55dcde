"""Which objects a selector selects: by kind, name and namespace as patterns, by labels and annotations.

A pattern matches a whole text, in replacements and images too.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document import go_regex
from firstlight.repo.kustomize.resources import Gvk, Id, KustomizationError, KustomizeResource, labels_of

_TERM = re.compile(r"\s*(?P<not>!)?\s*(?P<key>[\w./-]+)\s*(?P<rest>.*)", re.DOTALL)
_AMONG = re.compile(r"(?P<op>in|notin)\s*\(\s*(?P<values>[^()]*)\)\s*")

_LONGEST = 2000
"""Letters of a label selector; a label has 317 at most."""


def select(resources: Sequence[KustomizeResource], selector: Mapping[str, Any]) -> list[KustomizeResource]:
    """The objects that a selector of patches selects.

    Raises:
        Problem: It cannot be understood.
    """
    return [each for each in resources if _is_selected(each, selector)]


def _is_selected(resource: KustomizeResource, selector: Mapping[str, Any]) -> bool:
    original = resource.original_id
    return (
        is_kind(resource.gvk, selector)
        and _either(selector, "name", original.name, resource.id.name)
        and _either(selector, "namespace", original.namespace, resource.id.namespace)
        and has_labels(resource, selector)
    )


def is_kind(gvk: Gvk, selector: Mapping[str, Any]) -> bool:
    """Whether the kind, group and version of a selector match."""
    return (
        _fits(selector, "kind", gvk.kind)
        and _fits(selector, "group", gvk.group)
        and _fits(selector, "version", gvk.version)
    )


def is_named(each: Id, selector: Mapping[str, Any]) -> bool:
    """Whether all of a selector but the labels match one of an object's names."""
    return (
        is_kind(each.gvk, selector)
        and _fits(selector, "name", each.name)
        and _fits(selector, "namespace", each.namespace)
    )


def has_labels(resource: KustomizeResource, selector: Mapping[str, Any]) -> bool:
    """Whether the label and annotation selectors match."""
    return all(
        matches_labels(str(selector[field]), labels_of(resource, of))
        for field, of in (("labelSelector", "labels"), ("annotationSelector", "annotations"))
        if selector.get(field)
    )


def matches_labels(selector: str, found: Mapping[str, str]) -> bool:
    """Whether a selector such as ``app=x,tier in (a, b),!old`` matches labels.

    Raises:
        Problem: It cannot be understood.
    """
    return all(_is_met(term, found) for term in _terms(selector))


def _terms(selector: str) -> list[str]:
    """The parts between commas, except those in brackets."""
    if len(selector) > _LONGEST:
        raise KustomizationError.unknown(
            "kustomize-too-large", f"a selector of {len(selector)} letters is too long to follow"
        )
    found, start, depth = [], 0, 0
    for at, letter in enumerate(selector):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append(selector[start:at])
            start = at + 1
    return [*found, selector[start:]]


def _is_met(term: str, found: Mapping[str, str]) -> bool:
    match = _TERM.fullmatch(term)
    if match is None:
        raise KustomizationError("kustomize-selector-wrong", f"the selector {term[:80]!r} cannot be read")
    key, rest = match["key"], match["rest"].strip()
    if match["not"]:
        return key not in found
    if not rest:
        return key in found
    if among := _AMONG.fullmatch(rest):
        values = {each.strip() for each in among["values"].split(",")}
        return (key in found and found[key] in values) if among["op"] == "in" else found.get(key) not in values
    for mark in ("==", "!=", "="):
        if rest.startswith(mark):
            wanted = rest[len(mark) :].strip()
            return found.get(key) != wanted if mark == "!=" else found.get(key) == wanted
    raise KustomizationError.unknown("kustomize-not-followed", f"the selector {term[:80]!r} is not understood")


def _fits(selector: Mapping[str, Any], field: str, text: str) -> bool:
    wanted = selector.get(field)
    return not wanted or matches(str(wanted), text)


def _either(selector: Mapping[str, Any], field: str, first: str, second: str) -> bool:
    return _fits(selector, field, first) or _fits(selector, field, second)


# Patterns, which match a whole text as in kustomize.


def matches(pattern: str, text: str) -> bool:
    """Say whether a pattern matches the whole of a text.

    Raises:
        KustomizationError: Go would not understand it.
    """
    try:
        return go_regex.fullmatch(pattern, text)
    except ValueError as error:
        raise KustomizationError.unknown(
            "kustomize-not-followed", f"the pattern {pattern[:80]!r} is not understood: {str(error)[:80]}"
        ) from None
