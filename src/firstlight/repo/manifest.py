"""The line of a value in a YAML text, found without parsing it, as people would: by keys and their indentation.

Parsing again costs as much as reading did, and nearly every origin wants a line or two. What is not written in plain
block style, one key a line, is left to the parser.
"""

import dataclasses
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.component import ObjectId
from firstlight.model.place import Place

LineAndColumn = tuple[int, int]
"""Line and column, from 1."""

_END = re.compile(r"^(?:---|\.\.\.)(?:\s|$)", re.MULTILINE)
_FIRST = re.compile(r"^(?P<indent> *)(?P<content>[^ #\r\n].*)$", re.MULTILINE)
"""A line that is neither empty nor a comment."""
_ODD = ("\t", "? ", "{", "[", "&", "*", "!", "|", ">", "%", "<<")
"""What begins something that is not a plain key on a line of its own."""
_FLOW = re.compile(r"[\w.-]+:[ ]+\[(?P<items>(?:[\w ,./-]|\{[\w ,./:-]*\})*)\][ ]*$", re.MULTILINE)
"""A key with a list on its line, of plain words or of mappings of such."""
_FLOW_ITEM = re.compile(r"(?:\{[^}]*\}|[^,{])+")


def find_line(text: str, start: int, steps: Sequence[str | int]) -> LineAndColumn | None:
    """Where the value at ``steps`` is written, or its nearest parent; None where only a parser could tell.

    Args:
        text: The file.
        start: The line of the document's first key, from 1.
        steps: The way to the value.
    """
    at = _offset(text, start)
    if at < 0 or not steps or text.startswith("---", at):
        return None
    first = _FIRST.match(text, at)
    if first is None:
        return None
    end = _END.search(text, at)
    stop = end.start() if end else len(text)
    column = len(first["indent"])
    begin = at + column
    found = begin
    for number, step in enumerate(steps, 1):
        if text.startswith(_ODD, begin):
            return None
        if isinstance(step, int):
            item = _item(text, begin, stop, column, step)
            if item is None:
                return None
            begin, stop, column = item
            if begin < 0:
                break
            found = begin
            continue
        place = _key(text, begin, stop, column, step)
        if place < 0:
            if "<<:" in text[begin:stop]:
                return None  # what is merged is written elsewhere
            break
        found = place
        if number < len(steps):
            if number == len(steps) - 1 and (item_of := _flow_item(text, place, steps[-1])) >= 0:
                found = item_of
                break
            inner = _inside(text, place, stop, column)
            if inner is None:
                return None
            begin, stop, column = inner
            if begin < 0:
                break
    return start + text.count("\n", at, found), found - text.rfind("\n", 0, found)


def _offset(text: str, line: int) -> int:
    """Where a line begins; -1 if there is none."""
    at = 0
    for _ in range(line - 1):
        at = text.find("\n", at) + 1
        if not at:
            return -1
    return at


def _key(text: str, begin: int, stop: int, column: int, key: str) -> int:
    """Where a key is, in the mapping that begins at an offset and column; -1 if it is not there.

    Of a key that stands twice the last one counts, as it does for those who read the file.
    """
    pattern = _pattern(column, key)
    found = -1
    first = pattern.match(" " * column + text[begin : begin + len(key) + 4])
    if first is not None:
        found = begin
    for match in pattern.finditer(text, begin, stop):
        if match.start() > begin:
            found = match.end("indent")
    return found


@functools.lru_cache(maxsize=1024)
def _pattern(column: int, key: str) -> re.Pattern[str]:
    name = re.escape(key)
    return re.compile(rf"^(?P<indent> {{{column}}})(?:{name}|\"{name}\"|'{name}'):(?=[ \r\n]|$)", re.MULTILINE)


@functools.lru_cache(maxsize=64)
def _outside(column: int) -> re.Pattern[str]:
    """A line that is indented less: the end of what is indented so."""
    return re.compile(rf"^ {{0,{column - 1}}}[^ #\r\n]", re.MULTILINE) if column else re.compile(r"(?!)")


def _inside(text: str, place: int, stop: int, column: int) -> tuple[int, int, int] | None:
    """What a key holds: its begin, its end and its column; a begin of -1 for nothing, None if a parser must tell."""
    line = text.find("\n", place, stop)
    rest = text[place : line if line >= 0 else stop].partition(":")[2].strip()
    if text[place] in "\"'":
        rest = text[place + 1 : line if line >= 0 else stop].partition(f"{text[place]}:")[2].strip()
    if rest and not rest.startswith("#"):
        return (-1, stop, column) if rest[0] in "|>" else None
    first = _FIRST.search(text, line + 1, stop) if line >= 0 else None
    if first is None:
        return -1, stop, column
    inner = len(first["indent"])
    is_list = first["content"] == "-" or first["content"].startswith(("- ", "-\r"))
    if inner < column or (inner == column and not is_list):
        return -1, stop, column
    begin = first.start() + inner
    if inner == column:
        after = _not_item(column).search(text, begin, stop)
        return begin, after.start() if after else stop, inner
    outside = _outside(inner).search(text, begin, stop)
    return begin, outside.start() if outside else stop, inner


@functools.lru_cache(maxsize=64)
def _not_item(column: int) -> re.Pattern[str]:
    """The end of a list that is indented like the key that holds it."""
    return re.compile(rf"^ {{0,{column}}}(?:[^ #\r\n-]|-[^ \r\n])", re.MULTILINE)


@functools.lru_cache(maxsize=64)
def _dash(column: int) -> re.Pattern[str]:
    return re.compile(rf"^ {{{column}}}-(?=[ \r\n]|$)", re.MULTILINE)


def _flow_item(text: str, place: int, wanted: str | int) -> int:
    """Where an item of a list is that is written on the line of its key; -1 if only a parser could tell."""
    listed = _FLOW.match(text, place)
    if listed is None or not isinstance(wanted, int):
        return -1
    items = [each for each in _FLOW_ITEM.finditer(text, *listed.span("items")) if each[0].strip()]
    if not 0 <= wanted < len(items):
        return -1
    return items[wanted].start() + len(items[wanted][0]) - len(items[wanted][0].lstrip(" "))


def _item(text: str, begin: int, stop: int, column: int, wanted: int) -> tuple[int, int, int] | None:
    """An item of a list, like ``_inside``."""
    if not text.startswith(("- ", "-\n", "-\r"), begin):
        return None
    dashes = [begin, *(each.end() - 1 for each in _dash(column).finditer(text, begin, stop) if each.end() - 1 > begin)]
    if wanted >= len(dashes):
        return -1, stop, column
    dash = dashes[wanted]
    last = text.rfind("\n", 0, dashes[wanted + 1]) + 1 if wanted + 1 < len(dashes) else stop
    content = dash + 1
    while text[content : content + 1] == " ":
        content += 1
    if text[content : content + 1] in ("", "\n", "\r", "#", "{", "[", "&", "*", "!", "|", ">", "'", '"', "-"):
        return None
    return content, last, column + content - dash


# A Kubernetes object with the place that it comes from.


@dataclasses.dataclass(frozen=True)
class Manifest:
    """One object, perhaps changed by a kustomization on its way."""

    value: Mapping[str, Any] = dataclasses.field(repr=False)
    """Shared with others: never changed in place. It may hold secrets, so it is never shown."""
    place: Place
    """Where it is written first."""
    document: YamlDocument | None = dataclasses.field(default=None, repr=False, compare=False)
    """The document that it is written in; objects that were made, such as by a configMapGenerator, have none."""
    steps: tuple[str | int, ...] = ()
    """The way to it in the document, for the items of a List."""

    @property
    def id(self) -> ObjectId:
        """What it is called."""
        # Asked for all the time: kept by hand, since cached_property takes a lock each time.
        found: ObjectId | None = self.__dict__.get("_id")
        if found is None:
            found = self.__dict__["_id"] = ObjectId.of(self.value)
        return found

    @property
    def way(self) -> tuple[int, tuple[str | int, ...]] | None:
        """The number of its document in the file, and the way to it there; None for one that something made."""
        # What stands inside of another document's text has lines of its own, and cannot be edited by itself.
        is_plain = type(self.document) is YamlDocument
        return (self.document.index, self.steps) if is_plain and self.document else None

    def at(self, *steps: str | int) -> Place:
        """Where a value of it is written, or the nearest parent that is; a patch may have put it elsewhere."""
        if self.document is None:
            return self.place
        # What stands inside of another document's text has lines of its own, which it knows itself.
        is_plain = type(self.document) is YamlDocument
        found = find_line(self.document.text, self.document.line, (*self.steps, *steps)) if is_plain else None
        if found is None:
            return self.document.place(*self.steps, *steps)
        return Place(self.document.path, *found)
