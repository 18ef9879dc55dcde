"""YAML inside of YAML: the contents of inline manifests, and patches as texts, with lines of the file around them."""

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import Any

from firstlight.document import yaml_reader, yaml_tree
from firstlight.document.yaml_reader import YamlDocument
from firstlight.model.diagnostic import Diagnostic, Severity
from firstlight.model.place import Place

Step = str | int
_SEPARATOR = re.compile(r"(?m)^---(?=\s|$)")


@dataclasses.dataclass(frozen=True, slots=True)
class Inner(YamlDocument):
    """A document inside a scalar of another document."""

    outer: YamlDocument | None = dataclasses.field(default=None, repr=False, compare=False)
    steps: tuple[Step, ...] = ()
    """The way to the scalar in the outer document."""
    lines: tuple[int, ...] = dataclasses.field(default=(), repr=False)
    """The file's line for each line of its text."""
    number: int = 0
    """Which one of the scalar's documents it is; ``index`` is that of its text."""

    @property
    def file_line(self) -> int:
        """The file's line where it begins; cheap, also in a text of a megabyte."""
        return _line(self.lines, self.line)

    def place(self, *steps: Step) -> Place:
        """Where a value stands in the file; the column is not known there."""
        return Place(self.path, _line(self.lines, YamlDocument.place(self, *steps).line))


@dataclasses.dataclass(frozen=True, slots=True)
class EmbeddedContents:
    """What is inside of a scalar."""

    documents: tuple[Inner, ...]
    diagnostics: tuple[Diagnostic, ...]


def read(outer: YamlDocument, steps: Sequence[Step], text: str) -> EmbeddedContents:
    """The documents inside a scalar, as Kubernetes reads them.

    Args:
        outer: The document around it.
        steps: The way to the scalar.
        text: Its value.
    """
    lines = _lines(outer, steps, text.count("\n") + 1)
    found = _read(text, outer, tuple(steps), lines)
    if not any(each.severity is Severity.ERROR for each in found.diagnostics):
        return found
    # What is broken ends a reading: the documents are read one by one, so that the others are known all the same.
    documents: list[Inner] = []
    diagnostics: list[Diagnostic] = []
    for number, (shift, piece) in enumerate(_pieces(text)):
        each = _read(piece, outer, tuple(steps), lines[shift:])
        documents += (dataclasses.replace(inner, number=number) for inner in each.documents)
        diagnostics += each.diagnostics
    return EmbeddedContents(tuple(documents), tuple(diagnostics))


def _read(text: str, outer: YamlDocument, steps: tuple[Step, ...], lines: tuple[int, ...]) -> EmbeddedContents:
    found = yaml_reader.read(text.encode(errors="replace"), outer.path)
    documents = tuple(
        Inner(each.path, each.line, each.index, each.value, each.text, each.dialect, outer, steps, lines, each.index)
        for each in found.documents
    )
    diagnostics = tuple(
        dataclasses.replace(each, places=tuple(Place(outer.path, _line(lines, one.line)) for one in each.places))
        for each in found.diagnostics
    )
    return EmbeddedContents(documents, diagnostics)


def _pieces(text: str) -> Iterator[tuple[int, str]]:
    """The documents of a text, each with the number of lines before it."""
    at = line = 0
    for match in _SEPARATOR.finditer(text):
        yield line, text[at : match.start()]
        line += text.count("\n", at, match.start())
        at = match.start()
    yield line, text[at:]


def way(document: YamlDocument, steps: Sequence[Step]) -> tuple[YamlDocument, tuple[Step, ...]]:
    """The document of the file, and the way from there; after a scalar comes the number of the document in it."""
    found = tuple(steps)
    while isinstance(document, Inner) and document.outer is not None:
        found = (*document.steps, document.number, *found)
        document = document.outer
    return document, found


def follow(document: YamlDocument, steps: Sequence[Step]) -> tuple[YamlDocument, tuple[Step, ...], Any]:
    """The way back: the innermost document, the way in it, and the value; None where the way ends early."""
    value: Any = document.value
    here: list[Step] = []
    for step in steps:
        if isinstance(value, str):
            inner = read(document, here, value).documents
            document = next((each for each in inner if each.number == step), document)
            value, here = document.value, []
            continue
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return document, tuple(here), None
        here.append(step)
    return document, tuple(here), value


def _line(lines: Sequence[int], line: int) -> int:
    return lines[min(max(line, 1), len(lines)) - 1] if lines else line


def _lines(outer: YamlDocument, steps: Sequence[Step], count: int) -> tuple[int, ...]:
    """The file's line for each line of a scalar's text."""
    node = _node(outer, steps)
    if node is None:
        return (outer.place(*steps).line,) * count
    raw = outer.text[node.start + 1 : node.end]
    first = node.line + 1
    if node.style in {"|", ">"}:  # folded lines are fewer: near enough
        last = first + raw.rstrip().count("\n")
        own = [min(first + 1 + n, last) for n in range(count)]
    elif node.style in {'"', "'"}:
        own = _quoted(raw[:-1], first, is_double=node.style == '"')
    else:
        own = [first] * count
    own += [own[-1]] * (count - len(own))
    return tuple(_line(outer.lines, each) for each in own) if isinstance(outer, Inner) else tuple(own)


def _node(outer: YamlDocument, steps: Sequence[Step]) -> yaml_tree.YamlNode | None:
    """The scalar at the end of the way, as it is written; None if anchors lead there."""
    roots = yaml_tree.documents(outer.text)
    node = roots[outer.index] if outer.index < len(roots) else None
    for step in steps:
        if node is None:
            return None
        if node.is_mapping:
            node = next((value for key, value in node.pairs() if key.text == str(step)), None)
        elif node.is_sequence and isinstance(step, int) and 0 <= step < len(node.children):
            node = node.children[step]
        else:
            return None
    return node if node is not None and node.is_scalar else None


def _quoted(raw: str, first: int, *, is_double: bool) -> list[int]:
    """Lines of a quoted scalar: one more for each escaped break and each empty line; other breaks are folded.

    A line of the text stands where its first character does, which may be on a later line of the file than the break.
    """
    found: list[int] = []
    line, at, is_waiting = first, 0, True

    def end_line() -> None:
        if is_waiting:  # it was empty
            found.append(line)

    while at < len(raw):
        if is_double and raw.startswith("\\\n", at):
            line += 1
            at = _after_blanks(raw, at + 2)
        elif is_double and raw.startswith("\\n", at):
            end_line()
            is_waiting = True
            at += 2
        elif raw[at] == "\n":
            end = _after_blanks(raw, at, blanks=" \t\r\n")
            breaks = raw.count("\n", at, end)
            for _ in range(breaks - 1):
                end_line()
                line += 1
                is_waiting = True
            line += 1
            at = end
        else:
            if is_waiting:
                found.append(line)
                is_waiting = False
            at += 2 if is_double and raw[at] == "\\" else 1
    end_line()
    return found


def _after_blanks(raw: str, at: int, *, blanks: str = " \t") -> int:
    while at < len(raw) and raw[at] in blanks:
        at += 1
    return at
