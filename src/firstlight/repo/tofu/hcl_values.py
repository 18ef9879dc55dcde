"""Values of OpenTofu expressions, as far as files alone tell them.

A value is what JSON has, or ``UnknownValue``. A text of which a part is not known has a mark in that part's place
(``repo.go_template.unknown_values``), so that the YAML around it can be read all the same.
"""

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.place import Place


@dataclasses.dataclass(frozen=True, slots=True)
class UnknownValue:
    """A value that only a run knows."""

    source: str
    """The expression as it is written."""
    reason: str


class FileText(str):
    """A text that knows where it is written."""

    path: str
    line: int

    def __new__(cls, text: str, path: str, line: int) -> "FileText":
        """Return a text of a file; ``line`` is where its first line stands."""
        made = super().__new__(cls, text)
        made.path = path
        made.line = line
        return made


class EncodedYaml(str):
    """The text of ``yamlencode``, with the value that it is made from."""

    value: Any

    def __new__(cls, text: str, value: Any) -> "EncodedYaml":
        """Return the text of a value."""
        made = super().__new__(cls, text)
        made.value = value
        return made


class HclObject(dict[str, Any]):
    """An object that knows where it and its keys are written."""

    __slots__ = ("lines", "place")

    def __init__(self, values: Mapping[str, Any], place: Place, lines: Mapping[str, int]) -> None:
        """Keep the places beside the values."""
        super().__init__(values)
        self.place = place
        self.lines = dict(lines)


@dataclasses.dataclass(frozen=True, slots=True)
class HclDocument(YamlDocument):
    """A document of machine config that an expression makes."""

    def place(self, *steps: str | int) -> Place:
        """Return where a value is written, or the nearest parent that has a place."""
        here, found = self.value, Place(self.path, self.line)
        for step in steps:
            if isinstance(here, HclObject) and step in here:
                found = Place(here.place.path, here.lines.get(str(step), here.place.line))
            if isinstance(here, Mapping) and step in here:
                here = here[str(step)]
            elif isinstance(here, list) and isinstance(step, int) and 0 <= step < len(here):
                here = here[step]
                if isinstance(here, HclObject):
                    found = here.place
            else:
                break
        return found


if TYPE_CHECKING:
    from tree_sitter import Node as Node
else:
    Node = object  # imported only by repos that have such files


def text_of(node: Node) -> str:
    """Return the source of a node."""
    return (node.text or b"").decode(errors="replace")


def line_of(node: Node) -> int:
    """Return the line of a node, counted from 1."""
    return int(node.start_point[0]) + 1
