"""What programs print, as objects."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstlight.document import reading
from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark
from firstlight.model.rendition import Object

_SEPARATOR = re.compile(r"^---(?:[ \t][^\n]*)?(?:\n|\Z)", re.MULTILINE)


def split(text: str) -> list[str]:
    """The documents of a text as they are written; a program's output has separators at the start of a line only."""
    return [each for each in _SEPARATOR.split(text) if each.strip()]


def join(documents: Iterable[str]) -> str:
    """Documents as one text."""
    return "---\n".join(each if each.endswith("\n") else f"{each}\n" for each in documents)


def parse(text: str, place: Place, *, what: str) -> tuple[list[Object], list[Remark]]:
    """The objects of a text; Lists are taken apart.

    Args:
        text: YAML or JSON, several documents perhaps.
        place: What remarks are about.
        what: What the text is called in remarks.
    """
    contents = reading.read(text.encode(errors="replace"), what)
    remarks = [
        Remark(place, Grade.ERROR, f"{what} is no YAML in line {each.place.line}: {each.message}", each.hint)
        for each in contents.remarks
        if each.grade == Grade.ERROR
    ]
    objects = []
    for document in contents.documents:
        for value in _items(document.value):
            if problem := _problem(value):
                remarks.append(
                    Remark(place, Grade.ERROR, f"{what} has something in line {document.line} that {problem}")
                )
            else:
                objects.append(Object(value))
    return objects, remarks


def _items(value: Any) -> Iterator[Any]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        is_list = isinstance(each, Mapping) and str(each.get("kind") or "").endswith("List")
        if is_list and isinstance(each.get("items"), list):
            waiting += reversed(each["items"])
        else:
            yield each


def _problem(value: Any) -> str:
    if not isinstance(value, Mapping):
        return "is no object"
    for field in ("apiVersion", "kind"):
        if not isinstance(value.get(field), str) or not value[field]:
            return f"has no {field}"
    metadata = value.get("metadata")
    if not isinstance(metadata, Mapping) or not (metadata.get("name") or metadata.get("generateName")):
        return "has no name"
    return ""
