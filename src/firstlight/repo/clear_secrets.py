"""Secrets of a repo that anybody can read who can read the repo; their values are never kept."""

import re
from collections.abc import Mapping
from typing import Any

from firstlight.document.reading import Document
from firstlight.model.clear_secret import ClearSecret
from firstlight.model.component import ObjectId
from firstlight.policy.auditing import secret_words
from firstlight.repo.changing import clear_text, secret_names, secret_texts
from firstlight.repo.work_tree import YAML, WorkTree

_HOLDERS = ("stringData", "data")
_SECRET = re.compile(rb"\bSecret\b")
"""Not an ExternalSecret, of which there are many: their files need not be parsed."""


def found(tree: WorkTree) -> tuple[ClearSecret, ...]:
    """Every Secret with values in clear, wherever it stands."""
    held: list[ClearSecret] = []
    for path in tree.files:
        content = tree.bytes(path) if path.endswith((*YAML, ".json")) else None
        if content is None or b"Secret" not in content or not _SECRET.search(content):
            continue
        if clear_text.is_filtered(tree, path):
            continue
        held += [each for document in tree.documents(path) if (each := _of(document)) is not None]
    return tuple(held)


def _of(document: Document) -> ClearSecret | None:
    value: Any = document.value
    if not isinstance(value, Mapping) or not ObjectId.of(value).is_secret or "sops" in value:
        return None
    for holder in _HOLDERS:
        entries = value.get(holder)
        pairs = entries.items() if isinstance(entries, Mapping) else ()
        names = [str(name) for name, held in pairs if _is_readable(holder, str(name), held)]
        if names:
            return ClearSecret(id=ObjectId.of(value), keys=tuple(names), place=document.place(holder, names[0]))
    return None


def _is_readable(holder: str, name: str, value: Any) -> bool:
    """Whether a value is a secret, and there: teams keep plain settings in Secrets as well, and words for later."""
    text = clear_text.decoded(value) if holder == "data" and isinstance(value, str) else value
    is_one = secret_names.is_secret(name) or (isinstance(text, str) and secret_texts.is_secret(text))
    return is_one and not secret_words.is_placeholder(text) and clear_text.stands((holder, name), value)
