"""Which objects a rule of Flux or Argo CD is for, as they write it."""

import re
from collections.abc import Mapping
from typing import Any

from firstlight.document.within import mapping, text
from firstlight.model.component import ObjectId

_TERM = re.compile(
    r"\s*(?:(?P<absent>!)?\s*(?P<key>[\w./-]+)\s*(?:(?P<sign>==?|!=)\s*(?P<value>[\w.-]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^)]*)\))?)\s*(?:,|$)"
)


def is_flux_target(target: Any, value: Mapping[str, Any]) -> bool:
    """Whether a target of Flux selects an object; none selects all. Its fields are regular expressions."""
    id = ObjectId.of(value)
    version = str(value.get("apiVersion") or "").rpartition("/")[2]
    own = {"group": id.group, "version": version, "kind": id.kind, "name": id.name, "namespace": id.namespace}
    fits = all(_fits(text(target, field), each) for field, each in own.items())
    return (
        fits
        and is_selected(text(target, "labelSelector"), mapping(value, "metadata", "labels"))
        and is_selected(text(target, "annotationSelector"), mapping(value, "metadata", "annotations"))
    )


def is_argocd_target(rule: Any, id: ObjectId) -> bool:
    """Whether an entry of ``ignoreDifferences`` is for an object; ``*`` and nothing are all, but for the kind."""
    return all(_globbed(text(rule, field), each) for field, each in (("group", id.group), ("kind", id.kind))) and all(
        text(rule, field) in ("", each) for field, each in (("name", id.name), ("namespace", id.namespace))
    )


def is_selected(selector: str, labels: Mapping[str, Any]) -> bool:
    """Whether a selector, written as on a command line, selects something with these labels; an empty one does."""
    rest = selector.strip()
    while rest:
        term = _TERM.match(rest)
        if term is None or not term.end():
            return False  # not understood: nothing is left out for its sake
        if not _holds(term, labels):
            return False
        rest = rest[term.end() :]
    return True


def _holds(term: re.Match[str], labels: Mapping[str, Any]) -> bool:
    key = term["key"]
    if term["absent"]:
        return key not in labels
    if term["sign"]:
        return (labels.get(key) == term["value"]) == (term["sign"] != "!=")
    if term["set"]:
        values = {each.strip() for each in term["values"].split(",")}
        return (labels.get(key) in values) == (term["set"] == "in")
    return key in labels


def _fits(pattern: str, value: str) -> bool:
    try:
        return not pattern or re.fullmatch(pattern, value) is not None
    except re.error:
        return False


def _globbed(pattern: str, value: str) -> bool:
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*"), value) is not None
