"""YAML files as documents: plain values with the way back to their lines."""

import dataclasses
from typing import Any

import yaml

from firstlight.model.place import Place
from firstlight.model.remark import Grade, Remark


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """One document of a file."""

    path: str
    line: int
    """Of its first key."""
    index: int
    """Its number in the file, from 0; empty documents are left out but counted."""
    value: Any
    text: str = dataclasses.field(repr=False)
    """The whole file."""

    def place(self, *steps: str | int) -> Place:
        """Where the value at ``steps`` stands, or the nearest parent that exists."""
        return Place(self.path, self.line)


@dataclasses.dataclass(frozen=True, slots=True)
class Contents:
    """A file: its documents, and what is wrong with it."""

    documents: tuple[Document, ...]
    remarks: tuple[Remark, ...] = ()


def read(data: bytes, path: str) -> Contents:
    """Read a file as Kubernetes reads it."""
    try:
        text = data.decode("utf-8-sig")
        nodes = list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
        values = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        place = Place(path, mark.line + 1, mark.column + 1) if mark else Place(path)
        return Contents((), (Remark(place, Grade.ERROR, getattr(error, "problem", None) or str(error)),))
    documents = [
        Document(path, node.start_mark.line + 1, n, value, text)
        for n, (node, value) in enumerate(zip(nodes, values, strict=True))
        if value is not None
    ]
    return Contents(tuple(documents))
