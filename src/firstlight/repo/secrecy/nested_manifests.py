"""Manifests inside other documents: in inline manifests, ConfigMaps, lists, Helm values and texts of any kind."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstlight.document import yaml_reader
from firstlight.model.component import ObjectId
from firstlight.repo.secrecy import hidden_texts

DEPTH = 40
"""Levels of a document, and of texts in it, that are looked into."""
TEXTS = 200
"""Texts of one file that are read as YAML."""
_MANIFEST = re.compile(r"^\s*(?:-\s+)?[\"']?kind[\"']?\s*:|^\s*[\[{].*\bkind\\?[\"']?\s*:", re.MULTILINE)
"""A text without such a line is not a manifest, and is not read."""

Steps = tuple[str | int, ...]


def manifests(value: Any) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    """Yield every mapping that looks like an object, the document itself among them.

    The steps lead to the object in the file, or to the text that holds it.
    """
    for steps, each in _Walk().within(value, ()):
        if isinstance(each, Mapping) and _is_object(each):
            yield steps, each


def texts_outside_secrets(value: Any) -> Iterator[tuple[Steps, str]]:
    """Yield every text that is not part of a Secret, unpacked and without the manifests that it holds."""
    for steps, each in _Walk(skips_secrets=True).within(value, ()):
        if isinstance(each, str):
            yield steps, each


def _is_object(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("kind"), str) and isinstance(value.get("apiVersion"), str)


class _Walk:
    """Everything in a document: mappings, and texts that are not manifests."""

    def __init__(self, *, skips_secrets: bool = False) -> None:
        self._skips_secrets = skips_secrets
        self._left = TEXTS

    def within(self, value: Any, steps: Steps, depth: int = 0, *, is_text: bool = False) -> Iterator[tuple[Steps, Any]]:
        """Walk one value; inside of a text the way to the text stands for everything."""
        if depth > DEPTH:
            return
        if isinstance(value, Mapping):
            if self._skips_secrets and _is_object(value) and ObjectId.of(value).is_secret:
                return
            yield steps, value
        if isinstance(value, Mapping | list):
            items = value.items() if isinstance(value, Mapping) else enumerate(value)
            for step, each in items:
                below = steps if is_text else (*steps, step)
                yield from self.within(each, below, depth + 1, is_text=is_text)
        elif isinstance(value, str):
            yield from self._within_text(value, steps, depth)

    def _within_text(self, value: str, steps: Steps, depth: int) -> Iterator[tuple[Steps, Any]]:
        text = hidden_texts.unpacked(value) or value
        held = [each for _, each in hidden_texts.here_documents(text)] if "<<" in text else []
        is_read = False
        for each in held or [text]:
            if self._left and _MANIFEST.search(each):
                self._left -= 1
                for document in yaml_reader.read_text(each, "").documents:
                    is_read = is_read or isinstance(document.value, Mapping | list)
                    if isinstance(document.value, Mapping | list):
                        yield from self.within(document.value, steps, depth + 1, is_text=True)
        if not is_read:
            yield steps, text
