"""What talosctl prints as JSON: one document after another, with any white space or none between them."""

import json
from collections.abc import Mapping
from typing import Any

_decoder = json.JSONDecoder()


def parse(text: str) -> tuple[Mapping[str, Any], ...]:
    """All documents.

    Raises:
        ValueError: It is not JSON, or a document is not an object.
    """
    documents = []
    position = 0
    while (position := _after_space(text, position)) < len(text):
        try:
            document, position = _decoder.raw_decode(text, position)
        except RecursionError as error:
            raise ValueError("a document is nested too deeply") from error
        if not isinstance(document, dict):
            raise ValueError(f"a document is a {type(document).__name__}, not an object")
        documents.append(document)
    return tuple(documents)


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position
