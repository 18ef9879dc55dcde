"""Applications inside the inline manifests of Talos and Omni: a root that the machines themselves apply."""

from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.repo.argocd import definition
from firstlight.repo.argocd.definition import Definition, Steps
from firstlight.repo.talos import embedded
from firstlight.repo.work_tree import YAML, WorkTree

KEY = "inlineManifests"
MAX_DEPTH = 10
"""How deep a list of inline manifests may stand; talhelper, Omni and Talos have it in the fourth level at most."""


def of_tree(tree: WorkTree, *, without: frozenset[str] = frozenset()) -> list[Definition]:
    """Objects of Argo CD in the inline manifests of any file."""
    found: list[Definition] = []
    for path in tree.files:
        if not path.endswith(YAML) or definition.is_below(path, without):
            continue
        if not definition.mentions(tree, path, KEY) or not definition.mentions(tree, path, definition.API):
            continue
        for document in tree.documents(path):
            for steps, text in _texts(document.value, ()):
                for inner in embedded.read(document, steps, text).documents:
                    found += [each for each in definition.of_document(inner) if definition.is_one(each.value)]
    return found


def _texts(value: Any, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """The contents of inline manifests that speak of Argo CD, with the way there."""
    if len(steps) > MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == KEY and isinstance(inner, list):
                for number, each in enumerate(inner):
                    text = each.get("contents") if isinstance(each, Mapping) else None
                    if isinstance(text, str) and definition.API in text:
                        yield (*steps, key, number, "contents"), text
            elif isinstance(inner, Mapping | list):
                yield from _texts(inner, (*steps, str(key)))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from _texts(each, (*steps, number))
