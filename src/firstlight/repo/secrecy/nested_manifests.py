"""Manifests inside other documents: in inline manifests, ConfigMaps, lists, Helm values and texts of any kind."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader

DEPTH = 40
"""Levels of a document, and of texts in it, that are looked into."""
TEXTS = 200
"""Texts of one file that are read as YAML."""
_MANIFEST = re.compile(r"^\s*(?:-\s+)?[\"']?kind[\"']?\s*:", re.MULTILINE)
"""A text without such a line is not a manifest, and is not read."""

Steps = tuple[str | int, ...]


def manifests(value: Any) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Yield every mapping that looks like an object, the document itself among them.

    The steps lead to the object in the file, or to the text that holds it.
    """
    yield from _within(value, (), [TEXTS], 0, is_text=False)


def _within(
    value: Any, steps: Steps, texts_left: list[int], depth: int, *, is_text: bool
) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Walk one value; inside of a text the way to the text stands for everything."""
    if depth > DEPTH:
        return
    if isinstance(value, Mapping) and isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str):
        yield steps, value
    if isinstance(value, Mapping | list):
        items = value.items() if isinstance(value, Mapping) else enumerate(value)
        for step, each in items:
            below = steps if is_text else (*steps, step)
            yield from _within(each, below, texts_left, depth + 1, is_text=is_text)
    elif isinstance(value, str) and "\n" in value and texts_left[0] and _MANIFEST.search(value):
        texts_left[0] -= 1
        for document in yaml_reader.read_text(value, "").documents:
            yield from _within(document.value, steps, texts_left, depth + 1, is_text=True)
